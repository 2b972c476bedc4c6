// R11: positions in groups, groups in pairs, what each group's noise is made with, and what is refused.
#include "compute/error.h"
#include "compute/routing/groups.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;

namespace {

std::vector<Position> firstsOf(const Grouping& grouping, Position positions) {
    std::vector<Position> firsts;
    for (Position t = 0; t < positions; ++t) firsts.push_back(groupAt(grouping, t).first);
    return firsts;
}

std::vector<Position> boundsOf(const Grouping& grouping, Position positions) {
    return layoutOf({.groups = grouping, .pairs = {}, .rhoOfGroup = {}, .alphaOfPair = {}}, positions).bounds;
}

using Bounds = std::vector<Position>;

}  // namespace

class TestRoutingGroups : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { counterpoint::tests::failOnAnyWarning(); }

    void windows() {
        QCOMPARE(boundsOf(windowsOf(4), 10), (Bounds{0, 4, 8, 10}));
        QCOMPARE(boundsOf(windowsOf(5), 10), (Bounds{0, 5, 10}));
        QCOMPARE(boundsOf(windowsOf(1), 3), (Bounds{0, 1, 2, 3}));
        QCOMPARE(groupAt(windowsOf(4), 7).group, 1);
        QCOMPARE(groupAt(windowsOf(4), 8).group, 2);
    }

    void aWindowLongerThanTheTextIsOneGroup() {
        QCOMPARE(boundsOf(windowsOf(1'000'000), 10), (Bounds{0, 10}));
        QCOMPARE(boundsOf(windowsOf(8), 1), (Bounds{0, 1}));
        QCOMPARE(boundsOf(windowsOf(8), 0), (Bounds{0}));
    }

    void listOfStarts() {
        QCOMPARE(boundsOf(groupsFrom({3, 4, 9}), 12), (Bounds{0, 3, 4, 9, 12}));
        QCOMPARE(boundsOf(groupsFrom({0, 3}), 12), (Bounds{0, 3, 12}));
        QCOMPARE(boundsOf(groupsFrom({}), 12), (Bounds{0, 12}));
        QCOMPARE(boundsOf(groupsFrom({5, 20}), 12), (Bounds{0, 5, 12}));  // what lies behind the text does not count
    }

    /// Sentences become known one by one: what was grouped stays.
    void aListGrows() {
        Grouping growing = groupsFrom({4});
        const auto before = firstsOf(growing, 9);
        growing.starts.push_back(9);
        QCOMPARE(firstsOf(growing, 9), before);
        QCOMPARE(groupAt(growing, 9).first, 9);
    }

    void aChangeOfWindowActsFromTheNextBoundary() {
        const Grouping old = windowsOf(4);
        for (const Position from : {9, 10, 11, 12})
            QCOMPARE(boundsOf(withWindow(old, from, 3), 20), (Bounds{0, 4, 8, 12, 15, 18, 20}));
        QCOMPARE(boundsOf(withWindow(old, 13, 3), 20), (Bounds{0, 4, 8, 12, 16, 19, 20}));
        QCOMPARE(boundsOf(withWindow(old, 0, 3), 7), (Bounds{0, 3, 6, 7}));
        QCOMPARE(boundsOf(withWindow(withWindow(old, 9, 3), 13, 6), 22), (Bounds{0, 4, 8, 12, 15, 21, 22}));
        QCOMPARE(boundsOf(withWindow(groupsFrom({5, 9, 14}), 6, 2), 13), (Bounds{0, 5, 9, 11, 13}));
        QCOMPARE(boundsOf(withWindow(groupsFrom({5, 9, 14}), 9, 2), 13), (Bounds{0, 5, 9, 11, 13}));
        QCOMPARE(boundsOf(withWindow(groupsFrom({5}), 6, 4), 13), (Bounds{0, 5, 6, 10, 13}));  // no boundary ahead
        for (Position from = 0; from < 30; ++from) {
            const auto before = firstsOf(old, from), after = firstsOf(withWindow(old, from, 7), from);
            QCOMPARE(after, before);
        }
    }

    void consecutivePairs() {
        const Coupling c{
            .groups = windowsOf(4), .pairs = {}, .rho = 0.3, .alpha = 0.7, .rhoOfGroup = {}, .alphaOfPair = {}};
        QCOMPARE(placementAt(c, 3).partnerFirst, -1);
        QCOMPARE(placementAt(c, 4).partnerFirst, 0);
        QCOMPARE(placementAt(c, 11).partnerFirst, -1);
        QCOMPARE(placementAt(c, 12).partnerFirst, 8);
        QCOMPARE(placementAt(c, 12).alpha, 0.7);
        QCOMPARE(placementAt(c, 12).rho, 0.3);
        QCOMPARE(layoutOf(c, 20).pairedWithNext, (std::vector<char>{1, 0, 1, 0, 1}));
    }

    void listedPairs() {
        const Coupling c{
            .groups = windowsOf(2), .pairs = {{{0, 3}, {1, 2}}}, .rhoOfGroup = {0.1, 0.2}, .alphaOfPair = {0.9}};
        const Layout layout = layoutOf(c, 10);
        QCOMPARE(layout.pairedWithNext, (std::vector<char>{0, 1, 0, 0, 0}));
        QCOMPARE(layout.placements[3].partnerFirst, 0);
        QCOMPARE(layout.placements[3].alpha, 0.9);
        QCOMPARE(layout.placements[2].partnerFirst, 2);
        QCOMPARE(layout.placements[2].alpha, 0.5);  // beyond the list: the common one
        QCOMPARE(layout.placements[4].partnerFirst, -1);
        QCOMPARE(layout.placements[0].rho, 0.1);
        QCOMPARE(layout.placements[1].rho, 0.2);
        QCOMPARE(layout.placements[2].rho, 0.5);
        for (Position p = 0; p < 10; ++p)
            QVERIFY(placementAt(c, p) == layout.placements[static_cast<std::size_t>(p / 2)]);
    }

    void independentAndFlat() {
        const Coupling c{.groups = windowsOf(2), .pairs = {}, .rhoOfGroup = {0.1, 0.2}, .alphaOfPair = {0.9}};
        for (const Placement& placed : layoutOf(independentOf(c), 10).placements) QCOMPARE(placed.rho, 0.0);
        for (const Placement& placed : layoutOf(flatOf(c), 10).placements) QCOMPARE(placed.alpha, 0.0);
        QCOMPARE(layoutOf(flatOf(c), 10).placements[1].rho, 0.2);
    }

    /// One position at a time gives what the whole text gives.
    void stepByStep() {
        const Coupling c{.groups = withWindow(groupsFrom({3, 8}), 9, 4),
                         .pairs = {{{0, 2}, {1, 4}}},
                         .rhoOfGroup = {},
                         .alphaOfPair = {}};
        const Layout layout = layoutOf(c, 30);
        for (std::size_t g = 0; g < layout.placements.size(); ++g)
            for (Position t = layout.bounds[g]; t < layout.bounds[g + 1]; ++t)
                QVERIFY(placementAt(c, t) == layout.placements[g]);
    }

    /// Below differFrom() two couplings place the same noise, at it another; what is not only a list differs from 0 on.
    void whereTwoDiffer() {
        const auto listed = [](std::vector<Position> starts, std::optional<std::vector<GroupPair>> pairs = {}) {
            return Coupling{.groups = groupsFrom(std::move(starts)),
                            .pairs = std::move(pairs),
                            .rhoOfGroup = {},
                            .alphaOfPair = {}};
        };
        const std::vector<std::vector<Position>> lists{{},     {4},        {4, 9}, {4, 9, 11},
                                                       {5, 9}, {4, 8, 11}, {1},    {4, 9, 30}};
        const std::vector<std::optional<std::vector<GroupPair>>> pairings{std::nullopt, {{{0, 2}, {1, 3}}}, {{}}};
        for (const auto& pairs : pairings)
            for (const auto& a : lists)
                for (const auto& b : lists) {
                    const Coupling one = listed(a, pairs), other = listed(b, pairs);
                    const auto from = differFrom(one, other);
                    QCOMPARE(from.has_value(), a != b);
                    for (Position t = 0; t < from.value_or(40); ++t)
                        QVERIFY(placementAt(one, t) == placementAt(other, t));
                    if (from) QVERIFY(placementAt(one, *from) != placementAt(other, *from));
                }
        QVERIFY(differFrom(listed({4}), listed({4, 9})) == Position{9});
        QVERIFY(differFrom(listed({4, 9, 12}), listed({4})) == Position{9});
        Coupling moved = listed({4});
        for (double Coupling::*dial : {&Coupling::rho, &Coupling::alpha}) {
            moved.*dial = 0.75;
            QVERIFY(differFrom(listed({4, 9}), moved) == Position{0});
            moved.*dial = 0.5;
        }
        QVERIFY(differFrom(listed({4, 9}), moved) == Position{9});
        QVERIFY(differFrom(listed({4, 9}), listed({4}, {{{0, 1}}})) == Position{0});
        moved.groups.window = 4;
        QVERIFY(differFrom(listed({4}), moved) == Position{0});
        moved.groups.starts.push_back(9);
        Coupling windows = moved;
        windows.groups.starts.push_back(11);
        QVERIFY(differFrom(windows, moved) == Position{0});
    }

    void refusals_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("sentence");
        const char* rho = "routing, \"rho\": the value is outside its bounds (expected 0 to 1, found ";
        const char* alpha = "routing, \"alpha\": the value is outside its bounds (expected 0 to 1, found ";
        QTest::newRow("window 0")
            << 0 << "routing, \"window\": a window holds at least one position (expected 1 or more, found 0)";
        QTest::newRow("window 0 in a change")
            << 1 << "routing, \"window\": a window holds at least one position (expected 1 or more, found 0)";
        QTest::newRow("window 0 set")
            << 2 << "routing, \"window\": a window holds at least one position (expected 1 or more, found 0)";
        QTest::newRow("rho below") << 3 << QString(rho) + "-0.01)";
        QTest::newRow("rho above") << 4 << QString(rho) + "1.01)";
        QTest::newRow("rho nan") << 5 << QString(rho) + "nan)";
        QTest::newRow("rho of a group") << 6 << QString(rho) + "2)";
        QTest::newRow("alpha below") << 7 << QString(alpha) + "-0.5)";
        QTest::newRow("alpha above") << 8 << QString(alpha) + "1.5)";
        QTest::newRow("alpha of a pair") << 9 << QString(alpha) + "inf)";
        QTest::newRow("pairs overlap") << 10
                                       << "routing, \"pairs\": a group stands in two pairs (expected each group once "
                                          "at most, found group 1 again in [1, 2])";
        QTest::newRow("a pair of one group") << 11
                                             << "routing, \"pairs\": a pair is two groups, the earlier one first "
                                                "(expected [g, h] with 0 <= g < h, found [1, 1])";
        QTest::newRow("a pair backwards") << 12
                                          << "routing, \"pairs\": a pair is two groups, the earlier one first "
                                             "(expected [g, h] with 0 <= g < h, found [2, 1])";
        QTest::newRow("a pair before 0") << 13
                                         << "routing, \"pairs\": a pair is two groups, the earlier one first (expected "
                                            "[g, h] with 0 <= g < h, found [-1, 1])";
        QTest::newRow("starts fall")
            << 14 << "routing, \"groups\": the starts of groups must ascend (expected more than 5, found 4)";
        QTest::newRow("starts repeat")
            << 15 << "routing, \"groups\": the starts of groups must ascend (expected more than 5, found 5)";
        QTest::newRow("starts before 0")
            << 16 << "routing, \"groups\": the starts of groups must ascend (expected 0 or more, found -1)";
        QTest::newRow("no start at 0")
            << 17 << "routing, \"groups\": the first group must begin with the text (expected 0, found 3)";
    }
    void refusals() {
        QFETCH(int, which);
        QFETCH(QString, sentence);
        Coupling c;
        c.groups.window = which == 2 ? 0 : 8;
        c.rho = which == 3 ? -0.01 : which == 4 ? 1.01 : which == 5 ? NAN : 0.5;
        if (which == 6) c.rhoOfGroup = {0.5, 2.0};
        c.alpha = which == 7 ? -0.5 : which == 8 ? 1.5 : 0.5;
        if (which == 9) c.alphaOfPair = {INFINITY};
        if (which == 10) c.pairs = {{{0, 1}, {1, 2}}};
        if (which == 11) c.pairs = {{{1, 1}}};
        if (which == 12) c.pairs = {{{2, 1}}};
        if (which == 13) c.pairs = {{{-1, 1}}};
        if (which == 17) c.groups.starts = {3, 5};
        try {
            if (which == 0) (void)windowsOf(0);
            if (which == 1) (void)withWindow(windowsOf(4), 3, 0);
            if (which == 14) (void)groupsFrom({5, 4});
            if (which == 15) (void)groupsFrom({5, 5});
            if (which == 16) (void)groupsFrom({-1, 4});
            (void)layoutOf(c, 16);
        } catch (const Error& e) {
            QCOMPARE(QString::fromStdString(e.sentence()), sentence + QStringLiteral("."));
            return;
        }
        QFAIL("nothing was refused");
    }
};

QTEST_GUILESS_MAIN(TestRoutingGroups)
#include "tst_routinggroups.moc"
