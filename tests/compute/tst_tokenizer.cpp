// tokenizer.json: the reference's ids on its own cases, golden ids of the shared models, A14 and A24.
#include <QElapsedTimer>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "tests/support/randomtext.h"
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

std::vector<TokenId> idsOf(const Json& list) { return list.get<std::vector<TokenId>>(); }

}  // namespace

class TestTokenizer : public QObject, TokenizerFolder {
    Q_OBJECT
  private Q_SLOTS:
    void init() { begin(); }

    /// shared/tokenizers/cases: llama.cpp's ggml-vocab-gpt-2 inputs and ids.
    void gpt2Cases() {
        REQUIRE_SHARED("tokenizers/cases/gpt2.inp");
        const auto tokenizer = openTokenizer(shared("tokenizers/gpt2-tokenizer"));
        const auto inputs = splitBy(readFile(shared("tokenizers/cases/gpt2.inp")), "\n__ggml_vocab_test__\n");
        const auto outputs = splitBy(readFile(shared("tokenizers/cases/gpt2.out")), "\n");
        int checked = 0;
        for (std::size_t i = 0; i < inputs.size() && i < outputs.size(); ++i, ++checked) {
            const std::vector<TokenId> ids = tokenizer->encode(inputs[i]);
            QCOMPARE(show(ids), QString::fromStdString(outputs[i]).simplified());
            QCOMPARE(tokenizer->decode(ids), inputs[i]);
        }
        QVERIFY(checked >= 46);
    }

    void goldenPromptsAndTexts_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("stories260K") << "models/stories260K/golden.json";
        QTest::newRow("mixtral") << "models/stories260K-mixtral-tuned/golden.json";
        QTest::newRow("composed") << "models/composed_golden.json";
    }
    void goldenPromptsAndTexts() {
        QFETCH(QString, file);
        REQUIRE_SHARED(file.toStdString());
        const auto tokenizer = openTokenizer(shared("models/stories260K/hf"));
        QVERIFY(tokenizer->addsBos());
        QCOMPARE(tokenizer->bos().value_or(-1), 1);
        QCOMPARE(tokenizer->eos().value_or(-1), 2);
        const Json golden = readJson(shared(file.toStdString()));
        for (const Json& entry : golden["cases"]) {
            std::vector<TokenId> ids = tokenizer->encode(entry["prompt"].get<std::string>());
            ids.insert(ids.begin(), *tokenizer->bos());
            QCOMPARE(show(ids), show(idsOf(entry["prompt_ids"])));
            QCOMPARE(tokenizer->decode(idsOf(entry["ids"])), entry["text"].get<std::string>());
        }
    }

    /// Neither case of A24's four adds a second BOS: encode() never adds one, addsBos() tells who wants it.
    void whoAddsBos_data() {
        QTest::addColumn<bool>("inTemplate");
        QTest::addColumn<QString>("config");
        QTest::addColumn<bool>("adds");
        QTest::newRow("template with, config silent") << true << "{}" << true;
        QTest::newRow("template with, config false") << true << R"({"add_bos_token":false})" << false;
        QTest::newRow("template without, config true")
            << false << R"({"add_bos_token":true,"bos_token":"<s>"})" << true;
        QTest::newRow("template without, config silent") << false << R"({"bos_token":{"content":"<s>"}})" << false;
        QTest::newRow("config true, no bos known") << false << R"({"add_bos_token":true})" << false;
    }
    void whoAddsBos() {
        QFETCH(bool, inTemplate);
        QFETCH(QString, config);
        QFETCH(bool, adds);
        Json json = tokenizerOf(toyPieces(300));
        if (!inTemplate) json["post_processor"] = nullptr;
        writeFile(folder() / "tokenizer_config.json", config.toStdString());
        const auto tokenizer = open(json);
        QCOMPARE(tokenizer->addsBos(), adds);
        for (const TokenId id : tokenizer->encode("<s>hi</s>")) QVERIFY(!tokenizer->isControl(id));
        QCOMPARE(tokenizer->decode(tokenizer->encode("<s>hi</s>")), std::string("<s>hi</s>"));
        QCOMPARE(show(tokenizer->encode("<s></s>", {.controlTokens = true})), QString("1 2"));
    }

    void gpt2ControlMarksAreText() {
        REQUIRE_SHARED("tokenizers/gpt2-tokenizer");
        const auto tokenizer = openTokenizer(shared("tokenizers/gpt2-tokenizer"));
        QCOMPARE(show(tokenizer->encode("<|endoftext|>")),
                 QString("27 91 437 1659 5239 91 29"));  // ordinary pieces, none of them the control token 50256
        QCOMPARE(show(tokenizer->encode("a<|endoftext|>", {.controlTokens = true})), QString("64 50256"));
        QVERIFY(!tokenizer->addsBos());
        QCOMPARE(tokenizer->bos().value_or(-1), 50256);
    }

    /// Strings that break readers which skip a part (A14); what is encoded comes back.
    void byteLevelRoundTrip_data() {
        QTest::addColumn<QString>("tokenizer");
        QTest::newRow("gpt2") << "tokenizers/gpt2-tokenizer";
        QTest::newRow("gpt-neox") << "tokenizers/gpt-neox-20b-tokenizer";
    }
    void byteLevelRoundTrip() {
        QFETCH(QString, tokenizer);
        REQUIRE_SHARED(tokenizer.toStdString());
        const auto opened = openTokenizer(shared(tokenizer.toStdString()));
        for (const std::string text : {"   Title", "/roadmaps", " !!!", "12345", "a\u2029b", "中文字符",
                                       "👨‍👩‍👧", "don't  stop\n\n", "\u180E x"})
            QCOMPARE(opened->decode(opened->encode(text)), text);
        std::mt19937 random(14);
        for (int i = 0; i < 300; ++i) {
            const std::string text = randomText(random, 30);
            const std::string decoded = opened->decode(opened->encode(text));
            if (tokenizer.contains("gpt2"))
                QCOMPARE(decoded, text);  // gpt-neox normalises to NFC first
            else
                QCOMPARE(opened->decode(opened->encode(decoded)), decoded);
        }
    }

    /// NFC, and runs of spaces that are added tokens: ids by the rules of its own files (50254 … 50276 are 24 … 2
    /// spaces).
    void gptNeox() {
        REQUIRE_SHARED("tokenizers/gpt-neox-20b-tokenizer");
        const auto tokenizer = openTokenizer(shared("tokenizers/gpt-neox-20b-tokenizer"));
        QCOMPARE(tokenizer->size(), std::int64_t(50277));
        QCOMPARE(tokenizer->encode("e\u0301"), tokenizer->encode("\u00E9"));
        QCOMPARE(show(tokenizer->encode(std::string(24, ' ') + "a")).section(' ', 0, 0), QString("50254"));
        QCOMPARE(show(tokenizer->encode(std::string(25, ' '))), QString("50254 209"));
        QCOMPARE(tokenizer->bytes(50275), std::string_view("   "));
        QVERIFY(tokenizer->isControl(0));
        QVERIFY(!tokenizer->isControl(50275));
    }

    void bothMergeFormsAgree() {
        REQUIRE_SHARED("models/stories260K/hf/tokenizer.json");
        Json json = readJson(shared("models/stories260K/hf/tokenizer.json"));
        const auto strings = open(json);
        for (Json& merge : json["model"]["merges"]) {
            const std::string text = merge;
            merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
        }
        const auto pairs = open(json);
        QCOMPARE(pairs->fingerprint(), strings->fingerprint());
        std::mt19937 random(5);
        for (int i = 0; i < 200; ++i) {
            const std::string text = randomText(random, 20);
            QCOMPARE(show(pairs->encode(text)), show(strings->encode(text)));
        }
    }

    void aMergeMayHoldASpace() {
        std::vector<std::string> pieces = toyPieces(259);
        for (const char* piece : {"a", " ", "b", " b", "a b"}) pieces.push_back(piece);
        Json json = tokenizerOf(pieces);
        json["model"]["merges"] = Merges{{" ", "b"}, {"a", " b"}};
        QCOMPARE(show(open(json)->encode("a bb a")), QString("263 261 260 259"));
    }

    /// Merges go by rank, not by length: "abc" is a + bc where b c ranks first, though "ab" is a token too.
    void ranksDecide() {
        std::vector<std::string> pieces = toyPieces(259);
        for (const char* piece : {"a", "b", "c", "ab", "bc", "abc"}) pieces.push_back(piece);
        Json json = tokenizerOf(pieces);
        json["model"]["merges"] = Merges{{"b", "c"}, {"a", "b"}};
        QCOMPARE(show(open(json)->encode("abcab")), QString("259 263 262"));
        json["model"]["ignore_merges"] = true;  // the whole word is a token
        QCOMPARE(show(open(json)->encode("abc")), QString("264"));
    }

    void unknownCharacters() {
        Json json = tokenizerOf({"<unk>", "<s>", "</s>", "a"});
        QCOMPARE(show(open(json)->encode("axya")), QString("3 0 3"));
        json["model"]["fuse_unk"] = false;
        QCOMPARE(show(open(json)->encode("axya")), QString("3 0 0 3"));
        json["model"]["unk_token"] = nullptr;
        QCOMPARE(show(open(json)->encode("axéa")), QString("3 3"));
    }

    void preTokenizers_data() {
        QTest::addColumn<QString>("component");
        QTest::addColumn<QString>("pieces");
        // All two-letter merges exist, so that only a cut keeps letters apart. The text is "ab12 ab".
        QTest::newRow("none") << "null"
                              << "ab|12| a|b";
        QTest::newRow("regex off") << R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})"
                                   << "ab|12|Ġa|b";
        QTest::newRow("regex on") << R"({"type":"ByteLevel","add_prefix_space":false})"
                                  << "ab|12|Ġa|b";
        QTest::newRow("prefix space") << R"({"type":"ByteLevel","add_prefix_space":true})"
                                      << "Ġa|b|12|Ġa|b";
        QTest::newRow("digits") << R"({"type":"Digits","individual_digits":true})"
                                << "ab|1|2| a|b";
        QTest::newRow("digits together") << R"({"type":"Digits","individual_digits":false})"
                                         << "ab|12| a|b";
        QTest::newRow("split, isolated") << R"({"type":"Split","pattern":{"Regex":"\\s+"},"behavior":"Isolated"})"
                                         << "ab|12| |ab";
        QTest::newRow("split, removed") << R"({"type":"Split","pattern":{"String":" "},"behavior":"Removed"})"
                                        << "ab|12|ab";
        QTest::newRow("split, with next") << R"({"type":"Split","pattern":{"String":"b"},"behavior":"MergedWithNext"})"
                                          << "a|b|12| a|b";
        QTest::newRow("split, with previous")
            << R"({"type":"Split","pattern":{"String":"1"},"behavior":"MergedWithPrevious"})"
            << "ab|1|2| a|b";
        QTest::newRow("split, inverted")
            << R"({"type":"Split","pattern":{"Regex":"\\p{N}"},"behavior":"Removed","invert":true})"
            << "1|2";
        QTest::newRow("sequence")
            << R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"Split","pattern":{"String":" "},"behavior":"Isolated"}]})"
            << "ab|1|2| |ab";
        QTest::newRow("metaspace") << R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})"
                                   << "▁a|b|12|▁a|b";
        QTest::newRow("metaspace, never") << R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never"})"
                                          << "ab|12|▁a|b";
    }
    void preTokenizers() {
        QFETCH(QString, component);
        QFETCH(QString, pieces);
        std::vector<std::string> names = toyPieces(259);
        for (const char* name : {"a", "b", "1", "2", " ", "Ġ", "▁", " a", "Ġa", "▁a", "ab", "12"})
            names.push_back(name);
        Json json = tokenizerOf(names);
        json["model"]["merges"] = Merges{{" ", "a"}, {"Ġ", "a"}, {"▁", "a"}, {"a", "b"}, {"1", "2"}};
        json["pre_tokenizer"] = parseJson(component.toStdString(), "test");
        const auto tokenizer = open(json);
        QStringList found;
        for (const TokenId id : tokenizer->encode("ab12 ab")) found << QString::fromStdString(tokenizer->piece(id));
        QCOMPARE(found.join('|'), pieces);
    }

    /// Neighbouring matches: only the first joins what stands before it, only the last what stands after.
    void neighbouringMatches_data() {
        QTest::addColumn<QString>("behaviour");
        QTest::addColumn<QString>("ids");  // 3 a, 4 1, 5 a1, 6 1a, 7 11
        QTest::newRow("previous") << "MergedWithPrevious"
                                  << "5 4 3";
        QTest::newRow("next") << "MergedWithNext"
                              << "3 4 6";
        QTest::newRow("contiguous") << "Contiguous"
                                    << "3 7 3";
        QTest::newRow("isolated") << "Isolated"
                                  << "3 4 4 3";
    }
    void neighbouringMatches() {
        QFETCH(QString, behaviour);
        QFETCH(QString, ids);
        Json json = tokenizerOf({"<unk>", "<s>", "</s>", "a", "1", "a1", "1a", "11"});
        json["model"]["merges"] = Merges{{"1", "1"}, {"a", "1"}, {"1", "a"}};
        json["pre_tokenizer"] = {
            {"type", "Split"}, {"pattern", {{"String", "1"}}}, {"behavior", behaviour.toStdString()}};
        QCOMPARE(show(open(json)->encode("a11a")), ids);
    }

    /// An added token that does not count here (not a word of its own, or a control token in plain text) still hides
    /// the shorter one within it.
    void aMatchHidesWhatLiesInIt() {
        Json json = tokenizerOf({"<unk>", "<s>", "</s>", "a", "b", "c"});
        json["added_tokens"].push_back({{"id", 6}, {"content", "abc"}, {"single_word", true}});
        json["added_tokens"].push_back({{"id", 7}, {"content", "bc"}});
        const auto tokenizer = open(json);
        QCOMPARE(show(tokenizer->encode("abc bc")), QString("6 0 7"));
        QCOMPARE(show(tokenizer->encode("aabc")), QString("3 3 4 5"));
        QCOMPARE(show(tokenizer->encode("abca")), QString("3 4 5 3"));
    }

    /// What a template puts around a text is told, never encoded; tokenizer_config.json may take BOS away.
    void templates() {
        Json json = tokenizerOf(toyPieces(300));
        const auto token = [](const char* name) { return Json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
        json["post_processor"]["single"] = {token("<s>"), token("</s>"), {{"Sequence", {{"id", "A"}}}}, token("</s>")};
        const auto around = open(json);
        QCOMPARE(show({around->before().begin(), around->before().end()}), QString("1 2"));
        QCOMPARE(show({around->after().begin(), around->after().end()}), QString("2"));
        QCOMPARE(around->bos().value_or(-1), 1);
        writeFile(folder() / "tokenizer_config.json", R"({"add_bos_token":false})");
        QCOMPARE(open(json)->before().size(), std::size_t(1));
        writeFile(folder() / "tokenizer_config.json", R"({"add_bos_token":true,"bos_token":"<s>"})");
        json["post_processor"] = nullptr;
        QCOMPARE(open(json)->before().front(), 1);
    }

    /// The first piece of a text by Metaspace's rule, by WordPiece's, and without a decoder.
    void firstPieces_data() {
        QTest::addColumn<QString>("decoder");
        QTest::addColumn<QString>("text");
        QTest::newRow("metaspace") << R"({"type":"Metaspace","replacement":"▁"})"
                                   << "    b##c";
        QTest::newRow("metaspace, never") << R"({"type":"Metaspace","prepend_scheme":"never"})"
                                          << "      b##c";
        QTest::newRow("wordpiece") << R"({"type":"WordPiece","prefix":"##","cleanup":true})"
                                   << "▁▁ ▁▁ ▁▁bc";
        QTest::newRow("none") << "null"
                              << "▁▁ ▁▁ ▁▁b ##c";
    }
    void firstPieces() {
        QFETCH(QString, decoder);
        QFETCH(QString, text);
        Json json = tokenizerOf({"<unk>", "<s>", "</s>", "▁▁", "▁▁b", "##c"});
        json["decoder"] = parseJson(decoder.toStdString(), "test");
        const auto tokenizer = open(json);
        QCOMPARE(QString::fromStdString(tokenizer->decode(std::vector<TokenId>{1, 3, 3, 4, 5})), text);
        QCOMPARE(tokenizer->firstBytes(3), tokenizer->decode(std::vector<TokenId>{3}));
    }

    void idsWithoutAToken() {
        std::vector<std::string> pieces = toyPieces(20);
        Json json = tokenizerOf(pieces);
        json["model"]["vocab"].erase("w10");
        const auto tokenizer = open(json);
        QCOMPARE(tokenizer->size(), std::int64_t(20));
        for (const TokenId id : {-1, 10, 20, 999999}) {
            QVERIFY(!tokenizer->isToken(id));
            QCOMPARE(tokenizer->piece(id), "[id " + std::to_string(id) + "]");
            QVERIFY(tokenizer->bytes(id).empty());
        }
        QCOMPARE(tokenizer->decode(std::vector<TokenId>{11, 10, 12}), std::string("w11w12"));
        QVERIFY(errorOf([&] { tokenizer->encode("\xFF"); }).find("not valid UTF-8") != std::string::npos);
    }

    /// Each part of what makes two tokenizers composable moves the fingerprint.
    void fingerprintSeesEveryPart() {
        const auto print = [&](const std::function<void(Json&)>& change) {
            Json json = tokenizerOf(toyPieces(300));
            change(json);
            return open(json)->fingerprint();
        };
        const std::string plain = print([](Json&) {});
        QCOMPARE(print([](Json&) {}), plain);
        QVERIFY(print([](Json& j) { std::swap(j["model"]["vocab"]["w270"], j["model"]["vocab"]["w271"]); }) != plain);
        QVERIFY(print([](Json& j) { j["model"]["vocab"].erase("w299"); }) != plain);
        QVERIFY(print([](Json& j) { j["model"]["vocab"].erase("w280"); }) != plain);
        QVERIFY(print([](Json& j) { j["added_tokens"].push_back({{"id", 270}, {"content", "w270"}}); }) != plain);
        QVERIFY(print([](Json& j) {
                    j["added_tokens"].push_back({{"id", 270}, {"content", "w270"}, {"special", true}});
                }) != plain);
        writeFile(folder() / "tokenizer_config.json", R"({"eos_token":"</s>"})");
        QVERIFY(print([](Json&) {}) != plain);
    }

    /// 50,257 ids in under half a second, a long text without blowing up.
    void speed() {
        REQUIRE_SHARED("tokenizers/gpt2-tokenizer");
        QElapsedTimer timer;
        timer.start();
        const auto tokenizer = openTokenizer(shared("tokenizers/gpt2-tokenizer"));
        qInfo("loaded in %lld ms", timer.restart());
        const std::string spaces(200000, ' '), letters(200000, 'a');
        QCOMPARE(tokenizer->decode(tokenizer->encode(spaces + "x" + letters)), spaces + "x" + letters);
        qInfo("400,001 characters in %lld ms", timer.elapsed());
    }
};

QTEST_GUILESS_MAIN(TestTokenizer)
#include "tst_tokenizer.moc"
