// R8: η, the names of policies, contexts in one line, and when two priors are the same.
#include <cmath>
#include <limits>

#include "compute/files/json.h"
#include "compute/priors/prior.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

PriorEntry id(TokenId id) { return {.text = {}, .id = id}; }

Context context(ContextKind kind) {
    Context c;
    c.kind = kind;
    return c;
}
template <class T>
Context context(ContextKind kind, T Context::*field, std::type_identity_t<T> value) {
    Context c = context(kind);
    c.*field = std::move(value);
    return c;
}

}  // namespace

class TestPrior : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void etaOfTheGolden() {
        REQUIRE_SHARED("golden/priors.json");
        const Json golden = readJson(shared("golden/priors.json"));
        const double tolerance = golden["tolerance"];
        int seen = 0;
        for (const Json& row : golden["eta_bayes"]) {
            Prior p;
            p.quality = row["q"];
            const Eta e = etaOf(p);
            QVERIFY2(std::abs(e.raw - row["eta_raw"].get<double>()) <= tolerance,
                     qPrintable(QString::number(p.quality)));
            QVERIFY2(std::abs(e.eta - row["eta"].get<double>()) <= tolerance, qPrintable(QString::number(p.quality)));
            QCOMPARE(e.off, p.quality < 0.5);
            QCOMPARE(e.capped, p.quality > 0.99);
            ++seen;
        }
        QCOMPARE(seen, 9);
    }

    void eta_data() {
        QTest::addColumn<double>("q");
        QTest::addColumn<double>("own");
        QTest::addColumn<double>("given");
        QTest::addColumn<double>("eta");
        QTest::addColumn<QString>("says");
        // NaN stands for no η of its own, no override
        QTest::newRow("q 0") << 0.0 << kNan << kNan << 0.0 << "off";
        QTest::newRow("q 1") << 1.0 << kNan << kNan << kEtaCap << "capped";
        QTest::newRow("q 0.5 is on and adds nothing") << 0.5 << kNan << kNan << 0.0 << "";
        QTest::newRow("below 0.5") << 0.4999 << kNan << kNan << 0.0 << "off";
        QTest::newRow("above 0.99") << 0.995 << kNan << kNan << kEtaCap << "capped";
        QTest::newRow("0.99 is not capped") << 0.99 << kNan << kNan << std::log(99.0) << "";
        QTest::newRow("its own η is not capped") << 0.6 << 7.5 << kNan << 7.5 << "overridden";
        QTest::newRow("its own η where q is off") << 0.1 << 1.5 << kNan << 1.5 << "overridden";
        QTest::newRow("a session's goes first") << 0.6 << 7.5 << 2.0 << 2.0 << "overridden";
        QTest::newRow("a session's 0") << 0.6 << 7.5 << 0.0 << 0.0 << "overridden";
        QTest::newRow("a quality that is none") << kNan << kNan << kNan << 0.0 << "off";
        QTest::newRow("an infinite η is none") << 0.6 << kInfinity << kNan << std::log(1.5) << "";
    }
    void eta() {
        QFETCH(double, q);
        QFETCH(double, own);
        QFETCH(double, given);
        QFETCH(double, eta);
        Prior p;
        p.quality = q;
        if (!std::isnan(own)) p.eta = own;
        const Eta e = etaOf(p, std::isnan(given) ? std::nullopt : std::optional(given));
        QVERIFY2(std::abs(e.eta - eta) < 1e-12, qPrintable(QString::number(e.eta)));
        QStringList says;
        if (e.off) says << "off";
        if (e.capped) says << "capped";
        if (e.overridden) says << "overridden";
        QTEST(says.join(' '), "says");
    }

    void infiniteRaw() {
        Prior p;
        p.quality = 0;
        QCOMPARE(etaOf(p).raw, -kInfinity);
        p.quality = 1;
        QCOMPARE(etaOf(p).raw, kInfinity);
    }

    void policies() {
        for (const Policy policy : {Policy::ExactId, Policy::SingleToken, Policy::SingleTokenSpace, Policy::FirstToken,
                                    Policy::FirstTokenSpace})
            QCOMPARE(policyOf(policyName(policy)), std::optional(policy));
        QCOMPARE(policyOf("single token without a leading space"), std::optional(Policy::SingleToken));
        QCOMPARE(policyOf("first token without leading space"), std::optional(Policy::FirstToken));
        QCOMPARE(policyOf("single token with leading space"), std::optional(Policy::SingleTokenSpace));
        QCOMPARE(policyOf("exact id with a leading space"), std::optional(Policy::ExactId));
        for (const char* no : {"", "single", "Single token", "single token ", "last token",
                               "single token with a leading space with a leading space", " with a leading space"})
            QVERIFY2(!policyOf(no), no);
    }

    void contextsInOneLine() {
        QCOMPARE(describe(context(ContextKind::Always)), std::string("always"));
        QCOMPARE(describe(context(ContextKind::Regex, &Context::pattern, "a\nb")), std::string("after /a b/"));
        QCOMPARE(describe(context(ContextKind::Tokens, &Context::ids, {1, 2})), std::string("after ids 1 2"));
        QCOMPARE(describe(context(ContextKind::Tokens, &Context::ids, {0, 1, 2, 3, 4, 5, 6, 7, 8})),
                 std::string("after ids 0 1 2 3 4 5 6 7 ..."));
        QCOMPARE(describe(context(ContextKind::CodeBlock)), std::string("inside code"));
        QCOMPARE(describe(context(ContextKind::CodeBlock, &Context::language, "python")),
                 std::string("inside `python` code"));
        QCOMPARE(describe(context(ContextKind::Feature, &Context::name, "list")), std::string("inside 'list'"));
    }

    void equality() {
        Prior a;
        a.promote = {id(1)};
        a.policy = Policy::SingleToken;
        a.delta = {{1, kNan}};
        a.eta = 2;
        Prior b = a;
        QVERIFY(a == b);
        const std::function<void(Prior&)> changes[] = {[](Prior& p) { p.name = "x"; },
                                                       [](Prior& p) { p.kind = "x"; },
                                                       [](Prior& p) { p.task = "x"; },
                                                       [](Prior& p) { p.quality = 0.6; },
                                                       [](Prior& p) { p.confidence = 0.6; },
                                                       [](Prior& p) { p.promote.clear(); },
                                                       [](Prior& p) { p.demote = {id(2)}; },
                                                       [](Prior& p) { p.deltaPlus = 2; },
                                                       [](Prior& p) { p.deltaMinus = 2; },
                                                       [](Prior& p) {
                                                           p.delta = {{1, 1}};
                                                       },
                                                       [](Prior& p) { p.delta[0].first = 2; },
                                                       [](Prior& p) { p.policy = Policy::FirstToken; },
                                                       [](Prior& p) { p.when.chars = 3; },
                                                       [](Prior& p) { p.eta.reset(); },
                                                       [](Prior& p) { p.eta = 3; },
                                                       [](Prior& p) { p.enabled = false; },
                                                       [](Prior& p) { p.source = "x"; },
                                                       [](Prior& p) { p.merged = {"x"}; },
                                                       [](Prior& p) { p.unknown["x"] = 1; },
                                                       [](Prior& p) { p.unusable = true; },
                                                       [](Prior& p) { p.written = 1; },
                                                       [](Prior& p) { p.problems = {"x"}; }};
        for (std::size_t i = 0; i < std::size(changes); ++i) {
            b = a;
            changes[i](b);
            QVERIFY2(!(a == b), qPrintable(QString::number(i)));
        }
    }
};

QTEST_GUILESS_MAIN(TestPrior)
#include "tst_prior.moc"
