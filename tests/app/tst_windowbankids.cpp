// Ids that a person puts into a bank in the window: the bank states their tokenizer, and another tokenizer's bank takes
// none.
#include <QComboBox>

#include "tests/app/editor.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestWindowBankIds : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    /// A token that is put in is an id of the tokenizer in use: the bank states it then, in the same step of undo.
    void aBankStatesTheTokenizerOfTheIdsItGets() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        const auto stated = [&] { return o.document.session().priors[0].content->tokenizer; };
        o.click(1, PriorsTable::Name);
        o.action("priors.promote")->trigger();
        QCOMPARE(o.prior(1).promote.size(), 2u);
        QVERIFY(!stated());  // its id 99 is of some other one
        o.document.undo();
        const std::size_t certain[] = {3};
        o.document.setSession(model::withoutPriors(o.document.session(), 0, certain));
        o.settle();
        o.click(1, PriorsTable::Name);
        o.action("priors.demote")->trigger();
        QCOMPARE(stated(), std::optional<std::string>(FakeTokenizer(kVocabulary).fingerprint()));
        o.document.undo();
        QVERIFY(!stated() && o.prior(1).demote.empty());
        o.click(0, PriorsTable::Name);
        o.action("priors.duplicate")->trigger();
        o.click(0, PriorsTable::Kind);
        o.click(1, PriorsTable::Kind, Qt::ControlModifier);
        o.action("priors.merge")->trigger();  // it becomes ids too
        QCOMPARE(o.prior(0).merged.size(), std::size_t{2});
        QCOMPARE(stated(), std::optional<std::string>(FakeTokenizer(kVocabulary).fingerprint()));
    }

    void aBankOfAnotherTokenizerTakesNoIds() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        model::Session session = o.document.session();
        const std::size_t first[] = {0};
        session = model::withDuplicates(std::move(session), 0, first);
        compute::Bank foreign = *session.priors[0].content;
        foreign.tokenizer = "another";
        session.priors[0].content = std::make_shared<const compute::Bank>(foreign);
        o.document.setSession(session);
        o.settle();
        const auto refused = [&](const char* action) {
            const auto before = o.document.session().priors[0].content;
            o.forgetNotices();
            o.action(action)->trigger();
            return before == o.document.session().priors[0].content && o.document.notices().size() == 1 &&
                   o.document.notices().back().sentence.find("another tokenizer") != std::string::npos;
        };
        o.click(0, PriorsTable::Name);
        QVERIFY(refused("priors.promote"));
        QVERIFY(refused("priors.demote"));
        o.click(1, PriorsTable::Kind, Qt::ControlModifier);
        QVERIFY(refused("priors.merge"));
        o.click(2, PriorsTable::Name);  // a text is read anew and may go in; an id in its context may not
        auto* entry = o.find<widgets::PriorDetail>("priorDetail")->findChild<QLineEdit*>("prior.entry");
        QTest::keyClicks(entry, "d");
        QTest::keyClick(entry, Qt::Key_Return);
        QCOMPARE(o.prior(2).promote.size(), 2u);
        auto* policy = o.find<QComboBox>("prior.policy");
        policy->setFocus();
        QTest::keyClick(policy, Qt::Key_Home);  // exact id: its texts are no ids, so none is brought
        QVERIFY(o.prior(2).policy == compute::Policy::ExactId);
        o.forgetNotices();
        QTest::keyClicks(entry, "7");
        QTest::keyClick(entry, Qt::Key_Return);
        QCOMPARE(o.prior(2).promote.size(), 2u);
        QVERIFY(!o.document.notices().empty());
        QVERIFY(o.document.notices().back().sentence.find("another tokenizer") != std::string::npos);
    }
};

QTEST_MAIN(TestWindowBankIds)
#include "tst_windowbankids.moc"
