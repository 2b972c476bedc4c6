// Unigram models of a tokenizer.json (HAZARDS A24).
#include "compute/error.h"
#include "compute/files/json.h"
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// <unk>, <s>, </s> at 0, and these pieces with their scores.
Json unigramOf(const std::vector<std::pair<std::string, double>>& pieces) {
    Json json = tokenizerOf({"<unk>", "<s>", "</s>"});
    Json vocab = Json::array();
    for (const char* control : {"<unk>", "<s>", "</s>"}) vocab.push_back(Json::array({control, 0.0}));
    for (const auto& [piece, score] : pieces) vocab.push_back(Json::array({piece, score}));
    json["model"] = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}};
    return json;
}

}  // namespace

class TestUnigram : public QObject, TokenizerFolder {
    Q_OBJECT
  private Q_SLOTS:
    void init() { begin(); }

    /// The best sum of scores, not the longest piece; unknown characters together are one.
    void unigramScores() {
        const auto tokenizer = open(unigramOf({{"a", -1.0}, {"b", -1.5}, {"ab", -3.0}, {"ba", -2.0}}));
        QCOMPARE(show(tokenizer->encode("ab")), QString("3 4"));
        QCOMPARE(show(tokenizer->encode("aba")), QString("3 6"));
        QCOMPARE(show(tokenizer->encode("axyb")), QString("3 0 4"));
        QCOMPARE(show(tokenizer->encode("")), QString());
        // x is unknown at -12 (the smallest score less 10): as a letter of a piece it costs 2 more than b does.
        const auto penalised = open(unigramOf({{"a", -1.0}, {"b", -2.0}, {"ax", -9.0}}));
        QCOMPARE(show(penalised->encode("ax")), QString("5"));
    }

    /// A24: a control token's piece has the best score of all, and still no text becomes it.
    void unigramControlMarksAreText() {
        const auto tokenizer = open(unigramOf({{"<", -9.0}, {"s", -9.0}, {">", -9.0}}));
        QCOMPARE(show(tokenizer->encode("<s>")), QString("3 4 5"));
        QCOMPARE(show(tokenizer->encode("<s>", {.controlTokens = true})), QString("1"));
    }

    void badUnigrams_data() {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("no score") << "/vocab/3"
                                  << R"(["a"])"
                                  << "entry 3 of the vocabulary is not a piece and its score";
        QTest::newRow("unk_id") << "/unk_id"
                                << "4"
                                << "unk_id is not the number of a piece";
        QTest::newRow("a map") << "/vocab"
                               << R"({"a":3})"
                               << "the model has no list 'vocab'";
        QTest::newRow("nothing unknown") << "/unk_id"
                                         << "null"
                                         << "no token for the character U+00E9";
    }
    void badUnigrams() {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, sentence);
        Json json = unigramOf({{"a", -1.0}});
        json["model"][Json::json_pointer(pointer.toStdString())] = parseJson(value.toStdString(), "test");
        const QString found = QString::fromStdString(errorOf([&] { open(json)->encode("aé"); }));
        QVERIFY2(found.contains(sentence), qPrintable(found));
    }
};

QTEST_GUILESS_MAIN(TestUnigram)
#include "tst_unigram.moc"
