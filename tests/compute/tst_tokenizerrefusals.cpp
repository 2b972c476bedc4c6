// What of a tokenizer.json is refused, and in which words.
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestTokenizerRefusals : public QObject, TokenizerFolder {
    Q_OBJECT
  private Q_SLOTS:
    void init() { begin(); }

    /// Each part that is not done is refused by its name; each part that is wrong says where.
    void refuses_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* pointer, const char* value, const char* sentence) {
            QTest::newRow(sentence) << pointer << value << sentence;
        };
        row("/model/type", "\"WordPiece\"", "model WordPiece, which is not supported");
        row("/model/type", "\"Unigram\"", "the model has no list 'vocab'");
        row("/model/dropout", "0.1", "model BPE with dropout");
        row("/model/end_of_word_suffix", "\"</w>\"", "model BPE with end_of_word_suffix");
        row("/model/continuing_subword_prefix", "\"##\"", "model BPE with continuing_subword_prefix");
        row("/normalizer", R"({"type":"BertNormalizer"})",
            "normalizer BertNormalizer, which is not supported; use the");
        row("/normalizer", R"({"type":"Sequence","normalizers":[{"type":"Nmt"}]})", "normalizer Nmt");
        row("/normalizer", R"({"type":"Sequence"})", "normalizers is not a list");
        row("/normalizer", R"({"type":"Replace","pattern":{"String":""},"content":"a"})",
            "Replace has an empty pattern");
        row("/normalizer", R"({"type":"Precompiled","precompiled_charsmap":"AAEAAA=="})",
            "is cut or is no character map");
        row("/normalizer", R"({"type":"Precompiled","precompiled_charsmap":"A A"})", "is not base64");
        row("/pre_tokenizer", R"({"type":"UnicodeScripts"})", "pre_tokenizer UnicodeScripts");
        row("/pre_tokenizer", R"({"type":"FixedLength","length":0})", "FixedLength has the length 0");
        row("/pre_tokenizer", R"({"type":"Metaspace","prepend_scheme":"last"})",
            "Metaspace with prepend_scheme 'last'");
        for (const char* part : {R"(\\h)", R"(\\R)", R"(\\K)", "[a&&b]", "[[:alpha:]]", "[a[^b]]", "[a", "(?m:.)"}) {
            const QString component = R"({"type":"Split","pattern":{"Regex":"%1"},"behavior":"Isolated"})";
            QTest::newRow(part) << "/pre_tokenizer" << component.arg(part) << "the pattern uses '";
        }
        row("/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"a{2,1}"},"behavior":"Isolated"})",
            "the pattern cannot be read");
        row("/pre_tokenizer", R"({"type":"Split","pattern":{"String":"a"},"behavior":"Sideways"})",
            "Split with behavior 'Sideways'");
        row("/post_processor", R"({"type":"Other"})", "post_processor Other");
        row("/post_processor", R"({"type":"BertProcessing","cls":["<s>",1]})", "sep is not a list");
        row("/post_processor",
            R"({"type":"Sequence","processors":[{"type":"BertProcessing","cls":["<s>",1],"sep":["</s>",2]},{"type":"TemplateProcessing","single":[]}]})",
            "post_processor TemplateProcessing after another");
        row("/post_processor", R"({"type":"BertProcessing","cls":["x",900],"sep":["</s>",2]})",
            "gives 'x' the id 900, which is no token");
        row("/post_processor", R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<x>"}}]})",
            "names '<x>', which is not an added token");
        row("/decoder", R"({"type":"CTC"})", "decoder CTC");
        row("/decoder", R"({"type":"BPEDecoder","suffix":"</w>"})", "decoder BPEDecoder");
        row("/decoder", R"({"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Metaspace"}]})",
            "decoder Metaspace after ByteFallback");
        row("/decoder",
            R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":" ","start":2,"stop":0}]})",
            "decoder Strip of anything but one space at the start");
        row("/model/merges/0", R"(["a","nobody"])", "names 'nobody', which is not in the vocabulary");
        row("/model/merges/0", R"(["a","a"])", "names 'aa', which is not in the vocabulary");
        row("/model/merges/0", "\"a\"", "is not two pieces with one space between");
        row("/model/merges/0", "7", "a merge is neither");
        row("/model/merges", "null", "the model has no list 'merges'");
        row("/model/vocab", "[]", "the model has no object 'vocab'");
        row("/model/vocab/a", "4", "have the same id 4");
        for (const char* id : {"-3", "65680", "999999999999", "1.5"})  // 65536 and 16 for each of 9 tokens
            row("/model/vocab/a", id,
                qPrintable(QString("the id of token 'a' cannot be used (expected a whole number from 0 to 65679, which "
                                   "is enough for 9 tokens, found %1)")
                               .arg(id)));
        row("/model/unk_token", "\"none\"", "unk_token 'none' is not in the vocabulary");
        row("/model/byte_fallback", "1", "byte_fallback is neither true nor false");
        row("/added_tokens/0/content", "\"b\"", "has the id 0 of '<unk>'");
        row("/model", "null", "this is not a tokenizer.json");
    }
    void refuses() {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, sentence);
        Json json = tokenizerOf({"<unk>", "<s>", "</s>", "a", "b", "ab"});
        json["model"]["merges"] = Json::array({Json::array({"a", "b"})});
        json[Json::json_pointer(pointer.toStdString())] = parseJson(value.toStdString(), "test");
        const QString found = QString::fromStdString(errorOf([&] { open(json); }));
        QVERIFY2(found.contains(sentence), qPrintable(found));
        QVERIFY2(found.contains("tokenizer.json"), qPrintable(found));
    }

    void badSpecialTokens() {
        writeFile(folder() / "tokenizer_config.json", R"({"bos_token":"<nobody>"})");
        QVERIFY(errorOf([&] { open(tokenizerOf(toyPieces(20))); }).find("bos_token '<nobody>' is not a token") !=
                std::string::npos);
        writeFile(folder() / "tokenizer_config.json", R"({"add_bos_token":"yes"})");
        QVERIFY(errorOf([&] { open(tokenizerOf(toyPieces(20))); }).find("neither true nor false") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestTokenizerRefusals)
#include "tst_tokenizerrefusals.moc"
