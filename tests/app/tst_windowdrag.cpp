// A token on its way from the distribution onto a prior: what travels, where it may be dropped, and what undo gives
// back.
#include <QDrag>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QWindow>

#include "tests/app/editor.h"
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

}  // namespace

class TestWindowDrag : public QObject {
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
};

QTEST_MAIN(TestWindowDrag)
#include "tst_windowdrag.moc"
