#include "widgets/tabends.h"

#include <QEvent>
#include <QPainter>
#include <QScopedValueRollback>
#include <QToolButton>
#include <algorithm>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kTabPadding = 10;  // of the style sheet

/// The part of the bar that its scroll buttons leave.
QRect roomOf(const QTabBar& bar) {
    int right = bar.width();
    for (const auto* button : bar.findChildren<QToolButton*>(Qt::FindDirectChildrenOnly))
        if (button->isVisible()) right = std::min(right, button->x());
    return {0, 0, right, bar.height()};
}

}  // namespace

QString TabEnds::shownTitle(const QTabBar& bar, int index) {
    const QRect whole = bar.tabRect(index), seen = whole & roomOf(bar);
    if (seen.width() == whole.width()) return bar.tabText(index);
    const bool left = seen.left() > whole.left();
    return bar.fontMetrics().elidedText(bar.tabText(index), left ? Qt::ElideLeft : Qt::ElideRight,
                                        std::max(0, seen.width() - kTabPadding - spacing::tight));
}

bool TabEnds::eventFilter(QObject* watched, QEvent* event) {
    auto* bar = qobject_cast<QTabBar*>(watched);
    if (bar == nullptr || event->type() != QEvent::Paint || m_painting) return QObject::eventFilter(watched, event);
    const QScopedValueRollback painting(m_painting, true);
    watched->event(event);
    QPainter painter(bar);
    const Theme& t = currentTheme();
    for (int i = 0; i < bar->count(); ++i) {
        const QRect whole = bar->tabRect(i), seen = whole & roomOf(*bar);
        if (seen.isEmpty() || seen.width() == whole.width() || !bar->isTabVisible(i)) continue;
        painter.fillRect(seen, t.window);
        painter.setPen(i == bar->currentIndex() ? t.text : t.quiet);
        const bool left = seen.left() > whole.left();
        painter.drawText(seen.adjusted(left ? 0 : kTabPadding, 0, left ? -kTabPadding : 0, -2),
                         Qt::AlignVCenter | (left ? Qt::AlignRight : Qt::AlignLeft), shownTitle(*bar, i));
    }
    return true;
}

}  // namespace counterpoint::widgets
