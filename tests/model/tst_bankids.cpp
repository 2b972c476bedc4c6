// Ids on their way into a bank: which bank states a tokenizer, which takes none of its ids, and what counts as one.
#include <QTest>

#include "compute/error.h"
#include "model/bankids.h"
#include "tests/support/banksession.h"
#include "tests/support/fakesource.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

compute::Prior onText(const char* text, compute::Policy policy) {
    compute::Prior p = prior("text", {});
    p.promote = {{.text = text, .id = kNoToken}};
    p.policy = policy;
    return p;
}

compute::Prior behind(std::vector<TokenId> ids) {
    compute::Prior p = prior("behind", {});
    p.when.kind = ContextKind::Tokens;
    p.when.ids = std::move(ids);
    return p;
}

}  // namespace

class TestBankIds : public QObject {
    Q_OBJECT
    const FakeTokenizer m_tokenizer{26};

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void everyIdCounts() {
        compute::Prior p = behind({9, 2});
        p.promote = {{"text", kNoToken}, {"", 5}, {"31", kNoToken}};
        p.demote = {{"", 7}};
        p.delta = {{5, 1.0}, {3, -1.0}};
        QCOMPARE(idsIn(p), (std::vector<TokenId>{2, 3, 5, 7, 9}));
        p.policy = Policy::ExactId;
        p.when.kind = ContextKind::Always;
        QCOMPARE(idsIn(p), (std::vector<TokenId>{3, 5, 7, 31}));
        compute::Prior more = p;
        more.quality = 0.9;
        more.promote.erase(more.promote.begin() + 1);  // 5 still stands in `delta`
        QVERIFY(!bringsIds(p, more));
        more.delta.clear();
        QVERIFY(!bringsIds(p, more) && bringsIds(more, p));
    }

    void whoStatesIt_data() {
        QTest::addColumn<bool>("states");
        QTest::addColumn<compute::Prior>("own");
        const auto row = [](const char* name, bool states, const compute::Prior& p) {
            QTest::newRow(name) << states << p;
        };
        row("ids of the vocabulary", true, prior("a", {{0, 1}, {25, -1}}));
        row("no ids", true, onText("31", Policy::SingleToken));
        row("an id beyond it", false, prior("a", {{0, 1}, {26, 1}}));
        row("an id in a list", false, [] {
            compute::Prior p = prior("a", {});
            p.demote = {{"", 26}};
            return p;
        }());
        row("an id of a context", false, behind({3, 26}));
        row("an id as a text", false, onText("26", Policy::ExactId));
        row("what could not be read", false, [] {
            compute::Prior p = prior("a", {});
            p.unusable = true;
            return p;
        }());
    }
    void whoStatesIt() {
        QFETCH(bool, states);
        QFETCH(compute::Prior, own);
        const Session before = sessionOf(bankOf({prior("first", {{1, 1}}), own}));
        const Session after = withIdsOf(before, 0, &m_tokenizer);
        QCOMPARE(after.priors[0].content->tokenizer.has_value(), states);
        if (states) QCOMPARE(*after.priors[0].content->tokenizer, m_tokenizer.fingerprint());
        QVERIFY(!before.priors[0].content->tokenizer);  // another value
        QVERIFY(after.priors[0].content->priors == before.priors[0].content->priors);
        QVERIFY(withIdsOf(before, 0, nullptr).priors[0].content == before.priors[0].content);
    }

    void anotherTokenizersBankIsRefused() {
        compute::Bank bank = bankOf({prior("a", {{1, 1}})});
        bank.tokenizer = m_tokenizer.fingerprint();
        const Session own = sessionOf(bank);
        QVERIFY(withIdsOf(own, 0, &m_tokenizer).priors[0].content == own.priors[0].content);
        const FakeTokenizer other(25);
        QCOMPARE(QString::fromStdString(errorOf([&] { (void)withIdsOf(own, 0, &other); })),
                 QString("bank 'b.bank.json': it was made for another tokenizer, where these ids are other tokens; "
                         "choose a bank of this tokenizer, or a new one."));
        QVERIFY(withIdsOf(own, 0, nullptr).priors[0].content == own.priors[0].content);  // nothing is known of the ids
        Session unread = own;
        unread.priors[0].content.reset();
        QVERIFY(errorOf([&] { (void)withIdsOf(unread, 0, &m_tokenizer); }).find("was not read") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestBankIds)
#include "tst_bankids.moc"
