// The style sheet of the application, from a theme's colours. Only what Fusion and the palette do not say already.
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

// {name} stands for a colour of the theme.
constexpr const char* kSheet = R"(
QMainWindow::separator { background: {line}; width: 1px; height: 1px; margin: 0px; }
QMainWindow::separator:hover { background: {accent}; }
QDockWidget { color: {text}; }
QDockWidget::title { background: {window}; padding: 6px 8px; text-align: left; border-bottom: 1px solid {line}; }
QDockWidget::close-button, QDockWidget::float-button { border: none; background: transparent; padding: 0px; subcontrol-origin: padding; subcontrol-position: right center; }
QDockWidget::close-button { right: 8px; }
QDockWidget::float-button { right: 30px; }
QSplitter::handle { background: {line}; }
QSplitter::handle:hover { background: {accent}; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QToolTip { background: {raised}; color: {text}; border: 1px solid {line}; padding: 4px 6px; }
QTabBar::tab { background: transparent; color: {quiet}; padding: 5px 10px; border: none; border-bottom: 2px solid transparent; }
QTabBar::tab:hover { color: {text}; }
QTabBar::tab:selected { color: {text}; border-bottom: 2px solid {accent}; }
QTabBar { qproperty-drawBase: 0; qproperty-elideMode: ElideNone; }
QTabBar QToolButton { background: {window}; padding: 0px; border: none; }
QToolBar { background: {window}; border: none; border-bottom: 1px solid {line}; padding: 4px 8px; spacing: 4px; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 4px 8px; color: {text}; }
QToolButton:hover { background: {raised}; border-color: {line}; }
QToolButton:pressed, QToolButton:checked { background: {selection}; border-color: {accent}; }
QToolButton:focus { border-color: {accent}; }
QToolButton:disabled { color: {quiet}; }
QFileDialog QToolButton { padding: 3px; }
QPushButton { background: {raised}; color: {text}; border: 1px solid {line}; border-radius: 4px; padding: 4px 12px; min-height: 16px; }
QPushButton:hover { border-color: {quiet}; }
QPushButton:focus { border-color: {accent}; }
QPushButton:pressed { background: {selection}; }
QPushButton:default { background: {accent}; color: {onAccent}; border-color: {accent}; }
QPushButton:disabled { background: {raised}; color: {quiet}; border-color: {line}; }
QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox { background: {surface}; color: {text}; border: 1px solid {line}; border-radius: 4px; padding: 2px 6px; selection-background-color: {accent}; selection-color: {onAccent}; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus { border-color: {accent}; }
QAbstractItemView { background: {surface}; color: {text}; border: none; outline: none; selection-background-color: {selection}; selection-color: {text}; gridline-color: {grid}; alternate-background-color: {raised}; }
QHeaderView { background: {surface}; }
QHeaderView::section { background: {surface}; color: {quiet}; border: none; border-bottom: 1px solid {line}; padding: 4px 3px; font-weight: normal; }
QTableView { padding-left: 5px; padding-right: 5px; }
QTableCornerButton::section { background: {surface}; border: none; border-bottom: 1px solid {line}; }
QMenu { background: {raised}; color: {text}; border: 1px solid {line}; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 24px; border-radius: 3px; }
QMenu::item:selected { background: {selection}; }
QMenu::item:disabled { color: {quiet}; }
QMenu::separator { height: 1px; background: {line}; margin: 4px 8px; }
QMenuBar { background: {window}; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; }
QMenuBar::item:selected { background: {selection}; }
QStatusBar { background: {window}; color: {quiet}; border-top: 1px solid {line}; }
QStatusBar::item { border: none; }
QProgressBar { background: {grid}; border: none; border-radius: 3px; max-height: 6px; text-align: center; color: transparent; }
QProgressBar::chunk { background: {accent}; border-radius: 3px; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0px; }
QScrollBar::handle { background: {line}; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: {quiet}; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0px; height: 0px; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSlider::groove:horizontal { height: 4px; background: {line}; border-radius: 2px; }
QSlider::sub-page:horizontal { background: {accent}; border-radius: 2px; }
QSlider::handle:horizontal { width: 12px; height: 12px; margin: -5px 0px; border-radius: 7px; background: {surface}; border: 1px solid {quiet}; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { border-color: {accent}; }
QSlider::sub-page:horizontal:disabled { background: {line}; }
QLabel[role="quiet"] { color: {quiet}; }
QLabel[role="failure"] { color: {failure}; }
QLabel[role="title"] { color: {text}; font-weight: 600; }
)";

}  // namespace

QString styleSheetOf(const Theme& t) {
    QString sheet = QString::fromUtf8(kSheet);
    const std::pair<const char*, QColor> names[] = {
        {"window", t.window},     {"surface", t.surface},     {"raised", t.raised},  {"text", t.text},
        {"quiet", t.quiet},       {"line", t.line},           {"grid", t.grid},      {"accent", t.accent},
        {"onAccent", t.onAccent}, {"selection", t.selection}, {"failure", t.failure}};
    for (const auto& [name, colour] : names)
        sheet.replace(QLatin1Char('{') + QString::fromLatin1(name) + QLatin1Char('}'), colour.name());
    return sheet;
}

}  // namespace counterpoint::widgets
