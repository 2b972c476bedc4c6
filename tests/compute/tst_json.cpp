// JSON: exact numbers, non-finite values as strings, refusals with a line, the same in every locale; SHA-256; base64.
#include <bit>
#include <clocale>
#include <cmath>
#include <functional>
#include <limits>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/files/sha256.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestJson : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void numbersRoundTrip_data() {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        const double inf = std::numeric_limits<double>::infinity();
        QTest::newRow("nan") << std::nan("") << "\"nan\"";
        QTest::newRow("inf") << inf << "\"inf\"";
        QTest::newRow("-inf") << -inf << "\"-inf\"";
        QTest::newRow("-0.0") << -0.0 << "-0.0";
        QTest::newRow("least denormal") << 5e-324 << "5e-324";
        QTest::newRow("largest") << std::numeric_limits<double>::max() << "1.7976931348623157e+308";
        QTest::newRow("0.1") << 0.1 << "0.1";
        QTest::newRow("rms_norm_eps") << 1e-5 << "1e-05";
        QTest::newRow("rope_theta") << 10000.5 << "10000.5";
    }
    void numbersRoundTrip() {
        QFETCH(double, value);
        QFETCH(QString, text);
        // A comma-decimal locale must change nothing (A1); where the system has none the C locale is tried again.
        for (const char* locale : {"C", "de_DE.UTF-8"}) {
            std::setlocale(LC_ALL, locale);
            const OrderedJson written = number(value);
            QCOMPARE(QString::fromStdString(written.dump()), text);
            const OrderedJson readBack = parseOrderedJson(written.dump(), "test");
            QCOMPARE(std::bit_cast<std::uint64_t>(toNumber(readBack, "test")), std::bit_cast<std::uint64_t>(value));
            std::setlocale(LC_ALL, "C");
        }
    }

    void integersAreExact() {
        const OrderedJson json =
            parseOrderedJson(R"([18446744073709551615,-9223372036854775808,9007199254740993])", "test");
        QCOMPARE(json[0].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
        QCOMPARE(json[1].get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
        QCOMPARE(json.dump(), std::string("[18446744073709551615,-9223372036854775808,9007199254740993]"));
    }

    void keysKeepTheirOrder() {
        QCOMPARE(parseOrderedJson(R"({"b":1,"a":{"z":[],"y":null}})", "test").dump(),
                 std::string(R"({"b":1,"a":{"z":[],"y":null}})"));
    }

    void refuses_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("empty") << QByteArray()
                               << "f.json, line 1: the file is empty, not JSON; copy or write it again.";
        QTest::newRow("white space") << QByteArray(" \n ")
                                     << "f.json, line 2: the file is empty, not JSON; copy or write it again.";
        QTest::newRow("cut")
            << QByteArray("{\"a\":\n[1,2")
            << "line 2: the JSON ends too early, near '2'; it may be cut short: copy or write it again.";
        QTest::newRow("comma decimal") << QByteArray("{\n\n\"a\":0,75}")
                                       << "line 3: this is not JSON, near '75'; correct it there, or copy it again.";
        QTest::newRow("trailing text") << QByteArray("{} {}") << "this is not JSON";
        QTest::newRow("invalid UTF-8") << QByteArray("\"\xFF\"")
                                       << "f.json, line 1: a text in it is not UTF-8; save the file again as UTF-8.";
        QTest::newRow("key twice") << QByteArray("{\"a\":1,\n\"a\":2}")
                                   << "line 2: the key 'a' stands twice in one object; keep one of the two.";
        QTest::newRow("key twice, deep") << QByteArray("[{\"b\":{\"a\":1,\"a\":2}}]") << "the key 'a' stands twice";
        QTest::newRow("too deep") << QByteArray(201, '[') << "nested deeper than 200 levels";
        QTest::newRow("very deep") << QByteArray(1000000, '[') << "nested deeper than 200 levels";
    }
    void refuses() {
        QFETCH(QByteArray, text);
        QFETCH(QString, sentence);
        QTemporaryDir dir;
        const std::filesystem::path file = std::filesystem::path(dir.path().toStdString()) / "f.json";
        writeFile(file, text.toStdString());
        for (const QString& found : {QString::fromStdString(errorOf([&] { readJson(file); })),
                                     QString::fromStdString(errorOf([&] { readOrderedJson(file); }))}) {
            QVERIFY2(found.contains(sentence), qPrintable(found));
            QVERIFY2(!found.contains('\n'), qPrintable(found));
        }
    }

    /// A document for a person keeps it in its place; what reads numbers refuses it there. Files of models do not.
    void tooLargeANumber_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("parsed");
        QTest::newRow("alone") << QByteArray("1e999") << QByteArray(R"({"not a finite 64-bit float":"1e999"})");
        QTest::newRow("below 0") << QByteArray("[-1.5E+999,1e308]")
                                 << QByteArray(R"([{"not a finite 64-bit float":"-1.5E+999"},1e+308])");
        QTest::newRow("among others") << QByteArray(R"({"a":1e999,"b":[2,1e400],"c":"1e999"})")
                                      << QByteArray(R"({"a":{"not a finite 64-bit float":"1e999"},"b":[2,)"
                                                    R"({"not a finite 64-bit float":"1e400"}],"c":"1e999"})");
        QTest::newRow("beside texts that look like it")
            << QByteArray(R"({"\"1e999":"1e999, \"1e999\\","not a finite 64-bit float":1e999})")
            << QByteArray(R"({"\"1e999":"1e999, \"1e999\\","not a finite 64-bit float":)"
                          R"({"not a finite 64-bit float":"1e999"}})");
        const QByteArray digits = QByteArray("1") + QByteArray(400, '0');
        QTest::newRow("of many digits") << digits << "{\"not a finite 64-bit float\":\"" + digits + "\"}";
        QTest::newRow("too small is 0") << QByteArray("[1e-999,1e999]")
                                        << QByteArray(R"([0.0,{"not a finite 64-bit float":"1e999"}])");
    }
    void tooLargeANumber() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, parsed);
        const OrderedJson read = parseOrderedJson(text.toStdString(), "f.json");
        QCOMPARE(QByteArray::fromStdString(read.dump()), parsed);
        for (const int indent : {-1, 2}) {
            const std::string written = jsonText(read, indent);
            if (indent < 0) QCOMPARE(written.find("64-bit float\":\""), std::string::npos);
            QVERIFY(parseOrderedJson(written, "again") == read);
        }
        if (text.size() < 50 && !text.contains("-999"))
            QCOMPARE(QByteArray::fromStdString(jsonText(read, -1)).replace("e+308", "e308"), text);
        const std::string refused = errorOf([&] { parseJson(text.toStdString(), "f.json"); });
        QVERIFY2(refused.starts_with("f.json, line 1: a number is too large for a 64-bit float, found "),
                 refused.c_str());
        const std::string line = errorOf([&] { parseOrderedJson("[" + text.toStdString() + ",\n\nx]", "f.json"); });
        QVERIFY2(line.starts_with("f.json, line 3: this is not JSON"), line.c_str());
    }

    /// NaN as other programs write it, in documents alone.
    void bareWords_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("found");  // empty: it is not JSON
        QTest::newRow("all three") << QByteArray(R"({"a":NaN,"b":[Infinity,-Infinity],"c":"NaN, -Infinity"})")
                                   << QByteArray("nan inf -inf");
        QTest::newRow("beside a large number") << QByteArray("[NaN,-1e999,1e400]") << QByteArray("nan -inf inf");
        for (const char* none : {"[nan]", "[NAN]", "[NaNa]", "[-NaN]", "[+Infinity]", "[1NaN]", "{NaN:1}", "[inf]"})
            QTest::newRow(none) << QByteArray(none) << QByteArray();
    }
    void bareWords() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, found);
        const std::string strict = errorOf([&] { parseJson(text.toStdString(), "f.json"); });
        QVERIFY2(strict.starts_with("f.json, line 1: ") || strict.starts_with("f.json: "), strict.c_str());
        if (found.isEmpty()) {
            const std::string refused = errorOf([&] { parseOrderedJson("\n" + text.toStdString(), "f.json"); });
            QVERIFY2(refused.starts_with("f.json, line 2: this is not JSON"), refused.c_str());
            return;
        }
        const OrderedJson read = parseOrderedJson(text.toStdString(), "f.json");
        QCOMPARE(QByteArray::fromStdString(jsonText(read, -1)), text);
        QStringList numbers;
        const std::function<void(const OrderedJson&)> walk = [&](const OrderedJson& value) {
            if (value.is_string()) return;
            if (value.is_object() && value.contains(kNotFinite)) {
                numbers << QString::fromStdString(number(toNumber(value, "f")).get<std::string>());
                return;
            }
            for (const auto& inner : value) walk(inner);
        };
        walk(read);
        QCOMPARE(numbers.join(' ').toUtf8(), found);
    }
    void textsAreWrittenAsTheyAre() {
        const OrderedJson own = {{kNotFinite, "12"}, {"list", {{{kNotFinite, "1e9"}}, {{kNotFinite, 3}}}}};
        QCOMPARE(jsonText(own, -1), own.dump());
        QCOMPARE(jsonText(own, 2), own.dump(2));
        const OrderedJson text = std::string("{\"") + kNotFinite + "\":\"1e999\"}";
        QCOMPARE(jsonText(text, -1), text.dump());
    }

    /// Long objects are looked through another way: the same order, the same refusal, wherever the second one stands.
    void longObjects_data() {
        QTest::addColumn<int>("first");
        QTest::addColumn<int>("keys");
        for (const int keys : {2, 31, 32, 33, 34, 200})
            for (const int first : {0, keys / 2, keys - 2}) QTest::addRow("key %d of %d", first, keys) << first << keys;
    }
    void longObjects() {
        QFETCH(int, first);
        QFETCH(int, keys);
        const auto text = [&](int last) {
            std::string object;
            for (int i = keys; i-- > 0;)
                object +=
                    (object.empty() ? "{\"" : ",\"") + std::to_string(i == 0 ? last : i) + "\":{\"a\":[],\"b\":null}";
            return object + "}";
        };
        for (const std::string& whole : {text(0), "[" + text(0) + "," + text(0) + "]"})
            QCOMPARE(parseOrderedJson(whole, "test").dump(), whole);
        const int twice = keys - 1 - first;
        if (twice == 0) return;
        try {
            parseOrderedJson(text(twice), "test");
            QFAIL("it was read");
        } catch (const Error& error) {
            const std::string says = "the key '" + std::to_string(twice) + "' stands twice in one object";
            QVERIFY2(std::string(error.what()).find(says) != std::string::npos, error.what());
        }
    }

    void depthOfTwoHundredIsAllowed() { parseOrderedJson(std::string(200, '[') + std::string(200, ']'), "test"); }

    void notANumber_data() {
        QTest::addColumn<QByteArray>("text");
        for (const char* text : {"\"1.5\"", "null", "true", "\"Infinity\"", "[1]", "{\"inf\":1}"})
            QTest::newRow(text) << QByteArray(text);
    }
    void notANumber() {
        QFETCH(QByteArray, text);
        const std::string found =
            errorOf([&] { toNumber(parseOrderedJson(text.toStdString(), "t"), "s.json, weight"); });
        QVERIFY2(found.starts_with("s.json, weight: this is not a number"), found.c_str());
    }

    void unknownKeysAreListed() {
        const OrderedJson json = parseOrderedJson(R"({"a":1,"x":2,"b":3,"y":4})", "test");
        QCOMPARE(unknownKeys(json, {"a", "b"}), (std::vector<std::string>{"x", "y"}));
    }

    /// FIPS 180-4 examples (NIST's SHA256.pdf) and the million letters of its long test.
    void sha256_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("hex");
        QTest::newRow("empty") << QByteArray() << "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        QTest::newRow("abc") << QByteArray("abc") << "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        QTest::newRow("56 bytes") << QByteArray("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                                  << "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
        QTest::newRow("a million a") << QByteArray(1000000, 'a')
                                     << "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    }
    void sha256() {
        QFETCH(QByteArray, text);
        QFETCH(QString, hex);
        Sha256 whole;
        whole.update(text.toStdString());
        QCOMPARE(QString::fromStdString(whole.hex()), hex);
        Sha256 pieces;  // in pieces of 0, 1, 2 … bytes
        for (qsizetype at = 0, n = 0; at < text.size(); at += n, n = (n + 1) % 150)
            pieces.update(text.mid(at, n).toStdString());
        QCOMPARE(QString::fromStdString(pieces.hex()), hex);
    }

    /// RFC 4648, section 10.
    void base64_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray() << QByteArray();
        QTest::newRow("f") << QByteArray("f") << QByteArray("Zg==");
        QTest::newRow("fo") << QByteArray("fo") << QByteArray("Zm8=");
        QTest::newRow("foo") << QByteArray("foo") << QByteArray("Zm9v");
        QTest::newRow("foob") << QByteArray("foob") << QByteArray("Zm9vYg==");
        QTest::newRow("bytes") << QByteArray("\x00\xFF\xFE", 3) << QByteArray("AP/+");
    }
    void base64() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, text);
        QCOMPARE(counterpoint::compute::base64(bytes.toStdString()), text.toStdString());
        QCOMPARE(fromBase64(text.toStdString()), bytes.toStdString());
    }
    void badBase64() {
        for (const char* text : {"Zg=", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "=m9v", "Z=9v"})
            QVERIFY2(!errorOf([&] { fromBase64(text); }).empty(), text);
    }
};

QTEST_GUILESS_MAIN(TestJson)
#include "tst_json.moc"
