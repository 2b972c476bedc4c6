// Parts of banks: which side an entry is of, some priors as a bank of their own, priors of another bank brought in.
#include <QTest>

#include "compute/error.h"
#include "model/bankparts.h"
#include "tests/support/banksession.h"
#include "tests/support/fakesource.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

compute::Prior inside(const std::string& name, const std::string& feature) {
    compute::Prior p = prior(name, {});
    p.promote = {{.text = "c", .id = kNoToken}};
    p.when.kind = ContextKind::Feature;
    p.when.name = feature;
    return p;
}

QString names(const compute::Bank& bank) {
    QStringList all;
    for (const auto& p : bank.priors) all << QString::fromStdString(p->name);
    return all.join('|');
}

compute::Bank stating(compute::Bank bank, std::optional<std::string> tokenizer) {
    bank.tokenizer = std::move(tokenizer);
    return bank;
}

}  // namespace

class TestBankParts : public QObject {
    Q_OBJECT
    const FakeTokenizer m_tokenizer{26};
    Import into(const compute::Bank& own, const compute::Bank& from) const {
        return withImported(sessionOf(own), 0, from, &m_tokenizer, "other.bank.json");
    }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void theDemotedSide() {
        compute::Prior p = prior("p", {{7, -1}, {8, 0}, {9, 2}, {6, -0.5}});
        p.promote = {{"x", kNoToken}};
        p.demote = {{"y", kNoToken}, {"", 3}};
        QCOMPARE(demotedEntries(p), (std::vector<std::size_t>{1, 2, 3, 6}));
        QVERIFY(hasBothSides(p));
        QVERIFY(hasBothSides(prior("p", {{1, 1}, {2, -1}})));
        QVERIFY(!hasBothSides(prior("p", {{1, 1}, {2, 1}})) && !hasBothSides(prior("p", {{1, -1}, {2, -1}})));
        QVERIFY(!hasBothSides(prior("p", {})));
        const compute::Prior whole = prior("w", {{1, 1}, {2, -1}, {3, 4}});
        const Session s = withSplit(sessionOf(bankOf({whole})), 0, 0, demotedEntries(whole));
        QCOMPARE(s.priors[0].content->priors[0]->delta, (Delta{{1, 1}, {3, 4}}));
        QCOMPARE(s.priors[0].content->priors[1]->delta, (Delta{{2, -1}}));
    }

    void somePriorsAreABank() {
        compute::Bank whole = stating(bankOf({prior("a", {{1, 1}}), inside("b", "quote"), prior("c", {{2, 1}})}), "f");
        whole.features = {{"list", "-", "\n"}, {"quote", "\"", "\""}};
        whole.stake = 2;
        const std::size_t two[] = {1, 2};
        const compute::Bank part = bankOfPriors(whole, two, "part");
        QCOMPARE(names(part), QString("b|c"));
        QVERIFY(part.priors[0] == whole.priors[1]);  // as they stand there
        QCOMPARE(part.name, std::string("part"));
        QCOMPARE(part.tokenizer, whole.tokenizer);
        QCOMPARE(part.stake, 2.0);
        QCOMPARE(part.features.size(), std::size_t{1});
        QCOMPARE(part.features[0].name, std::string("quote"));
    }

    /// Exported and imported it is the same, but for a name that is taken.
    void namesThatAreTakenGetANumber() {
        const compute::Bank own = bankOf({prior("a", {{1, 1}}), prior("b 2", {{2, 1}})});
        const Import import = into(own, bankOf({prior("a", {{3, 1}}), prior("b", {{4, 1}}), prior("b 2", {{5, 1}})}));
        const compute::Bank& bank = *import.session.priors[0].content;
        QCOMPARE(names(bank), QString("a|b 2|a 2|b|b 3"));
        QCOMPARE(import.first, std::size_t{2});
        QCOMPARE(import.count, std::size_t{3});
        QVERIFY(leftBehind(import).empty());
        QCOMPARE(bank.priors[2]->delta, (Delta{{3, 1}}));
        QVERIFY(bank.priors[0] == own.priors[0]);
        QCOMPARE(names(*into(own, bankOf({prior("x", {{1, 1}}), prior("x", {{2, 1}})})).session.priors[0].content),
                 QString("a|b 2|x|x 2"));  // twice in the bank it comes from
    }

    void featuresComeAlong() {
        compute::Bank own = bankOf({inside("a", "quote")}), from = bankOf({inside("b", "quote"), inside("c", "list")});
        own.features = {{"quote", "\"", "\""}};
        from.features = {{"quote", "“", "”"}, {"list", "-", "\n"}, {"unused", "x", "y"}};
        const auto featureOf = [](const compute::Bank& bank, std::size_t i) { return bank.priors.at(i)->when.name; };
        const Import import = into(own, from);
        const compute::Bank& bank = *import.session.priors[0].content;
        QCOMPARE(bank.features.size(), std::size_t{3});
        QVERIFY(bank.features[0] == own.features[0]);
        QVERIFY((bank.features[1] == compute::Feature{"quote 2", "“", "”"}) && bank.features[2] == from.features[1]);
        QCOMPARE(featureOf(bank, 0), std::string("quote"));
        QCOMPARE(featureOf(bank, 1), std::string("quote 2"));
        QCOMPARE(featureOf(bank, 2), std::string("list"));
        const Import again = withImported(import.session, 0, from, &m_tokenizer, "other.bank.json");
        QCOMPARE(again.session.priors[0].content->features.size(), std::size_t{3});  // it is there already
        QCOMPARE(featureOf(*again.session.priors[0].content, 3), std::string("quote 2"));
    }

    void idsComeWhereTheyMeanTheSame_data() {
        using Fingerprint = std::optional<std::string>;
        QTest::addColumn<Fingerprint>("own");
        QTest::addColumn<Fingerprint>("from");
        QTest::addColumn<int>("ownId");
        QTest::addColumn<int>("fromId");
        QTest::addColumn<bool>("come");
        QTest::addColumn<Fingerprint>("then");
        const Fingerprint none, used = m_tokenizer.fingerprint(), other = "other";
        const auto row = [](const char* name, const Fingerprint& a, const Fingerprint& b, int ownId, int fromId,
                            bool come, const Fingerprint& then) {
            QTest::newRow(name) << a << b << ownId << fromId << come << then;
        };
        row("neither says", none, none, 1, 99, true, none);
        row("of one", other, other, 1, 99, true, other);
        row("of two", used, other, 1, 2, false, used);
        row("the one in use, which it may be of", used, none, 1, 2, true, used);
        row("the one in use, which it is not of", used, none, 1, 99, false, used);
        row("nobody knows of which", other, none, 1, 2, false, other);
        row("into one that may be of it", none, used, 1, 2, true, used);
        row("into one that is not of it", none, used, 99, 2, false, none);
        row("into one that nobody knows of", none, other, 1, 2, false, none);
        row("into one without ids", none, other, -1, 99, true, other);
    }
    void idsComeWhereTheyMeanTheSame() {
        using Fingerprint = std::optional<std::string>;
        QFETCH(Fingerprint, own);
        QFETCH(Fingerprint, from);
        QFETCH(int, ownId);
        QFETCH(int, fromId);
        QFETCH(bool, come);
        QFETCH(Fingerprint, then);
        const auto first = ownId < 0 ? inside("own", "none") : prior("own", {{ownId, 1}});
        const compute::Bank mine = stating(bankOf({first}), own);
        const compute::Bank both = stating(bankOf({prior("ids", {{fromId, 1}}), inside("text", "none")}), from);
        const Import import = into(mine, both);
        QCOMPARE(names(*import.session.priors[0].content), come ? QString("own|ids|text") : QString("own|text"));
        QCOMPARE(import.ofIds, come ? std::size_t{0} : std::size_t{1});
        QCOMPARE(leftBehind(import).empty(), come);
        QCOMPARE(import.session.priors[0].content->tokenizer, then);
        if (come) return;
        const std::string why = errorOf([&] {
            (void)into(mine, stating(bankOf({prior("ids", {{fromId, 1}})}), from));
        });
        QVERIFY2(why.starts_with("other.bank.json: its ids belong to another tokenizer"), why.c_str());
    }

    void whatCannotComeIsTold() {
        compute::Prior broken = prior("broken", {});
        broken.unusable = true;
        const compute::Bank own = bankOf({prior("a", {{1, 1}})});
        const Import import = into(own, bankOf({broken, prior("b", {{2, 1}})}));
        QCOMPARE(names(*import.session.priors[0].content), QString("a|b"));
        QCOMPARE(import.unusable, std::size_t{1});
        QVERIFY(leftBehind(import).find("could not be read: 1 prior") != std::string::npos);
        QVERIFY(errorOf([&] { (void)into(own, bankOf({broken})); }).find("could be read") != std::string::npos);
        QVERIFY(errorOf([&] { (void)into(own, bankOf({})); }).find("it has no priors") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestBankParts)
#include "tst_bankparts.moc"
