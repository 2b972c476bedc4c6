// The context of a prior in its detail: a kind that waits for what it asks for, and the bank's features.
#include <QComboBox>
#include <QLineEdit>

#include "tests/app/editor.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestWindowContext : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    /// A kind of context waits for what it asks for: half of it, saved, could not be read again.
    void aContextIsWholeOrNone() {
        const BankFolder folder;
        Editor o(folder);
        o.settle();
        o.click(0, PriorsTable::Name);  // always
        auto* detail = o.find<widgets::PriorDetail>("priorDetail");
        auto* kind = detail->findChild<QComboBox*>("prior.context");
        const auto choose = [&](const char* title) {
            kind->setCurrentIndex(kind->findText(QString::fromLatin1(title)));
            Q_EMIT kind->activated(kind->currentIndex());
            QCoreApplication::processEvents();
        };
        const auto again = [&] {
            std::vector<std::string> warnings;
            const compute::Bank bank =
                compute::bankFromJson(compute::toJson(*o.document.session().priors[0].content), "again", warnings);
            return !bank.priors.at(0)->unusable && bank.priors[0]->when == o.prior(0).when;
        };
        auto* pattern = detail->findChild<QLineEdit*>("prior.pattern");
        auto* ids = detail->findChild<QLineEdit*>("prior.ids");
        const auto type = [](QLineEdit* field, const char* text) {
            field->setFocus();
            field->selectAll();
            QTest::keyClicks(field, text);
            QTest::keyClick(field, Qt::Key_Return);
            QCoreApplication::processEvents();
        };
        choose("text matches");
        QVERIFY(!o.document.bankModified(0) && pattern->isVisible());
        o.document.setCursor(1);  // what is shown stays while other things happen
        QCoreApplication::processEvents();
        QCOMPARE(kind->currentText(), QString("text matches"));
        type(pattern, "x");
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Regex && again());
        pattern->selectAll();
        QTest::keyClick(pattern, Qt::Key_Delete);
        QTest::keyClick(pattern, Qt::Key_Return);
        QCOMPARE(pattern->text(), QString("x"));
        QVERIFY(o.prior(0).when.pattern == "x" && again());
        choose("ends with tokens");
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Regex && ids->isVisible());
        type(ids, "-5");
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Regex);
        type(ids, "5 6");
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Tokens && again());
        choose("inside feature");  // the bank has none: it waits for a name and two patterns
        auto* name = detail->findChild<QComboBox*>("prior.feature")->lineEdit();
        auto *open = detail->findChild<QLineEdit*>("prior.open"), *close = detail->findChild<QLineEdit*>("prior.close");
        const auto features = [&] { return o.document.session().priors[0].content->features; };
        QVERIFY(name->isVisible() && open->isVisible() && close->isVisible());
        const std::size_t told = o.document.notices().size();
        type(name, "quotation");
        type(open, "[");
        QCOMPARE(o.document.notices().size(), told);  // nothing is wrong yet: it waits
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Tokens && features().empty() && again());
        type(close, "b");
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Tokens && features().empty());  // "[" is no pattern
        QVERIFY2(o.document.notices().back().sentence.find("feature 'quotation', \"open\"") != std::string::npos,
                 o.document.notices().back().sentence.c_str());
        type(open, "a");
        QCOMPARE(features(), (std::vector<compute::Feature>{{"quotation", "a", "b"}}));
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Feature && o.prior(0).when.name == "quotation" &&
                again());
        type(name, "other");  // begins with the same patterns
        type(close, "c");
        QCOMPARE(features(), (std::vector<compute::Feature>{{"quotation", "a", "b"}, {"other", "a", "c"}}));
        QCOMPARE(o.prior(0).when.name, std::string("other"));
        type(name, "quotation");
        QCOMPARE(close->text(), QString("b"));
        QCOMPARE(features().size(), std::size_t(2));
        o.document.undo();
        QVERIFY(o.prior(0).when.name == "other" && close->text() == "c");
        choose("ends with tokens");
        QVERIFY(o.prior(0).when.kind == compute::ContextKind::Tokens);
        choose("text matches");  // it waits, and another prior is looked at
        pattern->clear();
        o.click(1, PriorsTable::Name);
        QCOMPARE(pattern->text(), QString("b$"));
    }

    /// A prior may name a feature that its bank does not have: it is made where the prior says so, pattern by pattern.
    void aFeatureThatIsNotThereIsMade() {
        const BankFolder folder;
        Editor o(folder);
        compute::Prior prior = o.prior(0);
        prior.when.kind = compute::ContextKind::Feature;
        prior.when.name = "gone";
        o.document.setSession(model::withPrior(o.document.session(), 0, 0, prior));
        o.settle();
        o.click(0, PriorsTable::Name);
        o.forgetNotices();
        auto* detail = o.find<widgets::PriorDetail>("priorDetail");
        for (const auto& [field, text] : {std::pair("prior.open", "a"), std::pair("prior.close", "b")}) {
            QVERIFY(o.document.session().priors[0].content->features.empty());
            auto* edit = detail->findChild<QLineEdit*>(field);
            edit->setFocus();
            QTest::keyClicks(edit, text);
            QTest::keyClick(edit, Qt::Key_Return);
            QCoreApplication::processEvents();
        }
        QCOMPARE(o.document.session().priors[0].content->features, (std::vector<compute::Feature>{{"gone", "a", "b"}}));
        QVERIFY(o.document.notices().empty());
    }
};

QTEST_MAIN(TestWindowContext)
#include "tst_windowcontext.moc"
