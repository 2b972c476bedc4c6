// Parts of a bank in the window: selected entries and signs split off, selected priors written as a bank of their own,
// priors of another bank's file brought in; each one step of undo, from the one registry.
#include <QFileDialog>
#include <QMenu>
#include <QTableWidget>

#include "tests/app/editor.h"
#include "tests/app/exporting.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

/// An editor whose first prior has explicit Δ of both signs.
struct Signed : Editor {
    explicit Signed(const BankFolder& folder) : Editor(folder) {
        compute::Prior prior = this->prior(0);
        prior.promote.clear();
        prior.demote.clear();
        prior.delta = {{0, 1.0}, {4, -0.5}, {8, 2.0}, {25, -1.5}};
        document.setSession(model::withPrior(document.session(), 0, 0, prior));
        document.beginHere();
        settle();
        click(0, PriorsTable::Name);
    }
};

}  // namespace

class TestWindowBankParts : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    /// "Everything that can be done": all of the menu Priors but what is about the window and the rack.
    void thePanelsMenuHasThemAll() {
        const BankFolder folder;
        Editor o(folder);
        auto* more = o.find<QToolButton>("priors.more");
        QVERIFY(!more->accessibleName().isEmpty());
        for (const char* id :
             {"priors.merge", "priors.split", "priors.splitEntries", "priors.import", "priors.export"}) {
            QAction* action = o.action(id);
            QVERIFY2(more->menu()->actions().contains(action), id);
            QVERIFY2(!action->text().isEmpty() && !action->toolTip().isEmpty(), id);
        }
    }

    void explicitDeltasSplitBySign() {
        const BankFolder folder;
        Signed o(folder);
        QVERIFY(o.action("priors.split")->isEnabled());
        o.action("priors.split")->trigger();
        QCOMPARE(o.prior(0).delta, (std::vector<std::pair<compute::TokenId, double>>{{0, 1.0}, {8, 2.0}}));
        QCOMPARE(o.prior(1).delta, (std::vector<std::pair<compute::TokenId, double>>{{4, -0.5}, {25, -1.5}}));
        QCOMPARE(o.cell(1, PriorsTable::Name), QString("vowels 2"));
        o.click(0, PriorsTable::Name);
        QVERIFY(!o.action("priors.split")->isEnabled());  // one sign is left
        o.document.undo();
        QVERIFY(!o.document.canUndo());
        QCOMPARE(o.prior(0).delta.size(), std::size_t{4});
    }

    void selectedEntriesSplit() {
        const BankFolder folder;
        Signed o(folder);
        auto* entries = o.find<QTableWidget>("prior.entries");
        QAction* split = o.action("priors.splitEntries");
        QVERIFY(!split->isEnabled());
        const auto pick = [&](int row, Qt::KeyboardModifiers keys) {
            o.find<widgets::PriorDetail>("priorDetail")->ensureWidgetVisible(entries);
            QTest::mouseClick(entries->viewport(), Qt::LeftButton, keys,
                              entries->visualItemRect(entries->item(row, 0)).center());
        };
        pick(0, {});
        QVERIFY(split->isEnabled());
        pick(3, Qt::ControlModifier);
        split->trigger();
        QCOMPARE(o.prior(0).delta, (std::vector<std::pair<compute::TokenId, double>>{{4, -0.5}, {8, 2.0}}));
        QCOMPARE(o.prior(1).delta, (std::vector<std::pair<compute::TokenId, double>>{{0, 1.0}, {25, -1.5}}));
        QVERIFY(!split->isEnabled());  // what was selected is gone from there
        o.document.undo();
        QVERIFY(!o.document.canUndo());
        o.click(0, PriorsTable::Name);
        pick(1, {});
        QVERIFY(split->isEnabled());
        o.click(1, PriorsTable::Name);  // of another prior nothing is selected
        QVERIFY(!split->isEnabled());
        o.click(0, PriorsTable::Name);
        pick(0, {});
        pick(3, Qt::ShiftModifier);
        QVERIFY(!split->isEnabled());  // all of them leave nothing behind
    }

    void selectedPriorsAreExported_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("written");
        QTest::newRow("JSON") << "part"
                              << "part.bank.json";
        QTest::newRow("tensors") << "part.bank.safetensors"
                                 << "part.bank.safetensors";
    }
    void selectedPriorsAreExported() {
        QFETCH(QString, typed);
        QFETCH(QString, written);
        const BankFolder folder;
        Editor o(folder);
        o.view().clearSelection();
        QVERIFY(!o.action("priors.export")->isEnabled());
        o.click(0, PriorsTable::Kind);
        o.click(1, PriorsTable::Kind, Qt::ControlModifier);
        const model::Session before = o.document.session();
        o.action("priors.export")->trigger();
        answer(o.window->fileDialog(), o.folder.filePath(typed));
        WAIT_UNTIL2(newestNotice(o.document).contains("Exported 2 priors"), qPrintable(newestNotice(o.document)));
        QVERIFY(o.document.session() == before && !o.document.canUndo());
        std::vector<std::string> warnings;
        const compute::Bank part = compute::readBank(o.folder.filePath(written).toStdString(), warnings);
        QVERIFY2(warnings.empty(), qPrintable(joined(warnings)));
        QCOMPARE(part.name, std::string("part"));
        QCOMPARE(part.priors.size(), std::size_t{2});
        QVERIFY(*part.priors[0] == o.prior(0) && *part.priors[1] == o.prior(1));
        QCOMPARE(folder.bytes(), QByteArray(kBank));
        o.action("priors.export")->trigger();  // the rack's own file is not written over
        WAIT_UNTIL(o.window->fileDialog().isVisible());
        Q_EMIT o.window->fileDialog().fileSelected(QString::fromStdString(folder.file().string()));
        o.window->fileDialog().reject();
        QVERIFY2(newestNotice(o.document).contains("a bank of the rack"), qPrintable(newestNotice(o.document)));
        QCOMPARE(folder.bytes(), QByteArray(kBank));
    }

    void priorsAreImported() {
        const BankFolder folder;
        Editor o(folder);
        const QString file = o.folder.filePath("more.bank.json");
        compute::writeFile(file.toStdString(), R"({"format":"counterpoint.bank/1","name":"more","priors":[
 {"name":"vowels","quality":0.8,"promote":["a"],"when":{"kind":"always"}},
 {"name":"new one","quality":0.6,"promote":[3],"when":{"kind":"always"}}]})");
        o.action("priors.import")->trigger();
        answer(o.window->fileDialog(), file);
        WAIT_UNTIL2(newestNotice(o.document).contains("Imported 2 priors"), qPrintable(newestNotice(o.document)));
        QCOMPARE(o.column(PriorsTable::Name),
                 (QStringList{"vowels", "after b", "doubtful", "certain", "vowels 2", "new one"}));
        QCOMPARE(o.prior(4).quality, 0.8);
        QCOMPARE(o.view().selectionModel()->selectedRows().size(), 2);
        QVERIFY(o.document.bankModified(0));
        o.document.undo();
        QVERIFY(!o.document.bankModified(0) && !o.document.canUndo());
        QCOMPARE(o.table().rowCount(), 4);
        QCOMPARE(folder.bytes(), QByteArray(kBank));
    }

    void anotherTokenizersIdsStayBehind() {
        const BankFolder folder;
        Editor o(folder);
        const QString file = o.folder.filePath("foreign.bank.json");
        const auto import = [&](const char* priors) {
            compute::writeFile(
                file.toStdString(),
                std::string(R"({"format":"counterpoint.bank/1","tokenizer":"another","priors":[)") + priors + "]}");
            o.action("priors.import")->trigger();
            answer(o.window->fileDialog(), file);
        };
        import(R"({"name":"ids","promote":[3]})");
        WAIT_UNTIL2(newestNotice(o.document).contains("another tokenizer"), qPrintable(newestNotice(o.document)));
        QVERIFY(newestNotice(o.document).startsWith(file) && !o.document.canUndo());
        import(R"({"name":"ids","promote":[3]},{"name":"text","promote":["d"]})");
        WAIT_UNTIL2(newestNotice(o.document).contains("left behind"), qPrintable(newestNotice(o.document)));
        QCOMPARE(o.table().rowCount(), 5);
        QCOMPARE(o.prior(4).name, std::string("text"));
        o.document.undo();
        QVERIFY(!o.document.canUndo());
        compute::writeFile(file.toStdString(), "no bank");
        o.action("priors.import")->trigger();
        answer(o.window->fileDialog(), file);
        WAIT_UNTIL(newestNotice(o.document).contains("foreign.bank.json") && !o.document.canUndo());
        QVERIFY(!newestNotice(o.document).contains("left behind"));
    }
};

QTEST_MAIN(TestWindowBankParts)
#include "tst_windowbankparts.moc"
