// One prior in the window: its detail, what it does at the cursor and in the strip, its slider, tokens put into it.
#include <QComboBox>
#include <QDropEvent>
#include <QMessageBox>
#include <QMimeData>
#include <cmath>

#include "tests/app/editor.h"
#include "widgets/distributionview.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"
#include "widgets/tokenmime.h"
#include "widgets/tokenstrip.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestWindowPrior : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void aNameIsOneLineThatTurnsNothingRound() {
        const BankFolder folder;
        Editor o(folder);
        o.settle();
        o.click(1, PriorsTable::Name);
        auto* detail = o.find<widgets::PriorDetail>("priorDetail");
        model::Session session = o.document.session();
        auto bank = std::make_shared<compute::Bank>(*session.priors[0].content);
        auto prior = std::make_shared<compute::Prior>(*bank->priors[1]);
        prior->name = "on\ne\u202Etwo";
        prior->source = "by\u2066 hand";
        bank->priors[1] = prior;
        session.priors[0].content = bank;
        o.document.setSession(session);
        o.settle();
        o.click(1, PriorsTable::Name);
        const auto says = [&](const char* label) {
            return detail->findChild<QLabel*>(label)->text().remove(QChar(0x200B));
        };
        QCOMPARE(says("prior.name"), QString("on e\\u202etwo"));
        QCOMPARE(says("prior.source"), QString("Source: by\\u2066 hand"));
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
        o.click(0, PriorsTable::Name);  // it matches everywhere
        std::map<compute::TokenId, int> stands;
        for (const model::StepPtr& step : o.document.trace()->steps) ++stands[step->token];
        const std::vector<compute::TokenId> tokens{0, 4, 8, 25};
        QCOMPARE(entries->rowCount(), 4);
        for (int row = 0; row < 4; ++row)
            QCOMPARE(entries->item(row, 3)->text(), QString::number(stands[tokens[static_cast<std::size_t>(row)]]));
        QVERIFY(stands[0] + stands[4] + stands[8] + stands[25] > 0);
        o.click(1, PriorsTable::Name);

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

    /// What is refused does not stay in its field: there stands what holds, and the sentence says why.
    void whatIsRefusedDoesNotStay() {
        const BankFolder folder;
        Editor o(folder);
        o.settle();
        auto* detail = o.find<widgets::PriorDetail>("priorDetail");
        const auto type = [&](QLineEdit* field, const char* text) {
            field->setFocus();
            field->selectAll();
            QTest::keyClicks(field, text);
            QTest::keyClick(field, Qt::Key_Return);
        };
        const auto said = [&] { return QString::fromStdString(o.document.notices().back().sentence); };
        model::Session session = o.document.session();
        compute::Prior prior = o.prior(1);
        prior.when.kind = compute::ContextKind::Tokens;
        prior.when.ids = {1, 2};
        o.document.setSession(model::withPrior(session, 0, 1, prior));
        o.settle();
        o.click(1, PriorsTable::Name);
        auto* ids = detail->findChild<QLineEdit*>("prior.ids");
        type(ids, "1 two");
        QCOMPARE(ids->text(), QString("1 2"));
        QVERIFY2(said().contains("'two' is not a token's id"), qPrintable(said()));
        // One that could not be read is not edited at all.
        session = o.document.session();
        auto bank = std::make_shared<compute::Bank>(*session.priors[0].content);
        prior.when.kind = compute::ContextKind::Regex;
        prior.unusable = true;
        bank->priors[1] = std::make_shared<const compute::Prior>(prior);
        session.priors[0].content = bank;
        o.document.setSession(session);
        o.settle();
        o.click(1, PriorsTable::Name);
        auto* pattern = detail->findChild<QLineEdit*>("prior.pattern");
        type(pattern, "x$");
        QCOMPARE(pattern->text(), QString("b$"));
        QVERIFY2(said().contains("could not be read"), qPrintable(said()));
        auto* quality = detail->findChild<widgets::ValueSlider*>("prior.quality")->field();
        type(quality, "0.25");
        QCOMPARE(quality->value(), 0.8);
        QCOMPARE(quality->text(), QString("0.80"));
        QVERIFY2(said().contains("could not be read"), qPrintable(said()));
        auto* policy = detail->findChild<QComboBox*>("prior.policy");
        const int before = policy->currentIndex();
        policy->setFocus();
        QTest::keyClick(policy, Qt::Key_End);
        QCOMPARE(policy->currentIndex(), before);
    }

    /// On every position, yet without a token: that is no matter of matching.
    void aPriorWithoutTokensSaysSo() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        o.click(0, PriorsTable::Name);
        auto* said = o.find<QLabel>("prior.cursor");
        QVERIFY2(said->text().remove(QChar(0x200B)).contains("adds"), qPrintable(said->text()));
        compute::Prior bare = o.prior(0);
        bare.promote = {{.text = {}, .id = 99}};
        bare.demote.clear();
        o.document.setSession(model::withPrior(o.document.session(), 0, 0, bare));
        o.settle();
        WAIT_UNTIL(said->text().remove(QChar(0x200B)) == "It does not act: it has no tokens that act.");
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

    /// Looking into it, in the detail and in the table, changes nothing.
    void anEtaIsShownShortAndKeptWhole() {
        const BankFolder folder;
        Editor o(folder);
        o.click(1, PriorsTable::Name);
        const QString whole = widgets::NumberField::textOf(o.document.priors()->members()[1].eta.eta);
        QVERIFY2(whole.startsWith("1.38629436"), qPrintable(whole));
        auto* field =
            o.find<widgets::PriorDetail>("priorDetail")->findChild<widgets::ValueSlider*>("prior.eta")->field();
        QCOMPARE(field->text(), QString("1.386"));
        QCOMPARE(field->toolTip(), whole);
        o.window->activateWindow();
        field->setFocus();
        WAIT_UNTIL(field->text() == whole);
        QTest::keyClick(field, Qt::Key_Return);
        field->clearFocus();
        QCOMPARE(field->text(), QString("1.386"));
        QVERIFY(!o.said("after b").eta && !o.document.canUndo());
        o.view().edit(o.table().index(1, PriorsTable::EtaColumn));
        auto* editor = o.view().viewport()->findChild<QLineEdit*>();
        QCOMPARE(editor->text(), whole);
        QTest::keyClick(editor, Qt::Key_Return);
        QVERIFY(!o.said("after b").eta && !o.document.canUndo());
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, "0.00041");
        QTest::keyClick(field, Qt::Key_Return);
        field->clearFocus();
        QCOMPARE(o.said("after b").eta.value_or(0), 0.00041);
        QCOMPARE(field->text(), widgets::formatNumber(0.00041));  // never "0.000"
        QCOMPARE(field->toolTip(), QString("0.00041"));
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

    /// A session that was saved does not hold what was done to its banks: closing asks, and Save writes both.
    void closingAsksForABankThatIsNotSaved() {
        const BankFolder folder;
        Editor o(folder);
        const std::string session = (folder.file().parent_path() / "kept.session.json").string();
        o.type(0, PriorsTable::Quality, "0.75");
        o.document.save(session);
        QVERIFY(o.document.bankModified(0) && o.document.modified());
        QCOMPARE(o.document.modifiedBanks(), std::vector<std::size_t>{0});
        for (const auto answer : {QMessageBox::Cancel, QMessageBox::Save}) {
            o.window->close();
            auto* box = o.find<QMessageBox>("unsavedQuestion");
            QVERIFY(box != nullptr && box->isVisible() && o.window->isVisible());
            QVERIFY(box->text().contains("banks"));
            QCOMPARE(folder.bytes(), QByteArray(kBank));
            QTest::mouseClick(box->button(answer), Qt::LeftButton);
            WAIT_UNTIL(o.find<QMessageBox>("unsavedQuestion") == nullptr);
        }
        QVERIFY(!o.window->isVisible() && !o.document.modified());
        QVERIFY(folder.bytes() != QByteArray(kBank) && folder.bytes().contains("0.75"));
    }
};

QTEST_MAIN(TestWindowPrior)
#include "tst_windowprior.moc"
