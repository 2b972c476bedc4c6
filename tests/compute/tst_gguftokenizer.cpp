// The tokenizers of GGUF files: the same ids and bytes as the tokenizer.json of the same model, and as llama.cpp's own
// cases; what is not known is refused by its name (HAZARDS A8, A14, A24).
#include <fstream>

#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/text/gguftokenizer.h"
#include "tests/support/gguftokens.h"
#include "tests/support/models.h"
#include "tests/support/randomtext.h"
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// A small vocabulary of SentencePiece's kind. Equal scores: "aa" of "aaa" is joined at the left.
GgufTokens small() {
    GgufTokens t;
    t.add("<unk>", GgufTokens::kUnknown);
    t.add("<s>", GgufTokens::kControl);
    t.add("</s>", GgufTokens::kControl);
    t.addBytes();
    for (const auto& [piece, score] : {std::pair("\u2581", -10.0F),
                                       {"a", -11.0F},
                                       {"b", -12.0F},
                                       {"aa", -1.0F},
                                       {"ab", -1.0F},
                                       {"\u2581a", -3.0F},
                                       {"\u2581aa", -4.0F}})
        t.add(piece, GgufTokens::kNormal, score);
    t.add("  ", GgufTokens::kUserDefined, -1000);
    t.add("[PAD267]", GgufTokens::kUnused);
    t.add("<turn>", GgufTokens::kControl);
    return t;
}
constexpr TokenId kSpace = 259, kA = 260, kB = 261, kAA = 262, kAB = 263, kSpaceA = 264, kSpaceAA = 265,
                  kTwoSpaces = 266;

}  // namespace

class TestGgufTokenizer : public QObject, Scratch {
    Q_OBJECT

    std::shared_ptr<const Gguf> written(const GgufTokens& tokens,
                                        const std::function<void(GgufWriter&)>& more = {}) const {
        GgufWriter w;
        tokens.write(w);
        if (more) more(w);
        std::ofstream(folder() / "x.gguf", std::ios::binary) << w.bytes();
        return Gguf::open(folder() / "x.gguf");
    }
    std::shared_ptr<const Tokenizer> tokenizer(const GgufTokens& tokens,
                                               const std::function<void(GgufWriter&)>& more = {}) const {
        return openGgufTokenizer(*written(tokens, more));
    }
    /// The same as a GGUF of the byte-level kind.
    std::shared_ptr<const Tokenizer> ofJson(const std::filesystem::path& file, const std::string& pre) const {
        return tokenizer(byteLevelTokens(readJson(file), pre));
    }
    void compareOnRandomTexts(const Tokenizer& a, const Tokenizer& b, int count) const {
        std::mt19937 random(3);
        for (int i = 0; i < count; ++i) {
            const std::string text = randomText(random, static_cast<int>(random() % 60));
            QCOMPARE(show(a.encode(text)), show(b.encode(text)));
        }
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void storiesAsItsTokenizerJson() {
        REQUIRE_SHARED("models/stories260K/gguf");
        const auto json = openTokenizer(shared("models/stories260K/hf"));
        const auto gguf = openGgufTokenizer(*Gguf::open(shared("models/stories260K/gguf/stories260K-f32.gguf")));
        QCOMPARE(gguf->fingerprint(), json->fingerprint());
        QVERIFY(gguf->addsBos() && gguf->dropsLeadingSpace());
        compareOnRandomTexts(*gguf, *json, 400);
        const Json golden = readJson(shared("models/stories260K/golden.json"));
        QCOMPARE(golden["cases"].size(), std::size_t{5});
        for (const Json& entry : golden["cases"]) {
            std::vector<TokenId> ids = gguf->encode(entry["prompt"].get<std::string>());
            if (!entry["prompt"].get<std::string>().empty()) ids.insert(ids.begin(), *gguf->bos());
            if (!ids.empty()) QCOMPARE(show(ids), show(entry["prompt_ids"].get<std::vector<TokenId>>()));
        }
    }

    void gpt2AsItsTokenizerJson() {
        REQUIRE_SHARED("tokenizers/gpt2-tokenizer/tokenizer.json");
        const auto file = shared("tokenizers/gpt2-tokenizer/tokenizer.json");
        const auto json = openTokenizerJson(file), gguf = ofJson(file, "gpt-2");
        QCOMPARE(gguf->size(), json->size());
        for (TokenId id = 0; id < 50257; ++id) QCOMPARE(gguf->bytes(id), json->bytes(id));
        compareOnRandomTexts(*gguf, *json, 300);
    }

    /// NFC before the words, and runs of spaces that are user-defined tokens.
    void neoxAsItsTokenizerJson() {
        REQUIRE_SHARED("tokenizers/gpt-neox-20b-tokenizer/tokenizer.json");
        const auto file = shared("tokenizers/gpt-neox-20b-tokenizer/tokenizer.json");
        const auto json = openTokenizerJson(file), gguf = ofJson(file, "olmo");
        compareOnRandomTexts(*gguf, *json, 300);
        QCOMPARE(show(gguf->encode("e\u0301      x")), show(json->encode("e\u0301      x")));
    }

    /// llama.cpp's models/ggml-vocab-NAME.gguf with the texts and ids beside them, in the models folder under "vocabs".
    void casesOfLlamaCpp_data() {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"llama-spm", "phi-3", "gpt-2", "llama-bpe", "qwen2", "starcoder", "refact", "command-r", "mpt"})
            QTest::newRow(name) << name;
    }
    void casesOfLlamaCpp() {
        QFETCH(QString, name);
        const std::string file = "vocabs/ggml-vocab-" + name.toStdString() + ".gguf";
        REQUIRE_MODEL(file);
        const auto gguf = openGgufTokenizer(*Gguf::open(models(file)));
        const auto inputs = splitBy(readFile(models(file + ".inp")), "\n__ggml_vocab_test__\n");
        const auto outputs = splitBy(readFile(models(file + ".out")), "\n");
        int checked = 0;
        for (std::size_t i = 0; i < inputs.size() && i < outputs.size(); ++i, ++checked)
            QCOMPARE(show(gguf->encode(inputs[i])), QString::fromStdString(outputs[i]).simplified());
        QVERIFY(checked >= 40);
    }

    void joinsByScoreThenLeftmost() {
        const auto t = tokenizer(small());
        QCOMPARE(show(t->encode("aaa")), show({kSpaceAA, kA}));  // aa at the left (−1), then ▁aa (−4)
        QCOMPARE(show(t->encode("aab")), show({kSpaceAA, kB}));  // aa and ab have one score: leftmost
        QCOMPARE(show(t->encode("bab")), show({kSpace, kB, kAB}));
        QCOMPARE(show(t->encode("a")), show({kSpaceA}));
        QCOMPARE(show(t->encode("b\u00e9")), show({kSpace, kB, 3 + 0xC3, 3 + 0xA9}));
        QCOMPARE(t->decode(t->encode("b\u00e9 aa")), std::string("b\u00e9 aa"));
        QVERIFY(t->encode("").empty());
    }

    void userDefinedControlsAndHoles() {
        const auto t = tokenizer(small());
        QCOMPARE(show(t->encode("a  b")), show({kSpaceA, kTwoSpaces, kSpace, kB}));
        QCOMPARE(t->bytes(kTwoSpaces), std::string_view("  "));
        QVERIFY(!t->isToken(267) && !t->isControl(267));
        QVERIFY(t->isControl(268) && t->isControl(0) && t->isControl(1) && t->bytes(268).empty());
        QCOMPARE(show(t->encode("<turn>", {.controlTokens = true})), QString("268"));
        QVERIFY(!show(t->encode("<turn>")).contains("268"));  // A24
    }

    void prefixAndBosAsTheFileSays() {
        const auto plain = tokenizer(small(), [](GgufWriter& w) {
            w.whole("tokenizer.ggml.bos_token_id", 1);
            w.whole("tokenizer.ggml.eos_token_id", 2);
        });
        QVERIFY(plain->addsBos() && plain->bos() == 1 && plain->eos() == 2 && plain->dropsLeadingSpace());
        const auto other = tokenizer(small(), [](GgufWriter& w) {
            w.whole("tokenizer.ggml.bos_token_id", 1);
            w.flag("tokenizer.ggml.add_bos_token", false);
            w.flag("tokenizer.ggml.add_space_prefix", false);
        });
        QVERIFY(!other->addsBos() && !other->eos() && !other->dropsLeadingSpace());
        QCOMPARE(show(other->encode("aa")), show({kAA}));
    }

    /// What stands for a space in a piece does so in a user-defined token too, where a text is searched for it.
    void userDefinedWithASpaceMark() {
        GgufTokens tokens = small();
        tokens.add("\u2581go", GgufTokens::kUserDefined);
        const auto t = tokenizer(tokens);
        QCOMPARE(t->bytes(269), std::string_view(" go"));
        QCOMPARE(show(t->encode("a go")), show({kSpaceA, 269}));
    }

    void noId() {
        const auto t = tokenizer(small(), [](GgufWriter& w) {
            w.whole("tokenizer.ggml.bos_token_id", 0xFFFFFFFF);
            w.entry("tokenizer.ggml.eos_token_id", 5) += GgufWriter::raw<std::int32_t>(-1);
        });
        QVERIFY(!t->bos() && !t->eos() && !t->addsBos());
    }

    /// Of whatever kind the file calls it: neither text nor, unasked, found in one.
    void bosIsAControlToken() {
        const auto normal = tokenizer(small(), [](GgufWriter& w) { w.whole("tokenizer.ggml.bos_token_id", kB); });
        QVERIFY(normal->isControl(kB) && normal->bytes(kB).empty());
        QCOMPARE(show(normal->encode("b")), show({kSpace, 3 + 'b'}));
        QCOMPARE(show(normal->encode("b", {.controlTokens = true})), QString::number(kB));
        QVERIFY(std::ranges::any_of(normal->addedTokens(), [](const auto& a) { return a.id == kB && a.special; }));
        const auto userDefined =
            tokenizer(small(), [](GgufWriter& w) { w.whole("tokenizer.ggml.bos_token_id", kTwoSpaces); });
        QVERIFY(userDefined->isControl(kTwoSpaces) && userDefined->bytes(kTwoSpaces).empty());
        QCOMPARE(show(userDefined->encode("a  b")), show({kSpaceA, kSpace, kSpace, kB}));
        QVERIFY(show(userDefined->encode("a  b", {.controlTokens = true})).contains(QString::number(kTwoSpaces)));
    }

    /// What the name of the split stands for beside the split: BOS before a text, whole words before merges.
    void bosAndWholeWordsByTheSplit_data() {
        QTest::addColumn<QString>("pre");
        QTest::addColumn<bool>("asLlama3");
        QTest::newRow("gpt-2") << "gpt-2" << false;
        QTest::newRow("dbrx") << "dbrx" << false;
        QTest::newRow("llama-bpe") << "llama-bpe" << true;
        QTest::newRow("tekken") << "tekken" << true;
    }
    void bosAndWholeWordsByTheSplit() {
        QFETCH(QString, pre);
        QFETCH(bool, asLlama3);
        GgufTokens tokens;
        tokens.model = "gpt2";
        tokens.pre = pre.toStdString();
        tokens.add("<s>", GgufTokens::kControl);
        for (const char* piece : {"a", "b", "c", "bc", "abc"}) tokens.add(piece);
        tokens.merges = {"b c"};
        const auto t = tokenizer(tokens, [](GgufWriter& w) { w.whole("tokenizer.ggml.bos_token_id", 0); });
        QCOMPARE(t->addsBos(), asLlama3);
        QCOMPARE(show(t->encode("abc")), asLlama3 ? show({5}) : show({1, 4}));
    }

    /// Equal scores are one rank, whichever stands first in the vocabulary.
    void leftmostOfEqualScores() {
        GgufTokens tokens = small();
        tokens.add("ba", GgufTokens::kNormal, -1);
        QCOMPARE(show(tokenizer(tokens)->encode("baa")), show({kSpace, 269, kA}));
    }

    /// "xa" and "bc" come before "ab", whose parts are then gone, though what stands there is as long.
    void joinedPartsAreGone() {
        GgufTokens tokens = small();
        for (const auto& [piece, score] :
             {std::pair("x", -20.0F), {"c", -20.0F}, {"xa", -0.1F}, {"bc", -0.2F}, {"abc", -30.0F}})
            tokens.add(piece, GgufTokens::kNormal, score);
        QCOMPARE(show(tokenizer(tokens)->encode("xabc")), show({kSpace, 271, 272}));
    }

    /// What a byte is called is no piece of a text, and what has neither piece nor bytes is the unknown token.
    void bytesAreNoPieces() {
        GgufTokens tokens = small();
        for (const char* piece : {"<", "0", "x", "4", "1", ">", "<0", "<0x", "<0x4", "<0x41"}) tokens.add(piece);
        QCOMPARE(show(tokenizer(tokens)->encode("<0x41>")), show({kSpace, 278, 274}));
        GgufTokens few;
        few.add("<unk>", GgufTokens::kUnknown);
        few.add("\u2581");
        few.add("a");
        const auto t = tokenizer(few, [](GgufWriter& w) { w.whole("tokenizer.ggml.unknown_token_id", 0); });
        QCOMPARE(show(t->encode("a\u00e9")), show({1, 2, 0}));
    }

    /// Merges make neither control tokens nor what a user defined as plain text; a piece may be a space.
    void whatMergesDoNotMake() {
        GgufTokens tokens;
        tokens.model = "gpt2";
        tokens.pre = "gpt-2";
        for (const char* piece : {"a", "b", "\u0120", " ", " b"}) tokens.add(piece);
        tokens.add("ab", GgufTokens::kControl);
        tokens.add("\u0120b", GgufTokens::kUserDefined);
        tokens.merges = {"a b", "\u0120 b", "  b"};
        const auto t = tokenizer(tokens);
        QCOMPARE(show(t->encode("ab b")), show({0, 1, 2, 1}));
    }

    void stopSet() {
        const auto gguf = written(small(), [](GgufWriter& w) {
            w.whole("tokenizer.ggml.eos_token_id", 2);
            w.whole("tokenizer.ggml.eot_token_id", 268);
            w.whole("tokenizer.ggml.eom_token_id", 0xFFFFFFFF);
        });
        std::vector<std::string> notices;
        QCOMPARE(show(ggufStopIds(*gguf, *openGgufTokenizer(*gguf), notices)), QString("2 268"));
        QVERIFY(notices.empty());
    }
    /// As in a model directory: left out, but never unsaid. 267 is a hole.
    void namedTokensOutsideTheVocabulary() {
        for (const auto& [key, id] :
             {std::pair("eot", 269U), std::pair("eos", 70000U), std::pair("eos", 267U), std::pair("bos", 269U)}) {
            const std::string name = "tokenizer.ggml." + std::string(key) + "_token_id";
            const auto gguf = written(small(), [&, id = id](GgufWriter& w) { w.whole(name, id); });
            const auto t = openGgufTokenizer(*gguf);
            std::vector<std::string> notices;
            QVERIFY(ggufStopIds(*gguf, *t, notices).empty() && !t->bos() && !t->addsBos() && !t->eos());
            const std::string so = name.find("bos") < name.size() ? "not used" : "left out of the stop tokens";
            const std::string why = ", since the vocabulary of 269 ids has no token of that id";
            QVERIFY(notices == std::vector{gguf->where() + ": " + name + " " + std::to_string(id) + " is " + so + why});
        }
        const auto beside = written(small(), [](GgufWriter& w) {
            w.whole("tokenizer.ggml.eos_token_id", 2);
            w.whole("tokenizer.ggml.eot_token_id", 269);
        });
        std::vector<std::string> notices;
        const auto t = openGgufTokenizer(*beside);
        QCOMPARE(show(ggufStopIds(*beside, *t, notices)), QString("2"));
        QVERIFY(notices.size() == 1 && t->eos() == 2);
    }

    void refused_data() {
        QTest::addColumn<std::function<void(GgufTokens&, GgufWriter&)>>("change");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* says, std::function<void(GgufTokens&, GgufWriter&)> change) {
            QTest::newRow(name) << change << QString(says);
        };
        const auto gpt2 = [](GgufTokens& t, const std::string& pre) {
            t.model = "gpt2";
            t.pre = pre;
            t.merges = {"a a", "a b"};
        };
        row("no tokenizer", "there is no tokenizer in this file", [](GgufTokens& t, GgufWriter&) { t = {}; });
        row("unigram",
            "this kind of tokenizer is not supported (expected tokenizer.ggml.model 'llama' or 'gpt2', found 't5')",
            [](GgufTokens& t, GgufWriter&) { t.model = "t5"; });
        row("no pre", "tokenizer.ggml.pre one of gpt-2, phi-2", [=](GgufTokens& t, GgufWriter&) { gpt2(t, ""); });
        row("unknown pre", "found kimi-k2)", [=](GgufTokens& t, GgufWriter&) { gpt2(t, "kimi-k2"); });
        row("default pre", "found default); convert the model again",
            [=](GgufTokens& t, GgufWriter&) { gpt2(t, "default"); });
        row("no merges", "the tokenizer has no merges",
            [=](GgufTokens& t, GgufWriter&) { gpt2(t, "gpt-2"), t.merges.clear(); });
        row("half a merge", "a merge is not two pieces with one space between (found 'ab')",
            [=](GgufTokens& t, GgufWriter&) { gpt2(t, "gpt-2"), t.merges = {"ab"}; });
        row("a merge of nothing", "names 'c', which is not in the vocabulary",
            [=](GgufTokens& t, GgufWriter&) { gpt2(t, "gpt-2"), t.merges = {"a c"}; });
        row("fewer kinds",
            "the list tokenizer.ggml.token_type does not fit the tokens (expected 269 entries, found 268)",
            [](GgufTokens& t, GgufWriter&) { t.kinds.pop_back(); });
        row("fewer scores", "the list tokenizer.ggml.scores does not fit the tokens",
            [](GgufTokens& t, GgufWriter&) { t.scores.pop_back(); });
        row("no scores", "the tokenizer has no scores", [](GgufTokens& t, GgufWriter&) { t.scores.clear(); });
        row("a score that is no number", "a score in tokenizer.ggml.scores is not a finite number",
            [](GgufTokens& t, GgufWriter&) { t.scores[5] = NAN; });
        row("a byte with another name",
            "token 3 is a byte with another name (expected <0x00> to <0xFF>, found '<0xZZ>')",
            [](GgufTokens& t, GgufWriter&) { t.tokens[3] = "<0xZZ>"; });
        row("not UTF-8", "token 260 is not valid UTF-8", [](GgufTokens& t, GgufWriter&) { t.tokens[260] = "\xFF"; });
        row("a control without a name", "token 1 has no name", [](GgufTokens& t, GgufWriter&) { t.tokens[1] = ""; });
        row("the unknown token is none",
            "the key tokenizer.ggml.unknown_token_id is no token (expected 0 to 268, found 269)",
            [](GgufTokens&, GgufWriter& w) { w.whole("tokenizer.ggml.unknown_token_id", 269); });
        row("two tokens of one text", "tokens 263 and 269 have one text (found 'ab'); convert the model again",
            [](GgufTokens& t, GgufWriter&) { t.add("ab"); });
        row("a type that is none",
            "token 260 is of no known type (expected 1 to 6 in tokenizer.ggml.token_type, found 77)",
            [](GgufTokens& t, GgufWriter&) { t.kinds[260] = 77; });
        row("a type of 0", "token 260 is of no known type", [](GgufTokens& t, GgufWriter&) { t.kinds[260] = 0; });
        row("white space removed", "this tokenizer removes white space, which is not supported",
            [](GgufTokens&, GgufWriter& w) { w.flag("tokenizer.ggml.remove_extra_whitespaces", true); });
    }
    void refused() {
        QFETCH(std::function<void(GgufTokens&, GgufWriter&)>, change);
        QFETCH(QString, says);
        GgufTokens tokens = small();
        GgufWriter w;
        change(tokens, w);
        tokens.write(w);
        std::ofstream(folder() / "x.gguf", std::ios::binary) << w.bytes();
        const std::string found = errorOf([&] { openGgufTokenizer(*Gguf::open(folder() / "x.gguf")); });
        QVERIFY2(found.find(says.toStdString()) != std::string::npos, found.c_str());
        QVERIFY(found.starts_with((folder() / "x.gguf").string()));
    }

    /// Thousands of damaged files, the same in every run: opened, or refused in one line (run under the sanitizers
    /// too).
    void damagedFiles() {
        GgufTokens tokens = small();
        GgufWriter w;
        tokens.write(w);
        w.whole("tokenizer.ggml.bos_token_id", 1);
        w.tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6});
        const std::string good = w.bytes();
        std::mt19937 random(11);
        int refusedOnes = 0;
        for (int i = 0; i < 2000; ++i) {
            std::string bytes = good;
            for (auto n = 1 + random() % 4; n > 0; --n) {
                const std::size_t at = random() % bytes.size();
                if (random() % 16 == 0)
                    bytes.resize(at + 1);
                else if (random() % 4 == 0)
                    bytes.erase(at, 1 + random() % 8);
                else
                    bytes[at] = static_cast<char>(random() % 8 == 0 ? 255 : bytes[at] ^ (1 << random() % 8));
            }
            std::ofstream(folder() / "x.gguf", std::ios::binary) << bytes;
            const std::string found = errorOf([&] {
                const auto gguf = Gguf::open(folder() / "x.gguf");
                openGgufTokenizer(*gguf)->encode("aaab  \u00e9<turn>", {.controlTokens = true});
            });
            QVERIFY(found.find('\n') == std::string::npos);
            refusedOnes += found.empty() ? 0 : 1;
        }
        QVERIFY(refusedOnes > 1000 && refusedOnes < 2000);
    }
};

QTEST_GUILESS_MAIN(TestGgufTokenizer)
#include "tst_gguftokenizer.moc"
