// Banks in the window: a token on its way from the distribution onto a prior, a bank saved as another file in either
// format, several banks of one rack, what solo and undo give back.
#include <QComboBox>
#include <QDrag>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QSet>
#include <QWindow>
#include <algorithm>
#include <cmath>

#include "compute/priors/bank.h"
#include "tests/app/editor.h"
#include "tests/app/exporting.h"
#include "widgets/distributionview.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"
#include "widgets/tokenmime.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

/// A mouse event with its buttons, which QTest::mouseMove has not.
void mouse(QWidget& target, QEvent::Type type, const QPoint& at, Qt::MouseButton button, Qt::MouseButtons buttons) {
    QMouseEvent event(type, at, target.mapToGlobal(at), button, buttons, Qt::NoModifier);
    QCoreApplication::sendEvent(&target, &event);
}

/// As QGuiApplication tells a window of a drag that comes in and is dropped: the window finds the widget below, and the
/// keys choose the action.
enum class Drop { Refused, NotTaken, Taken };
Drop dropOn(QWidget& target, const QPoint& at, const QMimeData& data, Qt::DropAction action) {
    QWidget& window = *target.window();
    const QPoint there = target.mapTo(&window, at);
    const Qt::KeyboardModifiers keys = action == Qt::MoveAction ? Qt::ShiftModifier : Qt::NoModifier;
    const Qt::DropActions possible = Qt::CopyAction | Qt::MoveAction;
    QDragEnterEvent enter(there, possible, &data, Qt::LeftButton, keys);
    QCoreApplication::sendEvent(window.windowHandle(), &enter);
    QDragMoveEvent move(there, possible, &data, Qt::LeftButton, keys);
    if (enter.isAccepted()) {
        move.setDropAction(enter.dropAction());
        move.accept();
    }
    QCoreApplication::sendEvent(window.windowHandle(), &move);
    if (!move.isAccepted()) {
        QDragLeaveEvent leave;
        QCoreApplication::sendEvent(window.windowHandle(), &leave);
        return Drop::Refused;
    }
    QDropEvent drop(there, possible, &data, Qt::LeftButton, keys);
    QCoreApplication::sendEvent(window.windowHandle(), &drop);
    return drop.isAccepted() ? Drop::Taken : Drop::NotTaken;
}

/// Whose q, c, c·η, support, hits and effect each stand in another order.
constexpr const char* kOrders = R"({"format":"counterpoint.bank/1","name":"orders","priors":[
 {"name":"one","task":"First","quality":0.6,"confidence":0.9,"promote":[0,1,2,3],"delta_plus":3},
 {"name":"Two","source":"Elsewhere","quality":0.9,"confidence":0.2,"promote":[4,5],"delta_plus":0.01},
 {"name":"three","kind":"Third","quality":0.8,"confidence":0.6,"promote":[0,4,8,12,16,20,24],
  "when":{"kind":"regex","pattern":"[a-m]$"}},
 {"name":"Four","quality":0.7,"confidence":0.4,"promote":[22,23,25],"when":{"kind":"regex","pattern":"never"}}]})";

/// A second bank at the end of the rack, shown.
void addSecond(Editor& o, const char* text) {
    const fs::path file = o.folder.filePath("second.bank.json").toStdString();
    compute::writeFile(file, text);
    o.document.addBank(file);
    WAIT_UNTIL(o.document.session().priors.back().content != nullptr);
    QCoreApplication::processEvents();
    o.document.beginHere();
    auto* banks = o.find<QComboBox>("banks");
    QVERIFY(banks->count() == static_cast<int>(o.document.session().priors.size()));
    banks->setCurrentIndex(banks->count() - 1);
    Q_EMIT banks->activated(banks->count() - 1);
    QCoreApplication::processEvents();
}

QStringList acting(const Editor& o) {
    QStringList names;
    for (const auto& m : o.document.priors()->members())
        if (m.acts) names << QString::fromStdString(m.prior->name);
    return names;
}

compute::Bank readAgain(const fs::path& file) {
    std::vector<std::string> warnings;
    return compute::readBank(file, warnings);
}

}  // namespace

class TestWindowBanks : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    /// The row that was pressed is what travels, once the hand has moved far enough with the left button.
    void aTokenIsDraggedOutOfTheDistribution() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        auto& distribution = *o.find<widgets::DistributionView>("distribution");
        QTableWidget& rows = distribution.table();
        QVERIFY(rows.isVisible() && rows.rowCount() > 2);
        std::vector<std::optional<compute::TokenId>> carried;
        QString label;
        distribution.carryOut = [&](QDrag& drag) {
            carried.push_back(widgets::tokenOf(drag.mimeData()));
            label = drag.mimeData()->text();
            drag.deleteLater();
        };
        QWidget& hand = *rows.viewport();
        const int far = QApplication::startDragDistance();
        const QPoint from = rows.visualItemRect(rows.item(1, 0)).center(), below(from.x(), hand.height() - 1);
        mouse(hand, QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
        mouse(hand, QEvent::MouseMove, from + QPoint(far - 1, 0), Qt::NoButton, Qt::LeftButton);
        QVERIFY(carried.empty());
        const QPoint beyond = rows.visualItemRect(rows.item(0, 0)).center() + QPoint(far, 0);  // over another row
        mouse(hand, QEvent::MouseMove, beyond, Qt::NoButton, Qt::LeftButton);
        const model::Trace& trace = *o.document.trace();
        const auto shown = model::shownTokens(*trace.at(o.document.view().cursor), o.document.view());
        QCOMPARE(carried, (std::vector<std::optional<compute::TokenId>>{shown.at(1).token}));
        QCOMPARE(label, rows.item(1, 0)->text());
        mouse(hand, QEvent::MouseButtonRelease, beyond, Qt::LeftButton, Qt::NoButton);
        mouse(hand, QEvent::MouseMove, from + QPoint(5 * far, 0), Qt::NoButton, Qt::NoButton);  // nothing is held
        mouse(hand, QEvent::MouseButtonPress, from, Qt::RightButton, Qt::RightButton);
        mouse(hand, QEvent::MouseMove, from + QPoint(5 * far, 0), Qt::NoButton, Qt::RightButton);
        mouse(hand, QEvent::MouseButtonRelease, from, Qt::RightButton, Qt::NoButton);
        if (rows.rowAt(below.y()) < 0) {  // where there is no row
            mouse(hand, QEvent::MouseButtonPress, below, Qt::LeftButton, Qt::LeftButton);
            mouse(hand, QEvent::MouseMove, below - QPoint(0, 5 * far), Qt::NoButton, Qt::LeftButton);
            mouse(hand, QEvent::MouseButtonRelease, below, Qt::LeftButton, Qt::NoButton);
        }
        QCOMPARE(carried.size(), std::size_t{1});
    }

    void aTokenIsDroppedOntoAPrior_data() {
        QTest::addColumn<bool>("onTable");
        QTest::addColumn<int>("action");
        QTest::newRow("onto a row, copied") << true << static_cast<int>(Qt::CopyAction);
        QTest::newRow("onto a row, moved") << true << static_cast<int>(Qt::MoveAction);
        QTest::newRow("onto the detail, copied") << false << static_cast<int>(Qt::CopyAction);
        QTest::newRow("onto the detail, moved") << false << static_cast<int>(Qt::MoveAction);
    }
    void aTokenIsDroppedOntoAPrior() {
        QFETCH(bool, onTable);
        QFETCH(int, action);
        const BankFolder folder;
        Editor o(folder);
        o.click(onTable ? 1 : 2, PriorsTable::Name);
        auto& detail = *o.find<widgets::PriorDetail>("priorDetail");
        QVERIFY(detail.isVisible());
        const QPoint row = o.view().visualRect(o.table().index(2, PriorsTable::Task)).center();
        auto* name = detail.findChild<QLabel*>("prior.name");
        QWidget& target = onTable ? *o.view().viewport() : *static_cast<QWidget*>(name);
        const QPoint at = onTable ? row : name->rect().center();
        const std::unique_ptr<QMimeData> token(widgets::tokenMime(7, "h"));
        QMimeData words;
        words.setText("7");
        QVERIFY(dropOn(target, at, words, static_cast<Qt::DropAction>(action)) == Drop::Refused);
        QVERIFY(!o.document.bankModified(0) && !o.document.canUndo());

        QVERIFY(dropOn(target, at, *token, static_cast<Qt::DropAction>(action)) == Drop::Taken);
        const bool promoted = action == static_cast<int>(Qt::CopyAction);
        const std::vector<compute::PriorEntry> twelve{{.text = {}, .id = 12}}, seven{{.text = {}, .id = 7}},
            both{{.text = {}, .id = 12}, {.text = {}, .id = 7}};
        QCOMPARE(o.prior(2).promote, promoted ? both : twelve);
        QCOMPARE(o.prior(2).demote, promoted ? decltype(seven){} : seven);
        QVERIFY(o.document.bankModified(0));
        const Qt::DropAction other = promoted ? Qt::MoveAction : Qt::CopyAction;
        QVERIFY(dropOn(target, at, *token, other) == Drop::Taken);
        QCOMPARE(o.prior(2).promote, promoted ? twelve : both);
        QCOMPARE(o.prior(2).demote, promoted ? seven : decltype(seven){});
        o.document.undo();
        QCOMPARE(o.prior(2).promote, promoted ? both : twelve);
        o.document.undo();
        QVERIFY(!o.document.bankModified(0) && !o.document.canUndo());
        QCOMPARE(folder.bytes(), QByteArray(kBank));
    }

    void aBankIsSavedAsAnotherFile_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("written");
        QTest::newRow("JSON") << "copy.bank.json"
                              << "copy.bank.json";
        QTest::newRow("tensors") << "copy.bank.safetensors"
                                 << "copy.bank.safetensors";
        QTest::newRow("without an ending") << "copy"
                                           << "copy.bank.json";
        QTest::newRow("half an ending") << "copy.safetensors"
                                        << "copy.bank.safetensors";
    }
    void aBankIsSavedAsAnotherFile() {
        QFETCH(QString, typed);
        QFETCH(QString, written);
        const BankFolder folder;
        Editor o(folder);
        o.type(0, PriorsTable::Quality, "0.75");
        o.type(1, PriorsTable::EtaColumn, "1.25");  // the session's
        const compute::Bank edited = *o.document.session().priors[0].content;
        const QString file = o.folder.filePath(written);
        o.action("priors.saveAs")->trigger();
        answer(o.window->fileDialog(), o.folder.filePath(typed));
        QVERIFY(QFileInfo::exists(file));
        QCOMPARE(o.document.session().priors[0].bank, file.toStdString());
        QVERIFY(!o.document.bankModified(0));
        QVERIFY(o.find<QComboBox>("banks")->currentText().contains(written));
        QVERIFY(!o.find<QComboBox>("banks")->currentText().contains("●"));
        QVERIFY(*o.document.session().priors[0].content == edited);
        QCOMPARE(folder.bytes(), QByteArray(kBank));  // the one that was opened stays as it was
        QVERIFY(readAgain(file.toStdString()) == edited);

        // A session that names it opens the same bank in another window, its η with it.
        const fs::path named = o.folder.filePath("s.session.json").toStdString();
        o.document.save(named);
        std::vector<std::string> warnings;
        Opened other(model::readSession(named, warnings), "Priors");
        WAIT_UNTIL(other.document.ready() && other.document.session().priors.at(0).content);
        QVERIFY(*other.document.session().priors[0].content == edited);
        QCOMPARE(model::overrideOf(other.document.session().priors[0], "after b").eta.value_or(0), 1.25);

        // Undo names the first file again, with what was edited in it.
        o.document.undo();
        QCOMPARE(o.document.session().priors[0].bank, folder.file().string());
        QVERIFY(o.document.bankModified(0));
    }

    /// What the table says of a bank's priors is said of that bank's, wherever it stands in the rack.
    void theSecondBankOfARack() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"one", "Two", "three", "Four"}));
        QCOMPARE(o.column(PriorsTable::Support), (QStringList{"4", "2", "7", "3"}));
        QCOMPARE(o.column(PriorsTable::EtaColumn), (QStringList{"0.4055", "2.1972", "1.3863", "0.8473"}));
        o.type(1, PriorsTable::EtaColumn, "0.5");
        QCOMPARE(o.cell(1, PriorsTable::EtaColumn), QString("0.5000"));
        QVERIFY(o.document.session().priors[0].overrides.empty());
        QCOMPARE(model::overrideOf(o.document.session().priors[1], "Two").eta.value_or(0), 0.5);
        o.click(0, PriorsTable::Name);
        o.action("priors.delete")->trigger();
        QCOMPARE(o.document.session().priors[0].content->priors.size(), std::size_t{4});
        QCOMPARE(o.document.session().priors[1].content->priors.size(), std::size_t{3});
    }

    /// Its ids mean other tokens and do not act, so there is nothing to join.
    void aBankOfAnotherTokenizerIsNotMergedByItsIds() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, R"({"format":"counterpoint.bank/1","name":"foreign","tokenizer":"another","priors":[
 {"name":"a","quality":0.9,"promote":[1,2]},{"name":"b","quality":0.9,"promote":[2,3]}]})");
        o.click(0, PriorsTable::Name);
        o.click(1, PriorsTable::Name, Qt::ShiftModifier);
        const model::Session before = o.document.session();
        o.action("priors.merge")->trigger();
        QVERIFY(o.document.session() == before);
        const std::string told = o.document.notices().back().sentence;
        QVERIFY2(told.find("it was made for another tokenizer") != std::string::npos, told.c_str());
    }

    /// Once more gives back what acted: switched-off priors and banks stay off.
    void soloGivesBackWhatStood() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        o.click(0, PriorsTable::Kind);
        QTest::keyClick(&o.view(), Qt::Key_Space);  // "one" is off
        model::Session off = o.document.session();
        model::BankEntry third = off.priors[0];
        third.bank = "third.bank.json";
        third.enabled = false;
        off.priors.push_back(third);
        o.document.setSession(off);
        const QStringList before = acting(o);
        QCOMPARE(before, (QStringList{"vowels", "after b", "certain", "Two", "three", "Four"}));
        o.click(2, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), (QStringList{"three"}));
        QVERIFY(!o.document.session().priors[0].enabled && o.document.session().priors[1].enabled);
        o.click(3, PriorsTable::Kind);  // another one alone, and then as it was before the first
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), (QStringList{"Four"}));
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), before);
        QVERIFY(o.document.session() == off);
    }

    /// Solo remembers what it changed in every bank, and nothing once another hand has been at it.
    void soloForgetsWhatOthersChanged() {
        const BankFolder folder;
        Editor o(folder);
        o.click(0, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        o.document.undo();
        o.click(1, PriorsTable::Kind);
        QTest::keyClick(&o.view(), Qt::Key_Space);  // off by hand, after the solo that was undone
        const QStringList before = acting(o);
        o.click(0, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), before);
    }
    void soloInOneBankAfterAnother() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        const model::Session before = o.document.session();
        auto* banks = o.find<QComboBox>("banks");
        const auto show = [&](int bank) {
            banks->setCurrentIndex(bank);
            Q_EMIT banks->activated(bank);
            QCoreApplication::processEvents();
        };
        show(0);
        o.click(0, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        show(1);
        o.click(2, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), (QStringList{"three"}));
        o.action("priors.solo")->trigger();
        QVERIFY(o.document.session() == before);
    }

    /// The dialog asks about the name that was typed. What stands under the name it becomes is not written over.
    void aNameThatGetsAnEndingWritesOverNothing() {
        const BankFolder folder;
        Editor o(folder);
        const QString bank = o.folder.filePath("habits.bank.json"), session = o.folder.filePath("habits.session.json");
        for (const QString& file : {bank, session}) compute::writeFile(file.toStdString(), "somebody's");
        o.type(0, PriorsTable::Quality, "0.75");
        for (const char* id : {"priors.saveAs", "priors.newBank", "file.saveAs"}) {
            o.action(id)->trigger();
            answer(o.window->fileDialog(), o.folder.filePath("habits"));
            QVERIFY2(newestNotice(o.document).contains("there is such a file already"), id);
            QVERIFY(o.document.bankModified(0));
            QCOMPARE(o.document.session().priors.size(), std::size_t{1});
        }
        for (const QString& file : {bank, session})
            QCOMPARE(compute::readFile(file.toStdString()), std::string("somebody's"));
        // A bank of the rack is not made new under it.
        o.action("priors.newBank")->trigger();
        o.window->fileDialog().setOption(QFileDialog::DontConfirmOverwrite);
        answer(o.window->fileDialog(), QString::fromStdString(folder.file().string()));
        o.window->fileDialog().setOption(QFileDialog::DontConfirmOverwrite, false);
        QCOMPARE(folder.bytes(), QByteArray(kBank));
        // Under a free name it is.
        o.action("priors.newBank")->trigger();
        answer(o.window->fileDialog(), o.folder.filePath("fresh"));
        WAIT_UNTIL(o.document.session().priors.size() == 2 && o.document.session().priors[1].content);
        QVERIFY(QFileInfo::exists(o.folder.filePath("fresh.bank.json")));
        QCOMPARE(o.document.session().priors[1].content->name, std::string("fresh"));
    }

    void everyEditIsOneStepOfUndo() {
        const BankFolder folder;
        Editor o(folder);
        o.click(0, PriorsTable::Name);
        o.action("priors.duplicate")->trigger();
        o.action("priors.split")->trigger();
        QCOMPARE(o.table().rowCount(), 6);
        o.document.undo();
        QCOMPARE(o.table().rowCount(), 5);
        o.document.undo();
        QCOMPARE(o.table().rowCount(), 4);
        QVERIFY(!o.document.canUndo());
        o.type(0, PriorsTable::Quality, "0.75");
        o.type(0, PriorsTable::Quality, "0.8");
        o.document.undo();
        QCOMPARE(o.prior(0).quality, 0.75);
        o.document.undo();
        QCOMPARE(o.prior(0).quality, 0.9);
        QVERIFY(!o.document.canUndo());
    }

    void rowsAreFoundByAllTheirWords() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        auto* search = o.find<QLineEdit>("priors.search");
        for (const auto& [words, found] : {std::pair("ONE", "one"), std::pair("first", "one"),
                                           std::pair("elseWHERE", "Two"), std::pair("third", "three")}) {
            search->setText(words);
            QCOMPARE(o.column(PriorsTable::Name), QStringList{found});
        }
        search->setText("one third");  // of two priors
        QCOMPARE(o.table().rowCount(), 0);
    }

    /// Each column puts its own numbers in order, either way, what has none last.
    void everyColumnSorts() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        o.decode();
        o.settle();
        QSet<QStringList> orders;
        for (int column = PriorsTable::Quality; column < PriorsTable::kColumns; ++column) {
            for (const auto order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
                o.view().sortByColumn(column, order);
                std::vector<double> numbers;
                for (QString text : o.column(column)) {
                    bool ok = false;
                    const double number = text.replace(QChar(0x2212), '-').toDouble(&ok);
                    numbers.push_back(ok ? number : order == Qt::AscendingOrder ? INFINITY : -INFINITY);
                }
                QVERIFY2(order == Qt::AscendingOrder ? std::is_sorted(numbers.begin(), numbers.end())
                                                     : std::is_sorted(numbers.rbegin(), numbers.rend()),
                         qPrintable(QString::number(column) + ": " + o.column(column).join(' ')));
            }
            orders.insert(o.column(PriorsTable::Name));
        }
        QVERIFY2(orders.size() >= 6, qPrintable(QString::number(orders.size())));  // q and η are one
        o.view().sortByColumn(PriorsTable::Name, Qt::AscendingOrder);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"Four", "one", "three", "Two"}));
        o.view().sortByColumn(PriorsTable::Name, Qt::DescendingOrder);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"Two", "three", "one", "Four"}));
    }

    /// What the session sets goes, and what the bank sets: one step.
    void aResetEtaIsDerivedAgain() {
        const BankFolder folder;
        Editor o(folder);
        compute::Prior own = o.prior(0);
        own.eta = 2;
        o.document.setSession(model::withPrior(o.document.session(), 0, 0, own));
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("2.0000"));
        o.type(0, PriorsTable::EtaColumn, "3");
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("3.0000"));
        o.click(0, PriorsTable::Kind);
        o.action("priors.resetEta")->trigger();
        QVERIFY(!o.prior(0).eta && !o.said("vowels").eta);
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("2.1972"));
        o.document.undo();
        QCOMPARE(o.prior(0).eta.value_or(0), 2.0);
        QCOMPARE(o.said("vowels").eta.value_or(0), 3.0);
    }

    /// A place that cannot be written is told, and the session names the old file still.
    void aBankThatCannotBeSavedStays() {
        const BankFolder folder;
        Editor o(folder);
        o.type(0, PriorsTable::Quality, "0.75");
        o.action("priors.saveAs")->trigger();
        const QString nowhere = o.folder.filePath("none/copy.bank.json");
        WAIT_UNTIL(o.window->fileDialog().isVisible());
        Q_EMIT o.window->fileDialog().fileSelected(nowhere);
        o.window->fileDialog().reject();
        QVERIFY2(o.document.notices().back().sentence.find("none") != std::string::npos,
                 o.document.notices().back().sentence.c_str());
        QCOMPARE(o.document.session().priors[0].bank, folder.file().string());
        QVERIFY(o.document.bankModified(0));
    }
};

QTEST_MAIN(TestWindowBanks)
#include "tst_windowbanks.moc"
