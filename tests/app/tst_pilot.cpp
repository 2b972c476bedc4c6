// resources/demo/pilot.py on two small stories: what it pools is what the runs and `counterpoint route` say, worked out
// here anew; its figures come out.

#include <QStandardPaths>
#include <QTemporaryDir>
#include <cmath>

#include "compute/files/json.h"
#include "tests/app/program.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using compute::OrderedJson;

namespace {

const QByteArray kText =
    "Left out, since it is not among the last.\n<|endoftext|>\nTom saw a dog. The dog was big.\n<|endoftext|>\n"
    "Lily went to the park. She saw a red ball and was happy.\n<|endoftext|>\nA story that is cut o";

}  // namespace

class TestPilot : public QObject {
    Q_OBJECT
    QTemporaryDir m_scratch;
    const QString m_python = QStandardPaths::findExecutable(QStringLiteral("python3"));
    OrderedJson m_report;

    QString path(const char* name) const { return m_scratch.filePath(QLatin1String(name)); }
    Finished pilot(const QStringList& more) const {
        QProcess process;
        process.setProcessEnvironment(bareEnvironment());
        process.start(m_python,
                      QStringList{inCheckout("resources/demo/pilot.py"), QStringLiteral("--program"), programPath(),
                                  QStringLiteral("--text"), path("text.txt"), QStringLiteral("--out"), path("out")} +
                          more);
        if (!process.waitForFinished(300'000)) return {};
        return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
    }
    OrderedJson row(const char* part, std::size_t i) const { return m_report.at(part).at("table").at(i); }

    /// Nats of a source over both stories, the end of each among them, and how many tokens that is.
    std::pair<double, double> nats(const std::string& source) const {
        double sum = 0, tokens = 0;
        for (const char* run : {"out/run-0", "out/run-1"})
            for (const QByteArray& line : contents(path(run) + QStringLiteral("/trace.jsonl")).trimmed().split('\n')) {
                const OrderedJson step = OrderedJson::parse(line.toStdString());
                const bool end = step.at("token").is_null();
                const double value = step.at(end ? "eos" : "log_probs").at(source).get<double>();
                sum -= end ? std::log(value) : value;
                ++tokens;
            }
        return {sum, tokens};
    }

  private Q_SLOTS:
    void initTestCase() {
        if (m_python.isEmpty()) QSKIP("there is no python3 here");
        write(path("text.txt"), kText);
        const QStringList small{QStringLiteral("--stories"), QStringLiteral("2"),       QStringLiteral("--routed"),
                                QStringLiteral("2"),         QStringLiteral("--seeds"), QStringLiteral("2"),
                                QStringLiteral("--draws"),   QStringLiteral("16"),      QStringLiteral("--held-out"),
                                QStringLiteral("2")};
        COMPARE_CODE(pilot(small), 0);
        m_report = compute::readOrderedJson(path("out/pilot.json").toStdString());
    }
    void init() { failOnAnyWarning(); }

    void crossEntropy() {
        const auto [deterministic, tokens] = nats("deterministic");
        QCOMPARE(m_report.at("cross_entropy").at("tokens").get<double>(), tokens);
        QCOMPARE(m_report.at("cross_entropy").at("stories").get<int>(), 2);
        QVERIFY(std::abs(row("cross_entropy", 0).at("cross_entropy").at("mean").get<double>() -
                         deterministic / tokens) < 1e-9);
        QCOMPARE(row("cross_entropy", 1).at("routing").get<std::string>(), std::string("independent"));
        const double a = nats("independent, seed 1").first / tokens, b = nats("independent, seed 2").first / tokens;
        QVERIFY(a != b && a != deterministic / tokens);
        const OrderedJson above = row("cross_entropy", 1).at("above_deterministic");
        QVERIFY(std::abs(above.at("mean").get<double>() - ((a + b) / 2 - deterministic / tokens)) < 1e-9);
        QVERIFY(std::abs(above.at("se").get<double>() - std::abs(a - b) / 2) < 1e-9);
    }

    void theGrid() {
        OrderedJson stories[2];
        for (int n = 0; n < 2; ++n) {
            const Finished routed =
                runProgram({QStringLiteral("route"), path(n == 0 ? "out/run-0" : "out/run-1"), QStringLiteral("--rho"),
                            QStringLiteral("0.5"), QStringLiteral("--alpha"), QStringLiteral("1"),
                            QStringLiteral("--window"), QStringLiteral("8"), QStringLiteral("--draws"),
                            QStringLiteral("16"), QStringLiteral("--seed"), QString::number(1 + n)});
            COMPARE_CODE(routed, 0);
            stories[n] = OrderedJson::parse(routed.out.toStdString()).at("pooled");
        }
        const OrderedJson table = m_report.at("routing").at("table");
        const auto found = std::find_if(table.begin(), table.end(), [](const OrderedJson& at) {
            return at.at("rho") == OrderedJson(0.5) && at.at("alpha") == OrderedJson(1.0);
        });
        QVERIFY(found != table.end());
        for (const char* metric : {"coherence", "boundary_paired", "distinct", "cv", "load_variance"}) {
            const auto value = [&](int n, const char* key) { return stories[n].at(metric).at(key).get<double>(); };
            QVERIFY(std::abs(found->at(metric).at("mean").get<double>() - (value(0, "mean") + value(1, "mean")) / 2) <
                    1e-9);
            QVERIFY(std::abs(found->at(metric).at("se").get<double>() -
                             std::hypot(value(0, "se"), value(1, "se")) / 2) < 1e-9);
        }
    }

    void itsFigures() {
        for (const char* name : {"coherence", "distinct", "boundary", "variance", "cv", "cross_entropy"})
            for (const char* extension : {"pdf", "svg", "png", "csv", "json"}) {
                const QString file =
                    path("out/figures/pilot_") + QLatin1String(name) + QLatin1Char('.') + QLatin1String(extension);
                QVERIFY2(!contents(file).isEmpty(), qPrintable(file));
            }
    }

    void refusals() {
        const auto says = [&](const QStringList& more, int code, const char* words) {
            const Finished finished = pilot(more);
            QCOMPARE(finished.code, code);
            QVERIFY2(finished.err.contains(words), finished.err.constData());
        };
        says({QStringLiteral("--text"), path("nowhere.txt")}, 1, "nowhere.txt is not there");
        says({QStringLiteral("--seeds"), QStringLiteral("1")}, 2, "--seeds");
        says({QStringLiteral("--stories"), QStringLiteral("1"), QStringLiteral("--routed"), QStringLiteral("1"),
              QStringLiteral("--held-out"), QStringLiteral("1"), QStringLiteral("--model"),
              inCheckout("resources/demo/base")},
             1, "pilot.py: counterpoint: ");
    }
};

QTEST_GUILESS_MAIN(TestPilot)
#include "tst_pilot.moc"
