// tokenizer.json against the Python package `tokenizers`: ids and decoded text of 10,000 texts of many scripts for the
// shared tokenizers, of 3,000 for a small tokenizer of each family of components (A14), plain (A24: marks in a text are
// text) and with control tokens and template; decoded in a stream (A28). resources/golden/make_tokenizer_cases.py made
// the cases.
#include <algorithm>

#include "compute/files/json.h"
#include "compute/text/tokenizer.h"
#include "compute/text/utf8stream.h"
#include "tests/support/fixture.h"
#include "tests/support/tokenizertexts.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

constexpr std::size_t kBlock = 100;
constexpr int kDecodes = 300;

std::filesystem::path data(const std::string& name) { return checkout() / "tests/data/tokenizers" / name; }

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    Utf8Stream stream;
    std::string text;
    bool first = true;
    for (const TokenId id : ids) {
        if (tokenizer.isControl(id)) continue;
        text += stream.push(first ? tokenizer.firstBytes(id) : tokenizer.bytes(id));
        first = false;
    }
    return text + stream.finish();
}

struct Encoded {
    std::vector<TokenId> ids;
    std::string text;
};

class Case {
  public:
    Case(const std::filesystem::path& tokenizer, const Json& json)
        : m_tokenizer(openTokenizerJson(tokenizer)), m_silent(json["silent"].get<std::vector<TokenId>>()) {}
    const Tokenizer& tokenizer() const { return *m_tokenizer; }

    Encoded encoded(const std::string& text, bool control) const {
        std::vector<TokenId> ids = m_tokenizer->encode(text, {.controlTokens = control});
        if (control) {
            const auto before = m_tokenizer->before(), after = m_tokenizer->after();
            ids.insert(ids.begin(), before.begin(), before.end());
            ids.insert(ids.end(), after.begin(), after.end());
        }
        return {ids, decoded(ids)};
    }
    std::string decoded(std::vector<TokenId> ids) const {
        std::erase_if(ids,
                      [&](TokenId id) { return std::find(m_silent.begin(), m_silent.end(), id) != m_silent.end(); });
        const std::string text = toValidUtf8(m_tokenizer->decode(ids));
        return streamed(*m_tokenizer, ids) == text ? text : "the stream gives another text";
    }

  private:
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::vector<TokenId> m_silent;  ///< added tokens the package decodes to another text than their own
};

}  // namespace

class TestTokenizerCases : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void equalToThePackage_data() {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"gpt2", "gpt-neox-20b", "stories260k", "unigram", "unigram-bytes", "unigram-precompiled", "bpe-bytes",
              "bpe-digits", "bpe-gpt4", "bpe-o200k", "bpe-bloom", "bpe-words", "bpe-punctuation", "bpe-metaspace"})
            QTest::newRow(name) << name;
    }
    void equalToThePackage() {
        QFETCH(QString, name);
        const Json json = readJson(data(name.toStdString() + ".cases.json"));
        const std::string path = json["tokenizer"];
        if (json["shared"].get<bool>()) REQUIRE_SHARED(path);
        const Case made(json["shared"].get<bool>() ? shared(path) : data(path), json);
        TokenizerTexts texts(readJson(data("texts.json")));

        for (std::size_t i = 0; i < json["whole"].size(); ++i) {
            const Json& whole = json["whole"][i];
            QCOMPARE(texts.text(i), whole["text"].get<std::string>());
            const Encoded literal = made.encoded(texts.text(i), false);
            QCOMPARE(literal.ids, whole["literal"].get<std::vector<TokenId>>());
            QCOMPARE(literal.text, whole["decoded"].get<std::string>());
            QCOMPARE(made.encoded(texts.text(i), true).ids, whole["control"].get<std::vector<TokenId>>());
        }
        const Json& blocks = json["blocks"];
        QVERIFY(blocks.size() >= (json["shared"].get<bool>() ? 100u : 30u));
        for (std::size_t block = 0; block < blocks.size(); ++block) {
            Fnv source, literal, control;
            for (std::size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
                const std::string text = texts.text(i);
                source.add(text);
                for (const bool marks : {false, true}) {
                    const Encoded found = made.encoded(text, marks);
                    Fnv& hash = marks ? control : literal;
                    hash.add(found.ids);
                    hash.add(found.text);
                }
            }
            const QString where = QString("texts %1 to %2").arg(block * kBlock).arg((block + 1) * kBlock - 1);
            QVERIFY2(source.hex() == blocks[block][0], qPrintable(where + ": the texts are not those of the script"));
            QVERIFY2(literal.hex() == blocks[block][1], qPrintable(where + " as plain text"));
            QVERIFY2(control.hex() == blocks[block][2], qPrintable(where + " with control tokens"));
        }
    }

    /// Ids in any order. Bytes that are no text are shown differently by the package, and left out.
    void anyIds_data() { equalToThePackage_data(); }
    void anyIds() {
        QFETCH(QString, name);
        const Json json = readJson(data(name.toStdString() + ".cases.json"));
        const std::string path = json["tokenizer"];
        if (json["shared"].get<bool>()) REQUIRE_SHARED(path);
        const Case made(json["shared"].get<bool>() ? shared(path) : data(path), json);
        TokenizerTexts texts(readJson(data("texts.json")));
        texts.restart(7);
        Fnv hash;
        for (int round = 0; round < kDecodes; ++round) {
            std::vector<TokenId> ids(1 + texts.draw(12));
            for (TokenId& id : ids)
                id = static_cast<TokenId>(texts.draw(static_cast<std::uint64_t>(made.tokenizer().size())));
            const std::string text = made.decoded(ids);
            if (text.find("\uFFFD") == std::string::npos) hash.add(text);
        }
        QCOMPARE(QString::fromStdString(hash.hex()), QString::fromStdString(json["decodes"].get<std::string>()));
    }
};

QTEST_GUILESS_MAIN(TestTokenizerCases)
#include "tst_tokenizercases.moc"
