#include "widgets/rackparts.h"

#include <QPainter>
#include <QStyle>

#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {

QToolButton* rackButton(Glyph glyph, const QString& name, const QString& help) {
    auto* button = new QToolButton;
    button->setIcon(lineIcon(glyph));
    button->setIconSize({14, 14});
    button->setFixedSize(spacing::row, spacing::row);
    button->setStyleSheet(QStringLiteral("QToolButton { padding: 0px; } QToolButton::menu-indicator { image: none; }"));
    button->setObjectName(name);
    button->setToolTip(help);
    button->setAccessibleName(help);
    return button;
}

QLabel* stateLabel() {
    auto* label = new QLabel;
    label->setObjectName(QStringLiteral("state"));
    label->setProperty("role", QStringLiteral("quiet"));
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    return label;
}

void showState(QLabel& label, const QString& state, bool failed) {
    label.setText(breakable(shortened(state, kHoverLetters)));
    const QString role = failed ? QStringLiteral("failure") : QStringLiteral("quiet");
    if (label.property("role") == role) return;
    label.setProperty("role", role);
    label.style()->polish(&label);
}

QString hoverRow(const QString& name, const QString& value) {
    if (value.isEmpty()) return {};
    return QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td>%2</td></tr>")
        .arg(name, shortened(value, kHoverLetters).toHtmlEscaped());
}

void paintRackRow(QWidget& row, const QColor& stripe) {
    QPainter p(&row);
    const Theme& t = currentTheme();
    p.fillRect(row.rect(), t.surface);
    p.fillRect(QRect(0, 0, 3, row.height()), stripe);
    p.fillRect(QRect(0, row.height() - 1, row.width(), 1), t.grid);
}

}  // namespace counterpoint::widgets
