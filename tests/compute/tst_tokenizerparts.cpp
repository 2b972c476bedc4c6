// One rule of a part of a tokenizer.json each, against what the Python package `tokenizers` gives with the same file:
// tests/data/tokenizers/parts.json, made by resources/golden/make_tokenizer_parts.py.
#include "tests/support/tokenizerfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestTokenizerParts : public QObject, TokenizerFolder {
    Q_OBJECT

    static const Json& rows() {
        static const Json all = readJson(checkout() / "tests/data/tokenizers/parts.json")["rows"];
        return all;
    }

  private Q_SLOTS:
    void init() { begin(); }

    void asThePackage_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < rows().size(); ++i)
            QTest::newRow(rows()[i]["name"].get<std::string>().c_str()) << static_cast<int>(i);
        QVERIFY(rows().size() > 80);
    }
    void asThePackage() {
        QFETCH(int, index);
        const Json& row = rows()[static_cast<std::size_t>(index)];
        const auto tokenizer = open(row["tokenizer"]);
        const std::string text = row["text"];
        if (row.contains("decode")) {
            QCOMPARE(QString::fromStdString(tokenizer->decode(row["decode"].get<std::vector<TokenId>>())),
                     QString::fromStdString(text));
            return;
        }
        std::vector<TokenId> ids = tokenizer->encode(text, {.controlTokens = row["control"].get<bool>()});
        if (row["around"].get<bool>()) {
            ids.insert(ids.begin(), tokenizer->before().begin(), tokenizer->before().end());
            ids.insert(ids.end(), tokenizer->after().begin(), tokenizer->after().end());
        }
        QCOMPARE(show(ids), show(row["ids"].get<std::vector<TokenId>>()));
    }
};

QTEST_GUILESS_MAIN(TestTokenizerParts)
#include "tst_tokenizerparts.moc"
