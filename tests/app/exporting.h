#pragma once
// Exports of the window as a person makes them: a dock's context menu, then the file dialog.

#include <QContextMenuEvent>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QPushButton>

#include "tests/app/opened.h"
#include "tests/support/patience.h"
#include "widgets/plotdock.h"

namespace counterpoint::tests {

/// Writes a name into the open file dialog and presses its button.
inline void answer(QFileDialog& dialog, const QString& path) {
    WAIT_UNTIL(dialog.isVisible());
    auto* name = dialog.findChild<QLineEdit*>("fileNameEdit");
    QVERIFY(name != nullptr);  // the dialog of Qt, not of the desktop
    name->setText(path);       // typed letter by letter, a list of completions would lie over the button
    auto* buttons = dialog.findChild<QDialogButtonBox*>("buttonBox");
    QAbstractButton* accept = buttons->button(QDialogButtonBox::Open);
    if (accept == nullptr) accept = buttons->button(QDialogButtonBox::Save);
    if (accept == nullptr) accept = buttons->buttons().first();
    WAIT_UNTIL(accept->isEnabled());
    QTest::mouseClick(accept, Qt::LeftButton);
    WAIT_UNTIL(!dialog.isVisible());
}

inline QString newestNotice(const model::Document& document) {
    return document.notices().empty() ? QString() : QString::fromStdString(document.notices().back().sentence);
}

/// Exports the drift plot through its dock's context menu and the file dialog.
inline void exportDrift(MainWindow& window, const model::Document& document, const char* action, const QString& path) {
    auto* dock = window.findChild<widgets::PlotDock*>("dock.drift");
    auto& panel = dock->panel();
    const QPoint centre = panel.rect().center();
    QWidget* under = panel.childAt(centre);  // what a mouse would meet, not the panel itself
    QContextMenuEvent event(QContextMenuEvent::Mouse, under->mapFrom(&panel, centre), panel.mapToGlobal(centre));
    QCoreApplication::sendEvent(under, &event);
    QMenu& menu = panel.menu();
    WAIT_UNTIL(menu.isVisible());
    auto* wanted = menu.findChild<QAction*>(action);
    QVERIFY(wanted != nullptr && wanted->isEnabled());
    QTest::mouseClick(&menu, Qt::LeftButton, {}, menu.actionGeometry(wanted).center());
    answer(window.fileDialog(), path);
    WAIT_UNTIL2(newestNotice(document).contains(path), qPrintable(newestNotice(document)));
}

inline constexpr std::pair<const char*, const char*> kExports[] = {
    {"exportPdf", "drift.pdf"}, {"exportSvg", "drift.svg"}, {"exportPng", "drift.png"}, {"exportCsv", "table.csv"}};

}  // namespace counterpoint::tests
