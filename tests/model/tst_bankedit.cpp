// Editing a bank as a value: what changes, what is shared, what becomes of the session's overrides; the tally of a
// trace.
#include <QTest>
#include <array>
#include <cmath>

#include "compute/error.h"
#include "model/bankedit.h"
#include "model/priortally.h"
#include "tests/model/scripted.h"
#include "tests/support/banks.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

Session sessionOf(std::vector<compute::Prior> priors) {
    Session s;
    BankEntry entry;
    entry.bank = "b.bank.json";
    entry.content = std::make_shared<const compute::Bank>(bankOf(std::move(priors)));
    s.priors.push_back(std::move(entry));
    return s;
}

Session abc() { return sessionOf({prior("a", {{1, 1}}), prior("b", {{2, 1}}), prior("c", {{3, 1}})}); }

QString names(const Session& s) {
    QStringList all;
    for (const auto& p : s.priors[0].content->priors) all << QString::fromStdString(p->name);
    return all.join(' ');
}

const compute::Prior& at(const Session& s, std::size_t i) { return *s.priors[0].content->priors.at(i); }

template <class Work>
QString refusal(Work work) {
    try {
        work();
    } catch (const compute::Error& error) {
        return QString::fromStdString(error.sentence());
    }
    return {};
}

}  // namespace

class TestBankEdit : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void onePriorIsReplacedAndTheRestShared() {
        const Session before = abc();
        compute::Prior changed = at(before, 1);
        changed.quality = 0.9;
        const Session after = withPrior(before, 0, 1, changed);
        QCOMPARE(at(after, 1).quality, 0.9);
        QCOMPARE(at(before, 1).quality, 0.75);  // the value before is another
        QVERIFY(after.priors[0].content->priors[0] == before.priors[0].content->priors[0]);
        QVERIFY(after.priors[0].content->priors[2] == before.priors[0].content->priors[2]);
    }

    void anOverrideFollowsItsName() {
        Session s = withEta(abc(), 0, 1, 1.5);
        compute::Prior renamed = at(s, 1);
        renamed.name = "bee";
        s = withPrior(std::move(s), 0, 1, renamed);
        QCOMPARE(names(s), QString("a bee c"));
        QVERIFY(!s.priors[0].overrides.contains("b"));
        QCOMPARE(overrideOf(s.priors[0], "bee").eta.value_or(0), 1.5);
        const std::size_t gone[] = {1};
        s = withoutPriors(std::move(s), 0, gone);
        QCOMPARE(names(s), QString("a c"));
        QVERIFY(s.priors[0].overrides.empty());
    }

    void aNameIsOnesOwn() {
        const Session s = abc();
        for (const char* taken : {"a", ""}) {
            compute::Prior renamed = at(s, 1);
            renamed.name = taken;
            const QString why = refusal([&] { withPrior(s, 0, 1, renamed); });
            QVERIFY2(why.contains("'b'") && why.contains("name"), qPrintable(why));
        }
        QCOMPARE(freePriorName(*s.priors[0].content, "a"), std::string("a 2"));
        QCOMPARE(freePriorName(*s.priors[0].content, "d"), std::string("d"));
        QCOMPARE(freePriorName(*sessionOf({prior("a 2", {}), prior("a 3", {})}).priors[0].content, "a 2"), std::string("a 4"));
    }

    void whatCouldNotBeReadIsNotEdited() {
        compute::Prior broken = prior("broken", {});
        broken.unusable = true;
        const Session s = sessionOf({broken});
        QVERIFY(refusal([&] { withPrior(s, 0, 0, prior("broken", {{1, 1}})); }).contains("could not be read"));
    }

    void copiesMovesAndSplits() {
        const std::size_t two[] = {0, 1};
        QCOMPARE(names(withDuplicates(abc(), 0, two)), QString("a b a 2 b 2 c"));
        std::vector<std::size_t> last = {1, 2};
        QCOMPARE(names(withPriorsMoved(abc(), 0, last, -1)), QString("b c a"));
        QCOMPARE(last, (std::vector<std::size_t>{0, 1}));
        QCOMPARE(names(withPriorsMoved(abc(), 0, last, -1)), QString("a b c"));  // there is no room above
        last = {0, 1};
        QCOMPARE(names(withPriorsMoved(abc(), 0, last, 1)), QString("c a b"));

        compute::Prior whole = prior("whole", {});
        whole.promote = {{"x", kNoToken}, {"y", kNoToken}};
        whole.demote = {{"z", kNoToken}};
        Session s = withEta(sessionOf({whole}), 0, 0, 2.0);
        const std::size_t demoted[] = {2}, all[] = {0, 1, 2};
        s = withSplit(std::move(s), 0, 0, demoted);
        QCOMPARE(names(s), QString("whole whole 2"));
        QCOMPARE(at(s, 0).promote.size(), 2u);
        QVERIFY(at(s, 0).demote.empty() && at(s, 1).promote.empty());
        QCOMPARE(at(s, 1).demote, whole.demote);
        QCOMPARE(overrideOf(s.priors[0], "whole 2").eta.value_or(0), 2.0);  // together they say what the one said
        QVERIFY(!refusal([&] { withSplit(sessionOf({whole}), 0, 0, all); }).isEmpty());
    }

    /// The parts differ from the whole in their entries and names alone.
    void aSplitKeepsWhatIsSaidOfTheWhole() {
        compute::Prior whole = after(prior("whole", {{4, 0.5}, {5, -0.25}}, 0.8, "task"), "b$");
        whole.kind = "kind";
        whole.confidence = 0.5;
        whole.deltaPlus = 2;
        whole.deltaMinus = 3;
        whole.policy = compute::Policy::FirstToken;
        whole.eta = 1.5;
        whole.enabled = false;
        whole.source = "by hand";
        whole.merged = {"x"};
        whole.unknown["note"] = 1;
        whole.promote = {{"x", kNoToken}};
        whole.demote = {{"y", kNoToken}};
        const std::size_t some[] = {1, 3};  // y and id 5
        const Session s = withSplit(sessionOf({whole}), 0, 0, some);
        compute::Prior left = whole, part = whole;
        left.demote.clear();
        left.delta = {{4, 0.5}};
        part.name = "whole 2";
        part.promote.clear();
        part.delta = {{5, -0.25}};
        QVERIFY(at(s, 0) == left);
        QVERIFY(at(s, 1) == part);
    }

    /// What all of them say stays said.
    void mergingKeepsWhatIsShared() {
        compute::Prior a = prior("a", {{1, 1}}), b = prior("b", {{2, 1}});
        a.kind = b.kind = "style";
        a.source = b.source = "by hand";
        a.unknown["by"] = b.unknown["by"] = "me";
        a.unknown["day"] = 1;
        const std::size_t two[] = {0, 1};
        const Session s = withMerged(sessionOf({a, b}), 0, two, {});
        QCOMPARE(at(s, 0).kind, std::string("style"));
        QCOMPARE(at(s, 0).source, std::string("by hand"));
        QCOMPARE(at(s, 0).unknown.size(), std::size_t{1});
        QVERIFY(at(s, 0).unknown["by"] == "me");
    }

    /// An η that the session sets is the one that counts.
    void mergingTakesTheSessionsEta() {
        const std::size_t two[] = {0, 1};
        Session s = withEta(sessionOf({prior("a", {{1, 1}}), prior("b", {{1, -2}})}), 0, 1, 0.25);
        s = withMerged(std::move(s), 0, two, {});
        QVERIFY(std::abs(at(s, 0).eta.value_or(0) - (std::log(3.0) + 0.25)) < 1e-12);
        QCOMPARE(at(s, 0).delta.size(), std::size_t{1});
        QVERIFY(std::abs(at(s, 0).delta[0].second - (std::log(3.0) + 0.5) / (std::log(3.0) + 0.25)) < 1e-12);
        QVERIFY(s.priors[0].overrides.empty());  // what was said of b goes with it
        s = withSwitched(sessionOf({prior("a", {{1, 1}}), prior("b", {{1, 1}})}), 0, std::array{std::size_t{1}}, false);
        QVERIFY(refusal([&] { withMerged(s, 0, two, {}); }).contains("'b': it does not act"));
    }

    /// Two priors of η = log 3 and one bit each: the union, with the sum of η (R10, level 2).
    void mergingGoesByTheRule() {
        Session s = sessionOf({prior("a", {{1, 1}, {2, 1}}), prior("b", {{2, 1}, {3, -1}}), prior("c", {{9, 1}})});
        const std::size_t two[] = {0, 1};
        s = withMerged(std::move(s), 0, two, {});
        QCOMPARE(s.priors[0].content->priors.size(), 2u);
        QCOMPARE(at(s, 0).merged, (std::vector<std::string>{"a", "b"}));
        QCOMPARE(asMap(at(s, 0)), (std::map<TokenId, double>{{1, 1}, {2, 1}, {3, -1}}));
        QVERIFY(std::abs(at(s, 0).eta.value_or(0) - 2 * std::log(3.0)) < 1e-12);
        QCOMPARE(at(s, 1).name, std::string("c"));
        // Of unequal magnitudes each by one bit first: α 2 and 1; with η log 3 and a session's 2 log 3 it is 4/3.
        s = sessionOf({prior("a", {{1, 1}, {2, 3}}), prior("b", {{2, -1}, {3, -1}})});
        s = withMerged(withEta(std::move(s), 0, 1, 2 * std::log(3.0)), 0, two, {});
        QCOMPARE(at(s, 0).delta.size(), 2u);  // on 2 they tie
        for (const auto& [token, delta] : at(s, 0).delta)
            QVERIFY(std::abs(delta - (token == 1 ? 4.0 : -4.0) / 3) < 1e-12);
        QVERIFY(std::abs(at(s, 0).eta.value_or(0) - 3 * std::log(3.0)) < 1e-12);
        const Session other = sessionOf({prior("a", {{1, 1}}, 0.75, "one"), prior("b", {{1, 1}}, 0.75, "two")});
        QVERIFY(refusal([&] { withMerged(other, 0, two, {}); }).contains("another task or context"));
        const Session elsewhere = sessionOf({prior("a", {{1, 1}}), after(prior("b", {{1, 1}}), "x")});
        QVERIFY(refusal([&] { withMerged(elsewhere, 0, two, {}); }).contains("another task or context"));
    }

    void switchesSayNoMoreThanIsNeeded() {
        Session s = withEta(abc(), 0, 2, 0.5);
        s = withSwitches(std::move(s), 0, {true, false, false});
        QCOMPARE(switchesOf(s, 0), (std::vector<bool>{true, false, false}));
        QVERIFY(!s.priors[0].overrides.contains("a"));
        QCOMPARE(overrideOf(s.priors[0], "c").eta.value_or(0), 0.5);
        const std::size_t back[] = {1, 2};
        s = withSwitched(std::move(s), 0, back, true);
        QVERIFY(!s.priors[0].overrides.contains("b"));
        QCOMPARE(s.priors[0].overrides.size(), 1u);  // η is still said
    }

    void aTokenIsPutInOnce() {
        compute::Prior p = prior("p", {{5, 0.3}});
        p = withToken(p, Side::Demote, 5, {});
        QVERIFY(p.delta.empty());
        QCOMPARE(p.demote.size(), 1u);
        p = withToken(p, Side::Promote, 5, {});
        QVERIFY(p.demote.empty());
        QCOMPARE(p.promote.at(0).id, 5);
        p = withText(p, Side::Demote, " cat");
        const std::size_t first[] = {0};
        p = withoutEntries(p, first);
        QVERIFY(p.promote.empty());
        QCOMPARE(p.demote.at(0).text, std::string(" cat"));
    }

    /// A text that became the token is what the prior said of it too: beside it the token would do neither.
    void aTokenTakesThePlaceOfItsText() {
        const ByteTokenizer tokenizer(300);
        const compute::IdSpace ids{&tokenizer, 300, false};
        compute::Prior p = prior("p", {});
        p.promote = {{"a", kNoToken}, {"b", kNoToken}};
        const compute::TokenId a = resolve(p, ids).entries.at(0).token;
        QVERIFY(a != kNoToken);
        p = withToken(p, Side::Demote, a, resolve(p, ids));
        QCOMPARE(p.promote.size(), 1u);
        QCOMPARE(p.promote.at(0).text, std::string("b"));
        const compute::Factor now = resolve(p, ids);
        QVERIFY(now.problems.empty());
        QCOMPARE(now.delta.at(static_cast<std::size_t>(std::ranges::find(now.tokens, a) - now.tokens.begin())), -1.0);
    }

    /// A copy says what its original says, the session's word for it with it, and is saved under its own name.
    void aCopyIsACopy() {
        const std::size_t both[] = {0, 1};
        compute::Prior broken = prior("broken", {});
        broken.unusable = true;
        broken.written = {{"name", "broken"}, {"quality", 2}};
        Session s = withSwitches(withEta(sessionOf({prior("a", {{1, 1}}), broken}), 0, 0, 1.5), 0, {false, true});
        s = withDuplicates(std::move(s), 0, both);
        QCOMPARE(names(s), QString("a broken a 2 broken 2"));
        const compute::PriorOverride said = overrideOf(s.priors[0], "a 2");
        QVERIFY(said.eta == 1.5 && said.enabled == false);
        QVERIFY(at(s, 3).written["name"] == "broken 2" && at(s, 1).written["name"] == "broken");
        compute::Bank bank = *s.priors[0].content;
        std::vector<std::string> warnings;
        const compute::Bank again = compute::bankFromJson(compute::toJson(bank), "again", warnings);
        QCOMPARE(again.priors.at(3)->name, std::string("broken 2"));
        QVERIFY(again.priors.at(3)->problems.size() == 1);  // that of its quality, and none of a name that stands twice
    }

    void derivedAgain() {
        const std::size_t two[] = {0, 2};
        compute::Prior own = prior("c", {{9, 1}});
        own.eta = 4;
        Session s = sessionOf({prior("a", {{1, 1}}), prior("b", {{2, 1}}), own});
        for (std::size_t i = 0; i < 3; ++i) s = withEta(std::move(s), 0, i, 1.5);
        s = withDerivedEta(std::move(s), 0, two);
        QVERIFY(!overrideOf(s.priors[0], "a").eta && !overrideOf(s.priors[0], "c").eta && !at(s, 2).eta);
        QCOMPARE(overrideOf(s.priors[0], "b").eta.value_or(0), 1.5);
    }

    /// Opposite priors of one weight leave nothing: both stay.
    void whatCancelsIsNotMerged() {
        const std::size_t two[] = {0, 1};
        const Session s = sessionOf({prior("a", {{1, 1}, {2, -1}}), prior("b", {{1, -1}, {2, 1}})});
        QVERIFY(refusal([&] { withMerged(s, 0, two, {}); }).contains("nothing would be left"));
    }

    /// η = log 3, Δ = 2 and τ = 0.5: 4 log 3 where the token is in the support, 0 where it is not.
    void featuresAreMadeAndChanged() {
        const Session before = abc();
        const compute::Feature quotation{"quotation", "\"", "'"};
        Session s = withFeature(before, 0, quotation);
        s = withFeature(s, 0, {"list", "^- ", "$"});
        s = withFeature(s, 0, {"quotation", "<", ">"});
        const std::vector<compute::Feature> wanted{{"quotation", "<", ">"}, {"list", "^- ", "$"}};
        QCOMPARE(s.priors[0].content->features, wanted);
        QVERIFY(before.priors[0].content->features.empty());
        QCOMPARE(s.priors[0].content->priors, before.priors[0].content->priors);
        const auto says = [&](const Session& on, const compute::Feature& feature, const char* words) {
            const QString why = refusal([&] { (void)withFeature(on, 0, feature); });
            QVERIFY2(why.contains(QString::fromUtf8(words)), qPrintable(why));
        };
        says(s, {"", "a", "b"}, "a feature needs a name");
        says(s, {"x", "a", ""}, "a pattern that opens and one that closes it");
        says(s, {"x", "a", "("}, "feature 'x', \"close\"");
        // What the file has under that name could not be read; it is kept, and is not to stand there twice.
        std::vector<std::string> warnings;
        Session kept = before;
        kept.priors[0].content = std::make_shared<const compute::Bank>(compute::bankFromJson(
            compute::OrderedJson::parse(
                R"({"format":"counterpoint.bank/1","features":{"half":{"open":"a"}},"priors":[]})"),
            "kept", warnings));
        says(kept, {"half", "a", "b"}, "choose another name");
        QCOMPARE(withFeature(kept, 0, quotation).priors[0].content->features, (std::vector{quotation}));
    }

    void theTallyCountsOncePerStep() {
        Session s = sessionOf({prior("a", {{1, 2}}), prior("b", {{7, 1}})});
        s.priors.push_back(sessionOf({prior("a", {{4, 1}})}).priors[0]);  // another "a"
        s.priors.back().bank = "other.bank.json";
        Trace trace;
        trace.id = 3;
        trace.session = s;
        trace.session.decoding.temperature = 0.5;
        trace.priors = priorSetOf(s, nullptr, 10);
        const auto step = [&](Position p, TokenId token, std::vector<compute::PriorName> matched) {
            auto made = std::make_shared<compute::Step>();
            made->position = p;
            made->token = token;
            made->matchedPriors = std::move(matched);
            trace.steps.push_back(std::move(made));
        };
        step(1, 1, {{0, "a"}});
        step(2, 4, {{0, "a"}, {0, "b"}, {1, "a"}});
        PriorTally tally;
        QVERIFY(tally.follow(&trace));
        QVERIFY(!tally.follow(&trace));
        step(3, 1, {});
        QVERIFY(!tally.wouldRecount(&trace));
        QVERIFY(tally.follow(&trace));
        QCOMPARE(tally.of(0, "a").hits, 2u);
        QCOMPARE(tally.of(1, "a").hits, 1u);  // each its own, whatever its name
        QCOMPARE(tally.of(0, "b").hits, 1u);
        QCOMPARE(tally.of(1, "b").hits + tally.of(2, "a").hits, 0u);
        QVERIFY(std::abs(tally.of(0, "a").effect() - 2 * std::log(3.0)) < 1e-12);
        QVERIFY(std::abs(tally.of(1, "a").effect() - 2 * std::log(3.0)) < 1e-12);
        QCOMPARE(tally.of(1, "a").tokens, (std::unordered_map<TokenId, std::size_t>{{4, 1}}));
        QVERIFY(std::isnan(tally.of(0, "none").effect()));
        QCOMPARE(tally.of(0, "a").tokens, (std::unordered_map<TokenId, std::size_t>{{1, 1}}));  // where it matched
        QVERIFY(tally.of(0, "b").tokens.empty() && tally.of(0, "none").tokens.empty());
        trace.steps[0] = std::make_shared<compute::Step>(*trace.steps[1]);
        QVERIFY(tally.wouldRecount(&trace));
        QVERIFY(tally.follow(&trace));
        QCOMPARE(tally.of(0, "b").hits, 2u);
        QVERIFY(tally.follow(nullptr));
        QCOMPARE(tally.of(0, "a").hits, 0u);
    }
};

QTEST_APPLESS_MAIN(TestBankEdit)
#include "tst_bankedit.moc"
