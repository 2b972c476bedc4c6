// `counterpoint bank compress --session`: KL of every level on a session's own trace, as the window measures it, and
// the sessions that cannot measure.
#include <QFileInfo>
#include <cmath>

#include "model/bankcompress.h"
#include "model/opensession.h"
#include "model/runner.h"
#include "tests/app/bankcalls.h"

using namespace counterpoint::tests;

class TestBankSession : public QObject, BankCalls {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // KL of every level on a session, and the same bank as without one: what the window's report says of the same
    // trace.
    void measuresOnASession() {
        const QString file = written("s.bank.json", idsBank()), out = path("s2.bank.safetensors");
        const QStringList on{QStringLiteral("--session"), session("s.bank.json"), QStringLiteral("--level=3")};
        const Finished plain = compress(file, path("s1.bank.safetensors"), {QStringLiteral("--level=3")});
        const Finished finished = compress(file, out, on);
        COMPARE_CODE(finished, 0);
        QCOMPARE(contents(out), contents(path("s1.bank.safetensors")));
        const Json json = Json::parse(finished.out.toStdString()), without = Json::parse(plain.out.toStdString());
        std::vector<std::string> warnings;
        const auto run = counterpoint::model::runSession(
            counterpoint::model::openSession(path("s.session.json").toStdString(), warnings), {});
        const auto input = counterpoint::model::compressionInput(run.trace.session, 0, &run.trace, nullptr);
        const auto report = counterpoint::model::compressionReport(input).value();
        QVERIFY(json["trace"]["positions"] == Json(8) && json["trace"]["matched"] == Json(8));
        QCOMPARE(json["trace"]["session"].get<std::string>(), path("s.session.json").toStdString());
        QCOMPARE(json["levels"].size(), std::size_t(4));
        for (std::size_t level = 0; level < 4; ++level) {
            Json one = json["levels"][level];
            const auto& wanted = report.levels[level].onTrace.value();
            const auto same = [&](const char* key, const counterpoint::model::MeanAndMost& value) {
                return one[key]["mean"].get<double>() == value.mean && one[key]["max"].get<double>() == value.most;
            };
            QVERIFY(same("kl", wanted.kl) && same("norm_bound", wanted.normBound) &&
                    same("range_bound", wanted.rangeBound));
            for (const char* of : {"mean", "max"}) {
                QVERIFY((one["kl"][of].get<double>() > 0) == (level > 0));
                QVERIFY(one["kl"][of].get<double>() <= one["norm_bound"][of].get<double>());
                QVERIFY(one["kl"][of].get<double>() <= one["range_bound"][of].get<double>());
            }
            for (const char* key : {"kl", "norm_bound", "range_bound"}) {
                one.erase(key);
                QVERIFY(!without["levels"][level].contains(key));
            }
            QVERIFY(one == without["levels"][level]);  // all else is the same
        }
        QVERIFY(!without.contains("trace"));
        // R9's d of "uneven" alone, ±1 under the capped η and τ = 0.7.
        const double d = std::log(0.99 / 0.01) / 0.7;
        QVERIFY(std::abs(json["levels"][1]["range_bound"]["max"].get<double>() - d * d / 8) < 1e-9 * d * d);
        QVERIFY(std::abs(json["levels"][1]["norm_bound"]["max"].get<double>() - d * d / 2) < 1e-9 * d * d);
    }

    void withTheSessionsOverrides() {
        const QString file = written("v.bank.json", idsBank()), out = path("v.bank.safetensors");
        const Json off = {{"overrides", {{"even", {{"enabled", false}}}}}};
        const Finished finished = compress(file, out, {QStringLiteral("--session"), session("v.bank.json", off)});
        COMPARE_CODE(finished, 0);
        QVERIFY2(finished.err.contains("overrides"), finished.err.constData());
        QVERIFY(Json::parse(finished.out.toStdString())["levels"][2]["merged"].empty());
        const Json priors = Json::parse(report(out).out.toStdString())["priors"];
        QVERIFY(priors[0]["enabled"] == Json(false) && priors[2]["enabled"] == Json(true));
    }

    void sessionsThatCannotMeasure() {
        const QString file = written("w.bank.json", idsBank()), out = path("w.bank.safetensors");
        written("x.bank.json", idsBank());
        const auto refused = [&](const QString& session, const QByteArray& said, int code = 1,
                                 const QStringList& more = {}) {
            const Finished finished = compress(file, out, QStringList{QStringLiteral("--session"), session} + more);
            COMPARE_CODE(finished, code);
            QCOMPARE(finished.errorLines(), 1);
            QVERIFY2(finished.err.contains(said) && finished.out.isEmpty(), finished.err.constData());
            QVERIFY(!QFileInfo::exists(out));
        };
        refused(session("x.bank.json"), "does not use the bank");
        refused(session("w.bank.json", {{"enabled", false}}), "is off in this session");
        refused(session("w.bank.json", {{"weight", 0}}), "is off in this session");
        refused(path("none.session.json"), "none.session.json");
        // Before anything is decoded: a bank that is not there, a folder to write in that is not.
        const QStringList on{QStringLiteral("--session"), session("w.bank.json")};
        const Finished none = compress(path("none.bank.json"), out, on),
                       nowhere = compress(file, path("no/w.bank.json"), on);
        COMPARE_CODE(none, 1);
        QVERIFY2(none.err.contains("none.bank.json: ") && none.err.contains("no such file"), none.err.constData());
        COMPARE_CODE(nowhere, 1);
        QVERIFY2(nowhere.err.contains("give --out a folder that is there"), nowhere.err.constData());
        refused(session("w.bank.json"), "leave --tokenizer out", 2, demoTokenizer());
        // Nothing that the session is made of is written over.
        const QString own = session("w.bank.json");
        for (const auto& [over, says] :
             {std::pair(own, "the session itself"), std::pair(path("r.safetensors"), "a source of")}) {
            const QByteArray before = contents(over);
            const Finished lost = compress(file, over, {QStringLiteral("--session"), own});
            COMPARE_CODE(lost, 2);
            QVERIFY2(lost.err.contains(says) && contents(over) == before, lost.err.constData());
        }
    }
};

QTEST_GUILESS_MAIN(TestBankSession)
#include "tst_banksession.moc"
