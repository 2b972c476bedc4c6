// The bank editor in the window: the table of a bank, editing in place with undo, what acts at once, what is written
// and when, and a bank of 10,000 priors.
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <cmath>
#include <ctime>

#include "tests/app/editor.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

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

    /// Names, kinds and tasks are whole where the dock has the room for it, and no wider than they are long.
    void columnsUseTheRoomThereIs() {
        const BankFolder folder;
        Editor o(folder);
        model::Session session = o.document.session();
        compute::Prior prior = o.prior(1);
        prior.name = std::string(70, 'n');
        prior.kind = "lexical preference of a long name";
        prior.task = "a task that takes several words";
        o.document.setSession(model::withPrior(std::move(session), 0, 1, std::move(prior)));
        o.settle();
        const auto width = [&](int column) { return o.view().horizontalHeader()->sectionSize(column); };
        const auto needed = [&](int column) { return o.view().fontMetrics().horizontalAdvance(o.cell(1, column)) + 8; };
        const auto texts = {PriorsTable::Name, PriorsTable::Kind, PriorsTable::Task};
        const int narrow = width(PriorsTable::Kind);
        QVERIFY(narrow < needed(PriorsTable::Kind));  // there is none in a small window
        o.window->resize(2560, 1440);
        WAIT_UNTIL(width(PriorsTable::Kind) > narrow);
        for (const int column : texts) QVERIFY2(width(column) >= needed(column), qPrintable(QString::number(column)));
        QVERIFY(o.view().horizontalHeader()->length() <= o.view().viewport()->width());
        o.document.undo();
        o.settle();
        for (const int column : texts) QVERIFY(width(column) < 250);
    }

    /// A prior that does not act as it is written has the colour that says so, selected or not.
    void aBrokenPriorIsSeenWhenItIsSelected() {
        const BankFolder folder;
        Editor o(folder);
        compute::Prior blocks = o.prior(3);  // its id 99 is outside of the vocabulary
        blocks.name = "\u2588\u2588\u2588\u2588\u2588\u2588";
        o.document.setSession(model::withPrior(o.document.session(), 0, 3, blocks));
        o.settle();
        const auto inked = [&](const QColor& colour) {
            const QRect cell = o.view().visualRect(o.table().index(3, PriorsTable::Name));
            const QImage image = o.view().viewport()->grab(cell).toImage();
            int pixels = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) pixels += image.pixelColor(x, y) == colour ? 1 : 0;
            return pixels;
        };
        const widgets::Theme& theme = widgets::currentTheme();
        o.click(0, PriorsTable::Kind);
        QVERIFY(inked(theme.warning) > 50 && inked(theme.selection) == 0);
        o.click(3, PriorsTable::Kind);
        QVERIFY2(inked(theme.warning) > 50, qPrintable(QString::number(inked(theme.warning))));
        QVERIFY(inked(theme.selection) > 50 && inked(theme.text) < 20);
    }

    /// What could not be read is not shown as what it would be if nothing were said.
    void aQualityThatIsNoneIsNotShown() {
        const BankFolder folder;
        std::string text = kBank;
        text.replace(text.find("0.8,"), 4, "1.5,");
        compute::writeFile(folder.file(), text);
        Editor o(folder);
        QCOMPARE(o.cell(1, PriorsTable::Name), QString("after b"));
        QVERIFY(o.prior(1).unusable);
        QCOMPARE(o.cell(1, PriorsTable::Quality), QString::fromUtf8("–"));
        QCOMPARE(o.cell(1, PriorsTable::Confidence), QString::fromUtf8("–"));
        QCOMPARE(o.cell(0, PriorsTable::Quality), QString("0.9000"));
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
        model::View view = o.document.view();
        view.prior = "doubtful";  // another is looked at: its row is found among the sorted ones
        o.document.setView(view);
        QCOMPARE(o.table().priorOf(o.view().currentIndex().row()), 2u);
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
        QVERIFY2(opening < 0.155, qPrintable(QString::number(opening)));
        QVERIFY2(sorting < 0.1, qPrintable(QString::number(sorting)));
        QVERIFY2(longest < 0.1, qPrintable(QString::number(longest)));
    }
};

QTEST_MAIN(TestWindowPriors)
#include "tst_windowpriors.moc"
