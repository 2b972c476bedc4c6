// `counterpoint bank report` and `bank compress`: the JSON of SPEC.md 3, what is said of entries that become nothing,
// and that the person's bank stays what it is.

#include <QFileInfo>
#include <cmath>

#include "tests/app/bankcalls.h"

using namespace counterpoint::tests;

namespace {

QStringList keysOf(const Json& object) {
    QStringList keys;
    for (const auto& [key, value] : object.items()) keys += QString::fromStdString(key);
    return keys;
}

}  // namespace

class TestBankCommand : public QObject, BankCalls {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void reports() {
        const Finished finished = report(written("a.bank.json", idsBank()));
        COMPARE_CODE(finished, 0);
        QCOMPARE(finished.errorLines(), 1);  // a quality of 1 makes η infinite
        QVERIFY2(
            finished.err.startsWith("counterpoint: warning: " + path("a.bank.json").toUtf8() + ", prior 'certain'") &&
                finished.err.count("'certain'") == 1,
            finished.err.constData());
        const Json json = Json::parse(finished.out.toStdString());
        QVERIFY(json["name"] == Json("a bank"));
        QCOMPARE(json["priors"].size(), std::size_t(4));
        const QStringList keys{"name",        "n",          "alpha", "eta",          "eta_raw",
                               "paper_ratio", "true_ratio", "bytes", "squared_error"};
        for (const QString& key : keys) QVERIFY2(keysOf(json["priors"][0]).contains(key), qPrintable(key));
        for (const QString& key : keys.sliced(1)) QVERIFY2(keysOf(json["bank"]).contains(key), qPrintable(key));
        const Json &even = json["priors"][0], &uneven = json["priors"][1], &certain = json["priors"][3],
                   &all = json["bank"];
        QVERIFY(even["n"] == Json(20));
        QCOMPARE(even["alpha"].get<double>(), 0.5);
        QCOMPARE(even["squared_error"].get<double>(), 0.0);
        QCOMPARE(even["eta"].get<double>(), std::log(3.0));
        QCOMPARE(even["paper_ratio"].get<double>(), 640.0 / 52);
        QCOMPARE(even["true_ratio"].get<double>(), even["exact_bytes"].get<double>() / even["bytes"].get<double>());
        QVERIFY(even["true_ratio"].get<double>() < even["paper_ratio"].get<double>());
        QCOMPARE(uneven["alpha"].get<double>(), 2.0);
        QCOMPARE(uneven["squared_error"].get<double>(), 2.0);
        QCOMPARE(uneven["eta"].get<double>(), std::log(0.99 / 0.01));
        QVERIFY(std::abs(uneven["eta_raw"].get<double>() - std::log(999.0)) < 1e-9);
        QVERIFY(certain["eta_raw"] == Json("inf"));
        QVERIFY(all["n"] == Json(47));
        QCOMPARE(all["squared_error"].get<double>(), 2.0);
        QCOMPARE(all["paper_ratio"].get<double>(), 32.0 * 47 / (47 + 4 * 32));
        QCOMPARE(all["alpha"].get<double>(), (20 * 0.5 + 2 * 2 + 20 * 1 + 5 * 1) / 47);
    }

    // Sums are of what acts and of what is raw; a prior's own bytes; a prior that is off, or has no support, says so.
    void sumsAndSwitches() {
        Json bank = idsBank();
        bank["priors"].erase(3);
        bank["priors"][0]["enabled"] = false;
        bank["priors"].push_back({{"name", "nothing"}, {"quality", 0.25}, {"promote", {"the"}}});
        const Json json = Json::parse(report(written("s.bank.json", bank)).out.toStdString());
        const Json &priors = json["priors"], &all = json["bank"];
        const double three = std::log(3.0), half = std::log(1.5);
        QVERIFY(std::abs(all["eta"].get<double>() - (three + std::log(99.0) + half)) < 1e-12);
        QVERIFY(std::abs(all["eta_raw"].get<double>() - (three + std::log(999.0) + half - three)) < 1e-9);
        QCOMPARE(all["paper_ratio"].get<double>(), 32.0 * 42 / (42 + 3 * 32));
        QVERIFY(priors[0]["enabled"] == Json(false) && priors[1]["enabled"] == Json(true));
        QVERIFY(priors[0]["exact_bytes"].get<int>() > priors[0]["bytes"].get<int>());
        QVERIFY(priors[3]["n"] == Json(0) && priors[3]["eta"].get<double>() == 0);
        QCOMPARE(priors[3]["paper_ratio"].get<double>(), 0.0);
        const auto counts = [](const Json& report) { return report["counts"]["bank"].get<std::string>(); };
        QVERIFY2(counts(json).find("also those that do not act (2 here)") != std::string::npos, counts(json).c_str());
        const Json whole = Json::parse(report(written("a.bank.json", idsBank())).out.toStdString());
        QVERIFY(counts(whole).find("do not act") == std::string::npos);
    }

    // What the report says one bit a token takes is the size of the file that level 1 writes; exact, of the one as it
    // is.
    void bytesAreThoseOfFiles() {
        const QString file = written("b.bank.json", idsBank()), out = path("b1.bank.safetensors");
        const Json all = Json::parse(report(file).out.toStdString())["bank"];
        const Finished finished = compress(file, out, {QStringLiteral("--level"), QStringLiteral("1")});
        COMPARE_CODE(finished, 0);
        QVERIFY(all["bytes"] == Json(QFileInfo(out).size()));
        const Json levels = Json::parse(finished.out.toStdString())["levels"];
        QCOMPARE(levels.size(), std::size_t(2));
        QVERIFY(levels[0]["bytes"] == all["exact_bytes"]);
        QVERIFY(levels[1]["bytes"] == all["bytes"]);
        QVERIFY(levels[1]["paper_ratio"] == all["paper_ratio"]);
        QVERIFY(levels[1]["squared_error"] == all["squared_error"]);
    }

    void compresses() {
        const QString file = written("c.bank.json", idsBank()), out = path("c2.bank.safetensors");
        const QByteArray before = contents(file);
        const Finished finished = compress(file, out);
        COMPARE_CODE(finished, 0);
        QCOMPARE(finished.errorLines(), 1);
        QCOMPARE(contents(file), before);
        const Json json = Json::parse(finished.out.toStdString());
        QCOMPARE(json["levels"].size(), std::size_t(3));
        for (int level = 0; level < 3; ++level) {
            const Json& one = json["levels"][std::size_t(level)];
            QVERIFY(one["level"] == Json(level));
            for (const char* key : {"priors", "bytes", "paper_ratio", "true_ratio", "merged"})
                QVERIFY2(one.contains(key), key);
        }
        const auto bytes = [&](std::size_t level) { return json["levels"][level]["bytes"].get<double>(); };
        for (std::size_t level = 0; level < 3; ++level)
            QCOMPARE(json["levels"][level]["true_ratio"].get<double>(), bytes(0) / bytes(level));
        QCOMPARE(json["levels"][0]["squared_error"].get<double>(), 0.0);
        QCOMPARE(json["levels"][1]["squared_error"].get<double>(), 2.0);
        QVERIFY(!json["levels"][2].contains("squared_error"));  // of priors that are no longer there
        QVERIFY(json["levels"][2]["merged"] == Json::parse(R"([["even", "as even"]])"));
        QVERIFY(json["levels"][2]["priors"] == Json(3));
        QVERIFY(json["levels"][2]["bytes"] == Json(QFileInfo(out).size()));
        const Json again = Json::parse(report(out).out.toStdString());
        QVERIFY(again["bank"]["level"] == Json(2));
        QVERIFY(again["priors"][0]["name"] == Json("even (+1)"));
        const double eta = std::log(3.0) + std::log(1.5);
        QVERIFY(std::abs(again["priors"][0]["eta"].get<double>() - eta) < 1e-12);
        QVERIFY(std::abs(again["priors"][0]["alpha"].get<double>() - (std::log(3.0) * 0.5 + std::log(1.5)) / eta) <
                1e-12);
    }

    // Why priors that are alike are not joined.
    void whatStaysApartIsTold() {
        Json bank = idsBank();
        bank["priors"][2]["task"] = "math";
        const Finished finished = compress(written("t.bank.json", bank), path("t2.bank.json"));
        COMPARE_CODE(finished, 0);
        const Json level = Json::parse(finished.out.toStdString())["levels"][2];
        QVERIFY(level["merged"].empty());
        QCOMPARE(level["apart"].size(), std::size_t(1));
        const std::string why = level["apart"][0].get<std::string>();
        QVERIFY2(why.starts_with("'even' and 'as even' are alike") && why.find("different tasks") != std::string::npos,
                 why.c_str());
    }

    void levelsAndKeep() {
        const QString file = written("d.bank.json", idsBank());
        const Finished size = compress(file, path("d.json"), {QStringLiteral("--keep"), QStringLiteral("size")});
        COMPARE_CODE(size, 0);
        const Json kept = Json::parse(contents(path("d.json")).toStdString());
        QVERIFY(std::abs(kept["priors"][0]["eta"].get<double>() - (std::log(3.0) + std::log(1.5)) / 2) < 1e-12);
        QCOMPARE(kept["priors"][0]["delta"]["10"].get<double>(), 0.75);
        const Finished third = compress(file, path("d3.bank.json"), {QStringLiteral("--level=3")});
        COMPARE_CODE(third, 0);
        QCOMPARE(Json::parse(third.out.toStdString())["levels"].size(), std::size_t(4));
    }

    void textsWithAndWithoutTokenizer() {
        const Json texts = {{"name", "texts"},
                            {"quality", 0.75},
                            {"policy", "single token with a leading space"},
                            {"promote", {"the", "was", 300}}};
        const QString file = written("e.bank.json", bankOf(Json::array({texts})));
        const Finished blind = report(file);
        COMPARE_CODE(blind, 0);
        QCOMPARE(blind.errorLines(), 1);
        QVERIFY2(blind.err.contains("'texts'") && blind.err.contains("without a tokenizer"), blind.err.constData());
        const Json seen = Json::parse(blind.out.toStdString())["priors"][0];
        QVERIFY(seen["n"] == Json(1));
        QCOMPARE(seen["problems"].size(), std::size_t(2));
        const Json beyond = {{"name", "beyond"}, {"promote", {300, 1'000'000}}};
        const Finished outside = report(written("e2.bank.json", bankOf(Json::array({beyond}))), demoTokenizer());
        COMPARE_CODE(outside, 0);
        QVERIFY2(outside.err.contains("id 1000000 is outside the vocabulary"), outside.err.constData());
        QVERIFY(Json::parse(outside.out.toStdString())["priors"][0]["n"] == Json(1));
        const Finished read = report(file, demoTokenizer());
        COMPARE_CODE(read, 0);
        QVERIFY2(read.err.isEmpty(), read.err.constData());
        QVERIFY(Json::parse(read.out.toStdString())["priors"][0]["n"] == Json(3));
        COMPARE_CODE(compress(file, path("e1.bank.json"), demoTokenizer()), 0);
        const Finished lossy = compress(file, path("e3.bank.json"));
        COMPARE_CODE(lossy, 0);
        QVERIFY2(lossy.err.contains("holds ids alone: 2 entries that became no token are not in it"),
                 lossy.err.constData());
        const Json unread = {
            {"name", "unread"}, {"promote", {1}}, {"when", {{"kind", "regex"}, {"pattern", "(unclosed"}}}};
        const Finished context = report(written("e4.bank.json", bankOf(Json::array({unread}))));
        COMPARE_CODE(context, 0);
        QVERIFY2(context.err.contains("missing closing parenthesis"), context.err.constData());
        QCOMPARE(Json::parse(context.out.toStdString())["priors"][0]["problems"].size(), std::size_t(1));
        const Json small = Json::parse(contents(path("e1.bank.json")).toStdString());
        QVERIFY(small["priors"][0]["delta"] == Json::parse(R"({"265": 1.0, "281": 1.0, "300": 1.0})"));
        QVERIFY(small["tokenizer"].is_string());  // from now on its ids belong to that one
    }

    void problemsAreBounded() {
        Json priors = {{{"name", "good"}, {"delta", {{"1", 1}}}}};
        for (int i = 0; i < 30; ++i) priors.push_back({{"name", "p" + std::to_string(i)}, {"promote", {"the"}}});
        const Finished finished = report(written("f.bank.json", bankOf(priors)));
        COMPARE_CODE(finished, 0);
        QCOMPARE(finished.errorLines(), 21);
        QVERIFY2(finished.err.contains("10 more priors have problems"), finished.err.constData());
    }

    void nothingUsable_data() {
        QTest::addColumn<QByteArray>("bank");
        QTest::addColumn<QByteArray>("said");
        QTest::newRow("texts without a tokenizer")
            << QByteArray(R"({"format":"counterpoint.bank/1","priors":[{"name":"a","promote":["the"]}]})")
            << QByteArray("--tokenizer DIR");
        QTest::newRow("no bank") << QByteArray(R"({"format":"counterpoint.session/1"})") << QByteArray("no bank");
        QTest::newRow("no JSON") << QByteArray("priors") << QByteArray("g.bank.json");
    }
    void nothingUsable() {
        QFETCH(QByteArray, bank);
        QFETCH(QByteArray, said);
        write(path("g.bank.json"), bank);
        const Finished made = compress(path("g.bank.json"), path("g2.bank.json"));
        COMPARE_CODE(made, 1);
        QVERIFY2(made.err.contains(said) && made.out.isEmpty(), made.err.constData());
        QVERIFY(!QFileInfo::exists(path("g2.bank.json")));
        const Finished told = report(path("g.bank.json"));
        if (bank.contains("bank/1")) {  // a report is what says of each prior why
            COMPARE_CODE(told, 0);
            const Json all = Json::parse(told.out.toStdString());
            QVERIFY(all["priors"][0]["n"] == Json(0) && !all["priors"][0]["problems"].empty());
        } else {
            COMPARE_CODE(told, 1);
            QCOMPARE(told.errorLines(), 1);
            QVERIFY2(told.err.contains(said) && told.out.isEmpty(), told.err.constData());
        }
    }

    /// Neither the weights nor the tokenizer that it was given.
    void neverOverAModel() {
        QDir().mkpath(path("model"));
        const QString demo = inCheckout("resources/demo/base/");
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json", "tokenizer.model"})
            QVERIFY(QFile::copy(demo + QLatin1String(name), path("model/") + QLatin1String(name)));
        const QString bank = written("over.bank.json", idsBank());
        const Json session = {{"format", "counterpoint.session/1"},
                              {"base", {{"name", "b"}, {"path", "model"}}},
                              {"priors", Json::array({{{"bank", "over.bank.json"}}})}};
        const QString file = written("over.session.json", session);
        for (const char* name : {"model/model.safetensors", "model/tokenizer.json", "model/../model/config.json"}) {
            const QByteArray before = contents(path(name));
            for (const QStringList& more : {QStringList{QStringLiteral("--session"), file},
                                            QStringList{QStringLiteral("--tokenizer"), path("model")}}) {
                const Finished finished = compress(bank, path(name), more);
                COMPARE_CODE(finished, 2);
                QVERIFY2(finished.err.contains("would lose"), finished.err.constData());
                QCOMPARE(contents(path(name)), before);
            }
        }
    }

    /// A bank of nothing is reported as that, and stays that.
    void noPriors() {
        write(path("none.bank.json"), R"({"format":"counterpoint.bank/1","name":"none","priors":[]})");
        const Finished told = report(path("none.bank.json"));
        COMPARE_CODE(told, 0);
        QCOMPARE(told.errorLines(), 1);
        QVERIFY2(told.err.contains("none.bank.json: the bank has no priors"), told.err.constData());
        const Json all = Json::parse(told.out.toStdString());
        QVERIFY(all["name"] == Json("none") && all["priors"].empty());
        for (const char* key : {"n", "alpha", "eta", "eta_raw", "paper_ratio", "squared_error"})
            QVERIFY2(all["bank"][key].is_number() && all["bank"][key].get<double>() == 0, key);
        QVERIFY(all["bank"]["bytes"].get<int>() > 0 && all["bank"]["exact_bytes"].get<int>() > 0);
        const Finished made = compress(path("none.bank.json"), path("none2.bank.json"));
        COMPARE_CODE(made, 0);
        QVERIFY2(made.err.contains("has no priors"), made.err.constData());
        QVERIFY(Json::parse(contents(path("none2.bank.json")).toStdString())["priors"].empty());
    }

    /// "bytes" of a level are those of .bank.safetensors; those of the file that was written stand beside them.
    void bytesOfTheFile() {
        const QString from = written("j.bank.json", idsBank());
        for (const char* name : {"j1.bank.json", "j1.bank.safetensors"}) {
            const Finished finished = compress(from, path(name), {QStringLiteral("--level"), QStringLiteral("1")});
            COMPARE_CODE(finished, 0);
            const Json all = Json::parse(finished.out.toStdString());
            QCOMPARE(all["file"]["bytes"].get<qint64>(), QFileInfo(path(name)).size());
            QCOMPARE(all["file"]["path"].get<std::string>(), path(name).toStdString());
            const bool packed = QString::fromLatin1(name).endsWith(QStringLiteral(".safetensors"));
            QVERIFY((all["file"]["bytes"] == all["levels"][1]["bytes"]) == packed);
            QCOMPARE(finished.err.contains("written as JSON"), !packed);
        }
    }

    /// A limit on the size of files fails as a full disk does, and does not end the program by its signal.
    void aLimitOnFilesIsSaid() {
        const QString file = written("limit.bank.json", idsBank()), out = path("limit.bank.safetensors");
        QProcess process;
        process.setProcessEnvironment(bareEnvironment());
        process.start(QStringLiteral("bash"), {QStringLiteral("-c"), QStringLiteral("ulimit -f 0; exec \"$@\""),
                                               QStringLiteral("bash"), programPath(), QStringLiteral("bank"),
                                               QStringLiteral("compress"), file, QStringLiteral("--out"), out});
        QVERIFY(process.waitForFinished(300'000));
        const QByteArray said = process.readAllStandardError();
        QVERIFY2(process.exitStatus() == QProcess::NormalExit && process.exitCode() == 1, said.constData());
        QVERIFY2(said.contains("limit.bank.safetensors") && said.contains("raise the limit on the size of files"),
                 said.constData());
        QVERIFY(!QFileInfo::exists(out));
    }

    void neverOverTheBankItself() {
        const QString file = written("h.bank.json", idsBank());
        QVERIFY(QFile::link(file, path("link.bank.json")));
        const QByteArray before = contents(file);
        for (const QString& out : {file, path("link.bank.json"), path("./h.bank.json")}) {
            const Finished finished = compress(file, out);
            COMPARE_CODE(finished, 2);
            QCOMPARE(finished.errorLines(), 1);
            QVERIFY2(finished.err.contains("bank itself"), finished.err.constData());
        }
        QCOMPARE(contents(file), before);
    }

    void ofAnotherTokenizer() {
        Json foreign = idsBank();
        foreign["tokenizer"] = "another";
        foreign["priors"][0]["promote"] = {"the"};
        foreign["priors"][0]["policy"] = "first token with a leading space";
        const QString file = written("i.bank.json", foreign);
        const Finished said = report(file, demoTokenizer());
        COMPARE_CODE(said, 0);
        QVERIFY2(said.err.contains("another tokenizer"), said.err.constData());
        const Finished refused = compress(file, path("i2.bank.json"), demoTokenizer());
        COMPARE_CODE(refused, 1);
        QVERIFY2(refused.err.contains("made for another tokenizer") && !QFileInfo::exists(path("i2.bank.json")),
                 refused.err.constData());
    }
};

QTEST_GUILESS_MAIN(TestBankCommand)
#include "tst_bankcommand.moc"
