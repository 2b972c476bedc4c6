// R5 of whole rows: interference as a covariance, who wins, and rows that are short, missing or silent or that do not
// sum to one.
#include "compute/composition/compose.h"
#include "tests/support/fixture.h"
#include "tests/support/naivecompose.h"
#include "tests/support/termcase.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

class TestDiagnoseRows : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    // Two unit weights, reference base: log(1 + Cov_{p_b}(p_1/p_b, p_2/p_b)); one deviating specialist: 0.
    void interferenceIsACovariance() {
        Recipe r = recipeOf({1, 1});
        const Storage<double> in(kRows, 3);
        Stages<double> stages;
        compose<double>(r, {}, in.source, stages);
        double cov = -1;
        for (std::size_t v = 0; v < 6; ++v) cov += std::exp(kRows[1][v] + kRows[2][v] - kRows[0][v]);
        QVERIFY(std::abs(diagnose<double>(r, {}, in.source, stages).interference - std::log1p(cov)) < 1e-9);
        const Storage<double> one({kRows[0], kRows[1], kRows[0]}, 3);
        compose<double>(r, {}, one.source, stages);
        QVERIFY(std::abs(diagnose<double>(r, {}, one.source, stages).interference) < 1e-12);
    }

    // What rounding leaves of Σ p_b = 1, here much of it, does not count once per specialist.
    void interferenceOfRowsThatDoNotSumToOne() {
        std::vector<Row> rows{kRows[0], kRows[1], kRows[0], kRows[0]};
        for (Row& row : rows)
            for (double& x : row) x += 1e-4;
        const Storage<double> in(rows, 3);
        const Recipe r = recipeOf({1, 1.3, 0.7});
        Stages<double> stages;
        compose<double>(r, {}, in.source, stages);
        QVERIFY(std::abs(diagnose<double>(r, {}, in.source, stages).interference) < 1e-12);
    }

    void winners_data() {
        QTest::addColumn<QList<double>>("a");
        QTest::addColumn<QList<double>>("b");
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("source");
        const QList<double> flat{.4, .3, .2, .1}, one{.05, .8, .05, .1}, two{.05, .05, .8, .1};
        QTest::newRow("base") << flat << flat << int(WinnerKind::Base) << 0;
        QTest::newRow("a") << one << flat << int(WinnerKind::Specialist) << 1;
        QTest::newRow("b") << flat << two << int(WinnerKind::Specialist) << 2;
        QTest::newRow("several") << one << one << int(WinnerKind::Several) << 0;
        QTest::newRow("nobody") << QList<double>{.05, .45, .02, .48} << QList<double>{.05, .02, .45, .48}
                                << int(WinnerKind::Nobody) << 0;
    }
    void winners() {
        QFETCH(QList<double>, a);
        QFETCH(QList<double>, b);
        QFETCH(int, kind);
        QFETCH(int, source);
        const std::vector<double> base{.4, .3, .2, .1};
        Recipe r = recipeOf({1, 1});
        Priors priors;
        if (kind == int(WinnerKind::Nobody)) priors = {{"p", 1, {2}, {9.0}}};
        const Storage<double> in({logsOf(base), logsOf({a.begin(), a.end()}), logsOf({b.begin(), b.end()})});
        Stages<double> stages;
        compose<double>(r, priors, in.source, stages);
        const Diagnostics d = diagnose<double>(r, priors, in.source, stages);
        QCOMPARE(int(d.winner), kind);
        QCOMPARE(d.winnerSource, source);
    }

    // Beyond its end a row has no end of text, and a source without a row has none at all.
    void endOfTextIsWithinTheRow() {
        Recipe r = recipeOf({1, 1});
        r.specialists[1].enabled = false;
        r.stopIds = {2, 6};
        std::vector<Row> longer = kRows;
        for (Row& row : longer) row.push_back(0);
        Storage<double> in(longer, 3);
        for (auto& row : in.source.rows) row = row.first(6);
        in.source.rows[2] = {};
        Stages<double> stages;
        compose<double>(r, {}, in.source, stages);
        const Diagnostics d = diagnose<double>(r, {}, in.source, stages);
        QVERIFY(std::abs(d.eos[1] - std::exp(kRows[1][2])) < 1e-12);
        QCOMPARE(d.eos[2], 0.0);
    }

    // A switched-off specialist that is fed still shows its activity; one that is not fed has 0.
    void activityOfTheSilent() {
        Recipe r = recipeOf({1, 1});
        r.specialists[0].enabled = r.specialists[1].enabled = false;
        Storage<double> in(kRows, 3);
        in.source.rows[2] = {};
        Stages<double> stages;
        compose<double>(r, {}, in.source, stages);
        const Diagnostics d = diagnose<double>(r, {}, in.source, stages);
        QVERIFY(std::abs(d.activity[1] - naive::klOf(kRows[1], kRows[0])) < 1e-9);
        QCOMPARE(d.activity[2], 0.0);
        QCOMPARE(d.activity[0], 0.0);
        QCOMPARE(d.drift, 0.0);
        r.specialists[0].reference = 2;  // whose row is missing
        QCOMPARE(diagnose<double>(r, {}, in.source, stages).activity[1], 0.0);
    }
};

QTEST_GUILESS_MAIN(TestDiagnoseRows)
#include "tst_diagnoserows.moc"
