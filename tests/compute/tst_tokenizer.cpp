// tokenizer.json: the reference's ids on its own cases, golden ids of the shared models, A14 and A24.
#include <QElapsedTimer>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/text/tokenizer.h"
#include "compute/text/utf8stream.h"
#include "tests/support/fixture.h"
#include "tests/support/toyfiles.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

std::vector<std::string> splitBy(const std::string& text, const std::string& separator) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    for (std::size_t hit; (hit = text.find(separator, at)) != std::string::npos; at = hit + separator.size())
        parts.push_back(text.substr(at, hit - at));
    parts.push_back(text.substr(at));
    return parts;
}

QString show(const std::vector<TokenId>& ids) {
    QStringList text;
    for (const TokenId id : ids) text << QString::number(id);
    return text.join(' ');
}

std::vector<TokenId> idsOf(const Json& list) { return list.get<std::vector<TokenId>>(); }

}  // namespace

class TestTokenizer : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

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
};

QTEST_GUILESS_MAIN(TestTokenizer)
#include "tst_tokenizer.moc"
