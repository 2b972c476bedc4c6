// The flat tables of a tokenizer.json: what the tree holds, or nothing at all, for real files, for unusual ones and for
// thousands of damaged ones.
#include <algorithm>
#include <random>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/text/tokenizertables.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

/// Written with ' for ".
std::string quoted(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return text;
}

const std::string kSmall = quoted(
    "{'version':'1.0','model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2,'\\u0120\\ud83d\\ude00\\'':3,'é\\n':10},"
    "'merges':['a b',['é','a']],'unk_token':null},'added_tokens':[{'id':4,'content':']}\\'{'}],"
    "'x':[[],{'vocab':{}},-1e5]}");

/// "" or what differs from the tree.
std::string difference(const std::string& text, const TokenizerTables& flat) {
    const Json tree = parseJson(text, "tree");
    if (tree["model"]["vocab"].size() != flat.vocab.size()) return "the number of pieces";
    for (const auto& [piece, id] : flat.vocab)
        if (tree["model"]["vocab"].value(piece, Json()) != Json(id)) return "piece " + piece;
    const Json& merges = tree["model"]["merges"];
    if (merges.size() != flat.merges.size()) return "the number of merges";
    for (std::size_t i = 0; i < merges.size(); ++i) {
        const auto& [left, right] = flat.merges[i];
        if (merges[i] != Json(left + " " + right) && merges[i] != Json::array({left, right}))
            return "merge " + std::to_string(i);
    }
    Json emptied = tree;
    emptied["model"]["vocab"] = Json::object();
    emptied["model"]["merges"] = Json::array();
    return parseJson(flat.rest, "rest") == emptied ? "" : "the rest";
}

}  // namespace

class TestTokenizerTables : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void realFiles_data() {
        QTest::addColumn<QString>("folder");
        QTest::newRow("gpt2") << "tokenizers/gpt2-tokenizer";
        QTest::newRow("gpt-neox") << "tokenizers/gpt-neox-20b-tokenizer";
    }
    void realFiles() {
        QFETCH(QString, folder);
        const std::string file = folder.toStdString() + "/tokenizer.json";
        REQUIRE_SHARED(file);
        const std::string text = readFile(shared(file));
        const auto flat = readTokenizerTables(text);
        QVERIFY(flat && flat->vocab.size() > 50'000 && flat->merges.size() > 49'000 && flat->rest.size() < 20'000);
        const std::string differs = difference(text, *flat);
        QVERIFY2(differs.empty(), differs.c_str());
    }

    void aSmallOne() {
        const auto flat = readTokenizerTables(kSmall);
        QVERIFY(flat);
        QCOMPARE(difference(kSmall, *flat), std::string());
        QCOMPARE(flat->vocab[3].first, std::string("Ġ😀\""));
        QCOMPARE(flat->merges[1].second, std::string("a"));
    }

    void unusual_data() {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        const auto row = [](const char* name, const char* from, const char* to) {
            QTest::newRow(name) << QByteArray(from) << QByteArray(to);
        };
        row("a fraction", ":2,", ":2.0,");
        row("an exponent", ":2,", ":2e0,");
        row("a leading zero", ":2,", ":02,");
        row("a sign", ":2,", ":-2,");
        row("an id of 32 bits", ":2,", ":2147483648,");
        row("a string for an id", ":2,", ":\"2\",");
        row("a piece twice", "\"ab\":2", "\"a\":2");
        row("a comma too many", "\"ab\":2,", "\"ab\":2,,");
        row("half a pair", "\\ude00", "");
        row("the second half alone", "\\ud83d", "");
        row("an escape that is none", "\\n", "\\x");
        row("a line end in a piece", "\\n", "\n");
        row("bytes that are no text", "é", "\xc3");
        row("three pieces in a merge", "a b", "a b c");
        row("one piece in a merge", "a b", "ab");
        row("three in a list", "[\"é\",\"a\"]", "[\"é\",\"a\",\"b\"]");
        row("a number as a merge", "[\"é\",\"a\"]", "7");
        row("the vocabulary twice", "\"unk_token\":null", "\"vocab\":{}");
        row("no merges", "merges", "other");
        row("a list of pieces", "\"vocab\":{\"a\":0,\"b\":1,", "\"vocab\":[{");
        row("cut off", ",-1e5]}", ",-1e5]");
    }
    void unusual() {
        QFETCH(QByteArray, from);
        QFETCH(QByteArray, to);
        std::string text = kSmall;
        const std::size_t at = text.find(from.toStdString());
        QVERIFY(at != std::string::npos);
        text.replace(at, static_cast<std::size_t>(from.size()), to.toStdString());
        QVERIFY(!readTokenizerTables(text));
    }

    /// Whatever is read of a damaged file is what the tree reads of it.
    void damaged() {
        std::mt19937 random(5);
        constexpr std::string_view kSpice = "0123456789-[]{}\",:.eE\\u tfn";
        int read = 0;
        for (int i = 0; i < 20'000; ++i) {
            std::string text = kSmall;
            for (auto n = 1 + random() % 2; n > 0; --n) {
                const std::size_t at = random() % text.size();
                const char spice = random() % 4 == 0 ? static_cast<char>(random()) : kSpice[random() % kSpice.size()];
                if (random() % 3 == 0)
                    text.erase(at, 1 + random() % 3);
                else if (random() % 2 == 0)
                    text.insert(at, 1, spice);
                else
                    text[at] = spice;
            }
            const auto flat = readTokenizerTables(text);
            if (!flat) continue;
            bool restReads = true;
            try {
                (void)parseJson(flat->rest, "rest");
            } catch (const Error&) {
                restReads = false;
            }
            if (!restReads) continue;
            ++read;
            std::string differs = "the tree refuses it";
            try {
                differs = difference(text, *flat);
            } catch (const Error&) {
            }
            QVERIFY2(differs.empty(), (differs + ": " + text).c_str());
        }
        QVERIFY2(read > 1000, qPrintable(QString::number(read)));
    }
};

QTEST_GUILESS_MAIN(TestTokenizerTables)
#include "tst_tokenizertables.moc"
