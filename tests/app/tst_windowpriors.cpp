// The bank editor in the window: the table of a bank, editing in place with undo, what acts at once, what is written
// and when, the prior in detail, tokens put into it, and a bank of 10,000 priors.
#include <QCheckBox>
#include <QComboBox>
#include <QDropEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QLineEdit>
#include <QMimeData>
#include <QTableView>
#include <cmath>
#include <ctime>

#include "compute/files/atomicfile.h"
#include "tests/app/opened.h"
#include "widgets/distributionview.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"
#include "widgets/tokenmime.h"
#include "widgets/tokenstrip.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using widgets::PriorsTable;

namespace {

namespace fs = std::filesystem;

/// 'a' is id 0.
constexpr const char* kBank = R"({"format":"counterpoint.bank/1","name":"letters","tokenizer":null,"priors":[
 {"name":"vowels","kind":"letters","task":"all","quality":0.9,"promote":[0,4,8],"demote":[25],"when":{"kind":"always"}},
 {"name":"after b","kind":"pair","task":"some","quality":0.8,"confidence":0.5,"promote":["c"],"policy":"single token",
  "when":{"kind":"regex","pattern":"b$"},"source":"by hand"},
 {"name":"doubtful","kind":"letters","quality":0.3,"promote":[12],"when":{"kind":"always"}},
 {"name":"certain","kind":"pair","quality":0.999,"promote":[13,99],"when":{"kind":"regex","pattern":"never"}}]})";

class BankFolder {
  public:
    BankFolder() { compute::writeFile(file(), kBank); }
    fs::path file() const { return fs::path(m_dir.path().toStdString()) / "letters.bank.json"; }
    QByteArray bytes() const {
        QFile f(QString::fromStdString(file().string()));
        return f.open(QIODevice::ReadOnly) ? f.readAll() : QByteArray();
    }
    model::Session session() const {
        model::Session s = tests::session();
        model::BankEntry entry;
        entry.bank = file().string();
        s.priors.push_back(entry);
        return s;
    }

  private:
    QTemporaryDir m_dir;
};

/// A window in the Priors perspective with the bank read.
struct Editor : Opened {
    explicit Editor(const BankFolder& folder) : Opened(folder.session(), "Priors") {
        WAIT_UNTIL(document.ready() && document.session().priors.at(0).content);
        QCoreApplication::processEvents();
        document.beginHere();
    }
    QTableView& view() { return *find<QTableView>("priors.table"); }
    PriorsTable& table() { return static_cast<PriorsTable&>(*view().model()); }
    QString cell(int row, int column) { return table().index(row, column).data().toString(); }
    QStringList column(int column) {
        QStringList all;
        for (int row = 0; row < table().rowCount(); ++row) all << cell(row, column);
        return all;
    }
    void click(int row, int column, Qt::KeyboardModifiers keys = {}) {
        QTest::mouseClick(view().viewport(), Qt::LeftButton, keys,
                          view().visualRect(table().index(row, column)).center());
    }
    /// As a person edits a cell: double click, type, Enter.
    void type(int row, int column, const QString& text) {
        const QPoint at = view().visualRect(table().index(row, column)).center();
        QTest::mouseClick(view().viewport(), Qt::LeftButton, {}, at);
        QTest::mouseDClick(view().viewport(), Qt::LeftButton, {}, at);
        auto* editor = view().viewport()->findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        editor->selectAll();
        QTest::keyClicks(editor, text);
        QTest::keyClick(editor, Qt::Key_Return);
        WAIT_UNTIL(view().viewport()->findChild<QLineEdit*>() == nullptr);
    }
    QAction* action(const char* id) { return window->actions().action(id); }
    const compute::Prior& prior(std::size_t i) { return *document.session().priors[0].content->priors.at(i); }
    compute::PriorOverride said(const char* name) { return model::overrideOf(document.session().priors[0], name); }
    void settle() {
        WAIT_UNTIL(!document.busy());
        QCoreApplication::processEvents();
    }
};

double threadSeconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

class TestWindowPriors : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void theTableShowsTheBank() {
        const BankFolder folder;
        Editor o(folder);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"vowels", "after b", "doubtful", "certain"}));
        QCOMPARE(o.column(PriorsTable::EtaColumn), (QStringList{"2.1972", "1.3863", "off", "≤ 4.5951"}));
        QCOMPARE(o.column(PriorsTable::Effective), (QStringList{"2.1972", "0.6931", "–", "4.5951"}));
        QCOMPARE(o.column(PriorsTable::Support), (QStringList{"4", "1", "1", "1"}));
        QCOMPARE(o.column(PriorsTable::Hits), (QStringList{"0", "0", "0", "0"}));
        QVERIFY(o.table().index(3, PriorsTable::Name).data(Qt::ToolTipRole).toString().contains("id 99"));
        o.decode();
        o.settle();
        const std::size_t steps = o.document.trace()->steps.size();
        QCOMPARE(o.cell(0, PriorsTable::Hits), QString::number(steps));
        std::size_t afterB = 0;
        double moved = 0;
        for (const model::StepPtr& step : o.document.trace()->steps) {
            afterB += o.document.trace()->tokens[static_cast<std::size_t>(step->position) - 1] == 1 ? 1 : 0;
            const bool in = step->token == 0 || step->token == 4 || step->token == 8 || step->token == 25;
            moved += in ? std::log(9.0) / o.document.session().decoding.temperature : 0;
        }
        QCOMPARE(o.cell(1, PriorsTable::Hits), QString::number(afterB));
        QCOMPARE(o.cell(0, PriorsTable::Effect), widgets::formatCell(moved / static_cast<double>(steps)));
    }

    void aSessionWithoutABankSaysSo() {
        Opened o(session(), "Priors");
        WAIT_UNTIL(o.document.ready());
        auto* why = o.find<QLabel>("priors.empty");
        QVERIFY(why->isVisible() && why->text().contains("no bank"));
        QVERIFY(!o.find<QTableView>("priors.table")->isVisible());
        auto* open = why->parentWidget()->findChild<QToolButton*>("button.priors.open");
        QTest::mouseClick(open, Qt::LeftButton);
        QVERIFY(o.window->fileDialog().isVisible());
        o.window->fileDialog().reject();
        const BankFolder folder;
        o.document.addBank(folder.file());
        WAIT_UNTIL(o.find<QTableView>("priors.table")->isVisible());
        QVERIFY(!why->isVisible());
    }

    void anEtaIsAWhatIfOfTheSession() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        const double before = o.document.trace()->steps.back()->logProb;
        o.type(0, PriorsTable::EtaColumn, "3,5");  // a comma is a decimal mark too
        QCOMPARE(o.said("vowels").eta.value_or(0), 3.5);
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("3.5000"));
        QVERIFY(o.table().index(0, PriorsTable::EtaColumn).data(Qt::FontRole).value<QFont>().bold());
        QVERIFY(!o.document.bankModified(0));
        o.settle();
        QVERIFY(o.document.trace()->steps.back()->logProb != before);  // it acts on the stored trace
        o.type(0, PriorsTable::EtaColumn, "much");
        QVERIFY(o.document.notices().back().sentence.find("'much' is not a number") != std::string::npos);
        QCOMPARE(o.said("vowels").eta.value_or(0), 3.5);
        o.document.undo();
        QVERIFY(!o.said("vowels").eta);
        QVERIFY(!o.document.canUndo());
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("2.1972"));
        o.document.redo();
        o.click(0, PriorsTable::Name);
        o.action("priors.resetEta")->trigger();
        QVERIFY(!o.said("vowels").eta);
        QCOMPARE(folder.bytes(), QByteArray(kBank));
    }

    void theRestEditsTheBankAndNothingIsWrittenUntilItIsSaved() {
        const BankFolder folder;
        Editor o(folder);
        o.type(0, PriorsTable::Quality, "0.75");
        QCOMPARE(o.prior(0).quality, 0.75);
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("1.0986"));
        o.type(1, PriorsTable::Name, "behind b");
        QCOMPARE(o.prior(1).name, std::string("behind b"));
        QCOMPARE(o.document.view().prior, std::string("behind b"));
        o.type(1, PriorsTable::Name, "vowels");  // another's
        QCOMPARE(o.prior(1).name, std::string("behind b"));
        QVERIFY(o.document.notices().back().sentence.find("name") != std::string::npos);
        QVERIFY(o.document.bankModified(0) && o.document.modified());
        QVERIFY(o.find<QComboBox>("banks")->currentText().contains("●"));
        QCOMPARE(folder.bytes(), QByteArray(kBank));
        o.document.undo();
        o.document.undo();
        QVERIFY(!o.document.bankModified(0) && !o.document.canUndo());
        QVERIFY(!o.find<QComboBox>("banks")->currentText().contains("●"));
        o.document.redo();
        o.action("priors.save")->trigger();
        QVERIFY(folder.bytes() != QByteArray(kBank));
        QVERIFY(!o.document.bankModified(0));
        std::vector<std::string> warnings;
        QCOMPARE(compute::readBank(folder.file(), warnings).priors.at(0)->quality, 0.75);
    }

    void rowsAreFoundAndSorted() {
        const BankFolder folder;
        Editor o(folder);
        auto* search = o.find<QLineEdit>("priors.search");
        o.action("priors.find")->trigger();
        QTest::keyClicks(search, "PAIR b");
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"after b"}));
        QCOMPARE(o.find<QLabel>("priors.count")->text(), QString("1 of 4"));
        QTest::keyClicks(search, "xyz");
        QVERIFY(o.find<QLabel>("priors.none")->isVisible());
        QTest::keyClick(search, Qt::Key_Escape);
        QCOMPARE(o.table().rowCount(), 4);
        auto* heads = o.view().horizontalHeader();
        const auto clickHead = [&](int column) {
            QTest::mouseClick(heads->viewport(), Qt::LeftButton, {},
                              QPoint(heads->sectionViewportPosition(column) + 8, heads->height() / 2));
        };
        o.click(1, PriorsTable::Name);
        clickHead(PriorsTable::Quality);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"doubtful", "after b", "vowels", "certain"}));
        clickHead(PriorsTable::Quality);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"certain", "vowels", "after b", "doubtful"}));
        QCOMPARE(o.table().priorOf(o.view().currentIndex().row()), 1u);  // the same prior is still the current one
        QVERIFY(!o.action("priors.up")->isEnabled());  // there is no place to move to among sorted rows
        clickHead(PriorsTable::Quality);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"vowels", "after b", "doubtful", "certain"}));
        QVERIFY(o.action("priors.up")->isEnabled());
        o.decode();
        o.settle();
        QTest::mouseClick(o.find<QToolButton>("priors.matched"), Qt::LeftButton);
        for (const QString& hits : o.column(PriorsTable::Hits)) QVERIFY(hits != "0");
        QVERIFY(o.table().rowCount() > 0 && o.table().rowCount() < 4);
    }

    void switchesMuteAndSolo() {
        const BankFolder folder;
        Editor o(folder);
        const auto acting = [&] {
            QStringList names;
            for (const auto& m : o.document.priors()->members())
                if (m.acts) names << QString::fromStdString(m.prior->name);
            return names.join(' ');
        };
        QCOMPARE(acting(), QString("vowels after b certain"));
        o.click(0, PriorsTable::Kind);
        QTest::keyClick(&o.view(), Qt::Key_Space);
        QCOMPARE(acting(), QString("after b certain"));
        QCOMPARE(o.table().index(0, 0).data(Qt::CheckStateRole).toInt(), static_cast<int>(Qt::Unchecked));
        QTest::keyClick(&o.view(), Qt::Key_Space);
        QVERIFY(o.document.session().priors[0].overrides.empty());
        o.click(1, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(), QString("after b"));
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(), QString("vowels after b certain"));
        auto* bank = o.find<QCheckBox>("bank.0");
        QTest::mouseClick(bank, Qt::LeftButton, {}, QPoint(8, bank->height() / 2));
        QCOMPARE(acting(), QString());
        QVERIFY(!o.find<QCheckBox>("bank.switch")->isChecked());
    }

    void rowsAreCopiedMovedMergedSplitAndTakenOut() {
        const BankFolder folder;
        Editor o(folder);
        o.click(0, PriorsTable::Name);
        o.action("priors.duplicate")->trigger();
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"vowels", "vowels 2", "after b", "doubtful", "certain"}));
        QCOMPARE(o.table().priorOf(o.view().currentIndex().row()), 1u);
        QTest::keyClick(&o.view(), Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(o.column(PriorsTable::Name).mid(0, 3), (QStringList{"vowels", "after b", "vowels 2"}));
        o.action("priors.split")->trigger();
        QCOMPARE(o.column(PriorsTable::Name).mid(2, 2), (QStringList{"vowels 2", "vowels 3"}));
        QCOMPARE(o.prior(3).demote.size(), 1u);
        QVERIFY(o.prior(2).demote.empty());
        o.action("priors.merge")->trigger();  // the two parts are still selected
        QCOMPARE(o.table().rowCount(), 5);
        QCOMPARE(o.prior(2).merged, (std::vector<std::string>{"vowels 2", "vowels 3"}));
        QTest::keyClick(&o.view(), Qt::Key_Delete);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"vowels", "after b", "doubtful", "certain"}));
        for (int i = 0; i < 5; ++i) o.document.undo();
        QVERIFY(!o.document.bankModified(0));
        QCOMPARE(folder.bytes(), QByteArray(kBank));
    }

    void theDetailTellsAndEditsOnePrior() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        o.click(3, PriorsTable::Name);
        auto* detail = o.find<widgets::PriorDetail>("priorDetail");
        QVERIFY(detail->isVisible());
        const auto says = [&](const char* label) { return detail->findChild<QLabel*>(label)->text(); };
        QCOMPARE(says("prior.name").remove(QChar(0x200B)), QString("certain"));
        QVERIFY2(says("prior.problem").remove(QChar(0x200B)).contains("id 99"), qPrintable(says("prior.problem")));
        QVERIFY2(says("prior.etaText").contains("capped"), qPrintable(says("prior.etaText")));
        o.click(1, PriorsTable::Name);
        QVERIFY(!detail->findChild<QLabel*>("prior.problem")->isVisible());
        auto* entries = detail->findChild<QTableWidget*>("prior.entries");
        QCOMPARE(entries->rowCount(), 1);
        QCOMPARE(entries->item(0, 1)->text(), QString("c"));
        QCOMPARE(entries->item(0, 2)->text(), QString("0.5000"));
        QVERIFY(says("prior.source").remove(QChar(0x200B)).contains("by hand"));

        auto* entry = detail->findChild<QLineEdit*>("prior.entry");
        QTest::keyClicks(entry, "d");
        QTest::keyClick(entry, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(o.prior(1).demote.at(0).text, std::string("d"));
        QCOMPARE(entries->rowCount(), 2);
        detail->ensureWidgetVisible(entries);
        QTest::mouseClick(entries->viewport(), Qt::LeftButton, {},
                          entries->visualItemRect(entries->item(0, 0)).center());
        QCOMPARE(entries->selectionModel()->selectedRows().size(), 1);
        QTest::keyClick(entries, Qt::Key_Delete);
        QVERIFY(o.prior(1).promote.empty());
        auto* pattern = detail->findChild<QLineEdit*>("prior.pattern");
        QVERIFY(pattern->isVisible());
        pattern->selectAll();
        QTest::keyClicks(pattern, "(");
        QTest::keyClick(pattern, Qt::Key_Return);
        QCOMPARE(o.prior(1).when.pattern, std::string("("));
        QVERIFY2(!says("prior.problem").isEmpty() && detail->findChild<QLabel*>("prior.problem")->isVisible(),
                 qPrintable(says("prior.problem")));
        for (int i = 0; i < 3; ++i) o.document.undo();
        QVERIFY(!o.document.bankModified(0));
        QCOMPARE(pattern->text(), QString("b$"));
    }

    /// What the pane says of the cursor is what two compositions give, and the plot's note says it too.
    void driftIsShownWithAndWithoutIt() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        o.click(0, PriorsTable::Name);
        o.document.setCursor(8);
        QCoreApplication::processEvents();
        const model::Trace& trace = *o.document.trace();
        const auto* member = model::shownPrior(trace, o.document.view());
        QVERIFY(member != nullptr);
        const compute::TokenId token = trace.tokens.at(8);
        const model::WithAndWithout at = model::withAndWithout(trace, *member, 8, token);
        QVERIFY(at.matches && at.with != at.without);
        QVERIFY(std::abs(at.with - trace.at(8)->diagnostics.drift) < 1e-6);
        const QString said = o.find<QLabel>("prior.cursor")->text().remove(QChar(0x200B));
        QVERIFY2(said.contains(widgets::formatNumber(at.without)) && said.contains(widgets::formatNumber(at.with)),
                 qPrintable(said));
        // The same session without the prior composes that drift.
        model::Session without = o.document.session();
        without = model::withSwitched(std::move(without), 0, std::array{std::size_t{0}}, false);
        o.document.setSession(without);
        o.settle();
        QVERIFY(std::abs(o.document.trace()->at(8)->diagnostics.drift - at.without) < 1e-6);
        o.document.undo();
        o.settle();
        const model::PlotData plot = o.document.plot("prior_effect");
        QVERIFY(plot.empty.empty());
        QCOMPARE(plot.series.at(0).x.size(), trace.steps.size());
        for (std::size_t i = 0; i < trace.steps.size(); ++i)
            QCOMPARE(plot.series[0].y[i],
                     model::addedTo(trace, *model::shownPrior(trace, o.document.view()), trace.steps[i]->token));
        QVERIFY2(plot.note.find("without") != std::string::npos, plot.note.c_str());
    }

    void matchesAreMarkedInTheStrip() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        auto* strip = o.find<widgets::TokenStrip>("tokenStrip");
        QVERIFY(!strip->isMarked(3));
        o.click(1, PriorsTable::Name);  // after b
        const auto& tokens = o.document.trace()->tokens;
        int marked = 0, first = -1;
        for (std::size_t i = 1; i < tokens.size(); ++i) {
            QCOMPARE(strip->isMarked(static_cast<int>(i)), tokens[i - 1] == 1);
            marked += tokens[i - 1] == 1 ? 1 : 0;
            if (first < 0 && tokens[i - 1] == 1) first = static_cast<int>(i);
        }
        QVERIFY(marked > 0);  // the prompt has a b
        o.document.setCursor(first);
        QCOMPARE(strip->because(), std::pair(first - 1, first));  // the b before it
        QVERIFY(strip->hoverText(first).contains("after b"));
        o.document.setCursor(first + 1);
        QCOMPARE(strip->because().first, strip->because().second);
    }

    void aSliderDragIsOneStepOfUndo() {
        const BankFolder folder;
        Editor o(folder);
        o.click(0, PriorsTable::Name);
        auto* slider =
            o.find<widgets::PriorDetail>("priorDetail")->findChild<widgets::ValueSlider*>("prior.eta")->slider();
        slider->setSliderDown(true);
        for (int tick = 220; tick < 260; ++tick) slider->setSliderPosition(tick);
        slider->setSliderDown(false);
        QCOMPARE(o.said("vowels").eta.value_or(0), 2.59);
        o.document.undo();
        QVERIFY(!o.said("vowels").eta && !o.document.canUndo());
    }

    void aTokenIsPutIntoAPrior() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        auto* distribution = o.find<widgets::DistributionView>("distribution");
        const compute::TokenId token = o.document.trace()->at(o.document.view().cursor)->top.at(0).token;
        const auto drop = [&](int row, Qt::DropAction action) {
            std::unique_ptr<QMimeData> data(distribution->mimeOf(0));
            QCOMPARE(widgets::tokenOf(data.get()), std::optional(token));
            const QPoint at = o.view().visualRect(o.table().index(row, 1)).center();
            QDragEnterEvent enter(at, Qt::CopyAction | Qt::MoveAction, data.get(), Qt::LeftButton, {});
            QCoreApplication::sendEvent(o.view().viewport(), &enter);
            QDragMoveEvent move(at, Qt::CopyAction | Qt::MoveAction, data.get(), Qt::LeftButton, {});
            move.setDropAction(action);
            QCoreApplication::sendEvent(o.view().viewport(), &move);
            QDropEvent event(at, Qt::CopyAction | Qt::MoveAction, data.get(), Qt::LeftButton,
                             action == Qt::MoveAction ? Qt::ShiftModifier : Qt::NoModifier);
            event.setDropAction(action);
            QCoreApplication::sendEvent(o.view().viewport(), &event);
        };
        drop(2, Qt::CopyAction);
        QCOMPARE(o.prior(2).promote.back().id, token);
        drop(2, Qt::MoveAction);
        QCOMPARE(o.prior(2).demote.back().id, token);
        QVERIFY(o.prior(2).promote.empty() || o.prior(2).promote.back().id != token);
        o.document.undo();
        o.document.undo();
        o.click(1, PriorsTable::Name);
        o.action("priors.promote")->trigger();
        const compute::TokenId shown = model::shownToken(*o.document.trace(), o.document.view());
        QCOMPARE(o.prior(1).promote.back().id, shown);
        o.document.undo();
        QVERIFY(!o.document.bankModified(0));
    }

    /// The window's thread: its own CPU time, whatever else the machine does.
    void tenThousandPriorsAreQuick() {
        constexpr int kPriors = 10'000;
        compute::Bank bank;
        for (int i = 0; i < kPriors; ++i) {
            compute::Prior prior;
            prior.name = "prior " + std::to_string(i);
            prior.kind = i % 2 == 0 ? "even" : "odd";
            prior.quality = 0.6 + 0.3 * i / kPriors;
            for (int k = 0; k < 10; ++k) prior.promote.push_back({.text = {}, .id = (i + k) % 26});
            if (i % 200 != 0) {
                prior.when.kind = compute::ContextKind::Regex;
                prior.when.pattern = "never" + std::to_string(i % 50);
            }
            bank.priors.push_back(std::make_shared<const compute::Prior>(std::move(prior)));
        }
        QTemporaryDir folder;
        const fs::path file = fs::path(folder.path().toStdString()) / "large.bank.json";
        compute::writeBank(bank, file);
        model::Session s = session();
        model::BankEntry entry;
        entry.bank = file.string();
        s.priors.push_back(entry);
        Opened o(s, "Compose");
        WAIT_UNTIL(o.document.ready() && o.document.session().priors.at(0).content);
        o.decode();
        QCoreApplication::processEvents();
        double from = threadSeconds();
        o.window->showPerspective("Priors");
        QCoreApplication::processEvents();
        const double opening = threadSeconds() - from;
        auto* view = o.find<QTableView>("priors.table");
        QVERIFY(view->isVisible());
        QCOMPARE(view->model()->rowCount(), kPriors);
        QCOMPARE(view->model()->index(0, PriorsTable::Hits).data().toString(),
                 QString::number(o.document.trace()->steps.size()));
        from = threadSeconds();
        view->sortByColumn(PriorsTable::Quality, Qt::DescendingOrder);
        view->grab();
        const double sorting = threadSeconds() - from;
        view->setCurrentIndex(view->model()->index(3, 0));
        QCoreApplication::processEvents();
        auto* slider =
            o.find<widgets::PriorDetail>("priorDetail")->findChild<widgets::ValueSlider*>("prior.eta")->slider();
        slider->setSliderDown(true);
        double longest = 0;
        for (int tick = 100; tick < 130; ++tick) {
            from = threadSeconds();
            slider->setSliderPosition(tick);
            QCoreApplication::processEvents();
            longest = std::max(longest, threadSeconds() - from);
        }
        slider->setSliderDown(false);
        qInfo("10,000 priors: opened in %.1f ms, sorted in %.1f ms, the longest of 30 ticks of a slider %.1f ms",
              1e3 * opening, 1e3 * sorting, 1e3 * longest);
        QVERIFY2(opening < 0.3, qPrintable(QString::number(opening)));
        QVERIFY2(sorting < 0.1, qPrintable(QString::number(sorting)));
        QVERIFY2(longest < 0.1, qPrintable(QString::number(longest)));
    }
};

QTEST_MAIN(TestWindowPriors)
#include "tst_windowpriors.moc"
