// What of a session's banks acts (R8): weights, switches, contexts, foreign ids; and what an edit takes over.
#include <cmath>
#include <functional>

#include "compute/priors/priorset.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

Prior priorOf(std::string name, double quality = 0.9) {
    Prior p;
    p.name = std::move(name);
    p.quality = quality;
    p.promote = {{{}, 3}};
    p.demote = {{{}, 4}};
    return p;
}
Prior after(Prior p, std::vector<TokenId> ids) {
    p.when.kind = ContextKind::Tokens;
    p.when.ids = std::move(ids);
    return p;
}

std::shared_ptr<const Bank> bankOf(std::vector<Prior> priors) {
    Bank bank;
    bank.name = "b";
    for (Prior& p : priors) bank.priors.push_back(std::make_shared<const Prior>(std::move(p)));
    return std::make_shared<const Bank>(std::move(bank));
}

constexpr IdSpace kIds{nullptr, 100, false};

std::shared_ptr<const PriorSet> setOf(std::vector<BankUse> uses, const std::string& fingerprint = "f",
                                      const PriorSet* before = nullptr) {
    return PriorSet::build(uses, kIds, fingerprint, before);
}

std::vector<std::string> namesAt(const PriorSet& set, const std::vector<TokenId>& ids) {
    ContextText text;
    for (const TokenId id : ids) text.push(id, "x");
    std::vector<std::size_t> members;
    set.matching(text, text.length(), members);
    std::vector<std::string> names;
    for (const std::size_t i : members) names.push_back(set.members()[i].prior->name);
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

class TestPriorSet : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// η · the bank's weight, by quality, the prior's own η or the session's.
    void weights() {
        Prior own = priorOf("own");
        own.eta = 7;
        const auto set =
            setOf({{bankOf({priorOf("q"), own, priorOf("override")}), true, 0.5, {{"override", {.eta = -2.0}}}}});
        const double nine = std::log(9);
        QVERIFY(std::abs(set->members()[0].weight - 0.5 * nine) < 1e-12);
        QCOMPARE(set->members()[1].weight, 3.5);
        QCOMPARE(set->members()[2].weight, -1.0);
        ContextText text;
        text.push(1, "x");
        std::vector<std::size_t> members;
        std::vector<PriorTerm> terms;
        set->matching(text, 1, members);
        set->terms(members, terms);
        QCOMPARE(terms.size(), 3u);
        QCOMPARE(terms[0].name, std::string_view("q"));
        QVERIFY(std::abs(terms[0].eta - 0.5 * nine) < 1e-12);
        QCOMPARE(std::vector<TokenId>(terms[0].tokens.begin(), terms[0].tokens.end()), (std::vector<TokenId>{3, 4}));
        QCOMPARE(std::vector<double>(terms[0].delta.begin(), terms[0].delta.end()), (std::vector<double>{1, -1}));
    }

    void whatActs_data() {
        QTest::addColumn<std::function<void(Prior&, BankUse&)>>("change");
        QTest::addColumn<bool>("acts");
        const auto row = [](const char* name, std::function<void(Prior&, BankUse&)> change, bool acts) {
            QTest::newRow(name) << change << acts;
        };
        row(
            "as it is", [](Prior&, BankUse&) {}, true);
        row(
            "the bank is off", [](Prior&, BankUse& u) { u.enabled = false; }, false);
        row(
            "the bank's weight is 0", [](Prior&, BankUse& u) { u.weight = 0; }, false);
        row(
            "the prior is off", [](Prior& p, BankUse&) { p.enabled = false; }, false);
        row(
            "the session switches it off", [](Prior&, BankUse& u) { u.overrides["p"].enabled = false; }, false);
        row(
            "the session switches it on",
            [](Prior& p, BankUse& u) {
                p.enabled = false;
                u.overrides["p"].enabled = true;
            },
            true);
        row(
            "an override of another prior", [](Prior&, BankUse& u) { u.overrides["q"].enabled = false; }, true);
        row(
            "its context asks for an id that no text has",
            [](Prior& p, BankUse&) {
                p.when.kind = ContextKind::Tokens;
                p.when.ids = {1, 100};
            },
            false);
        row(
            "q = 0.5", [](Prior& p, BankUse&) { p.quality = 0.5; }, false);
        row(
            "q < 0.5", [](Prior& p, BankUse&) { p.quality = 0.3; }, false);
        row(
            "q < 0.5 and an override",
            [](Prior& p, BankUse& u) {
                p.quality = 0.3;
                u.overrides["p"].eta = 1;
            },
            true);
        row(
            "an override of 0", [](Prior&, BankUse& u) { u.overrides["p"].eta = 0; }, false);
        row(
            "unusable", [](Prior& p, BankUse&) { p.unusable = true; }, false);
        row(
            "no support", [](Prior& p, BankUse&) { p.promote.clear(), p.demote.clear(); }, false);
        row(
            "a pattern that cannot be read",
            [](Prior& p, BankUse&) {
                p.when.kind = ContextKind::Regex;
                p.when.pattern = "(";
            },
            false);
    }
    void whatActs() {
        QFETCH(std::function<void(Prior&, BankUse&)>, change);
        QFETCH(bool, acts);
        Prior prior = priorOf("p");
        BankUse use;
        change(prior, use);
        use.bank = bankOf({prior});
        const auto set = setOf({use});
        QCOMPARE(set->members()[0].acts, acts);
        QCOMPARE(set->empty(), !acts);
        QCOMPARE(namesAt(*set, {1}), acts ? Names{"p"} : Names{});
    }

    /// In rack order, whatever order the contexts came in; a rack entry without content has none.
    void order() {
        const auto set = setOf({{bankOf({after(priorOf("a"), {5}), priorOf("b"), after(priorOf("c"), {5})})},
                                {nullptr},
                                {bankOf({after(priorOf("d"), {6}), priorOf("e"), after(priorOf("f"), {4, 5})})}});
        QCOMPARE(namesAt(*set, {4, 5}), (Names{"a", "b", "c", "e", "f"}));
        QCOMPARE(namesAt(*set, {6}), (Names{"b", "d", "e"}));
        QCOMPARE(namesAt(*set, {}), (Names{"b", "e"}));
        QCOMPARE(set->contexts().size(), 4u);
        QCOMPARE(set->members()[3].bank, 2u);
        QCOMPARE(set->members()[4].index, 1u);
    }

    void byName() {
        const auto set = setOf({{bankOf({priorOf("a"), priorOf("b")})}, {nullptr}, {bankOf({priorOf("b")})}});
        QCOMPARE(set->named("b"), (std::vector<const PriorSet::Member*>{&set->members()[1], &set->members()[2]}));
        QCOMPARE(set->named("a"), (std::vector<const PriorSet::Member*>{&set->members()[0]}));
        QVERIFY(set->named("c").empty() && PriorSet().named("a").empty());
    }

    /// A bank made for another tokenizer: its ids mean other tokens.
    void foreignIds() {
        Bank bank = *bankOf({priorOf("p")});
        bank.tokenizer = "other";
        const auto foreign = std::make_shared<const Bank>(bank);
        QVERIFY(setOf({{foreign}})->empty());
        QVERIFY(!setOf({{foreign}})->members()[0].factor->problems.empty());
        QVERIFY(!setOf({{foreign}}, "other")->empty());
        QVERIFY(!setOf({{foreign}}, "")->empty());  // nobody knows
    }

    /// What did not change is taken over, what did is not.
    void anEdit() {
        const auto bank = bankOf({priorOf("a"), priorOf("b")});
        const auto first = setOf({{bank}});
        const auto moved = setOf({{bank, true, 1, {{"b", {.eta = 2.0}}}}}, "f", first.get());
        QCOMPARE(&moved->contexts(), &first->contexts());
        QCOMPARE(moved->members()[1].factor, first->members()[1].factor);
        QCOMPARE(moved->members()[1].weight, 2.0);
        QCOMPARE(moved->members()[0].weight, first->members()[0].weight);
        const auto off = setOf({{bank, true, 1, {{"a", {.enabled = false}}}}}, "f", moved.get());
        QCOMPARE(namesAt(*off, {1}), Names{"b"});
        QCOMPARE(off->members()[1].weight, first->members()[1].weight);
        QCOMPARE(namesAt(*setOf({{bank}}, "f", off.get()), {1}), (Names{"a", "b"}));
        QVERIFY(setOf({{bank, false}}, "f", first.get())->empty());
        QCOMPARE(setOf({{bank, true, 3}}, "f", first.get())->members()[0].weight, 3 * first->members()[0].weight);
        Bank edited = *bank;
        Prior changed = *edited.priors[1];
        changed.promote = {{{}, 9}};
        edited.priors[1] = std::make_shared<const Prior>(changed);
        const auto after = setOf({{std::make_shared<const Bank>(edited)}}, "f", moved.get());
        QCOMPARE(after->members()[0].factor, first->members()[0].factor);
        QCOMPARE(after->members()[1].factor->tokens, (std::vector<TokenId>{4, 9}));
        const auto other = setOf({{bank}}, "g", first.get());
        QVERIFY(other->members()[0].factor != first->members()[0].factor);
    }

    /// The bound of a context is told of the priors that would have waited for it.
    void bounded() {
        Prior endless = priorOf("endless");
        endless.when.kind = ContextKind::Regex;
        endless.when.pattern = "(x+)+$";
        const auto set = setOf({{bankOf({priorOf("a"), endless})}});
        ContextText text;
        for (int i = 0; i < 60; ++i) text.push(1, "x");
        text.push(1, "y");
        std::vector<std::size_t> matching, over;
        set->matching(text, text.length(), matching, &over);
        QCOMPARE(matching, (std::vector<std::size_t>{0}));
        QCOMPARE(over, (std::vector<std::size_t>{1}));
    }
};

QTEST_GUILESS_MAIN(TestPriorSet)
#include "tst_priorset.moc"
