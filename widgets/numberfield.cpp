#include "widgets/numberfield.h"

#include <QKeyEvent>
#include <QLocale>
#include <QStyleOption>
#include <algorithm>
#include <cmath>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kMinimumDecimals = 2;
constexpr double kLarge = 1e6, kSmall = 1e-4;

}  // namespace

NumberField::NumberField(double minimum, double maximum, bool integer, QWidget* parent)
    : QLineEdit(parent), m_minimum(minimum), m_maximum(maximum), m_isInteger(integer) {
    setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    setFont(numberFont(font()));
    setFixedHeight(spacing::row);
    connect(this, &QLineEdit::editingFinished, this, &NumberField::commit);
    write();
}

QString NumberField::textOf(double value) {
    const double size = std::abs(value);
    if (size >= kLarge || (size > 0 && size < kSmall)) return formatExact(value);
    const QString shortest = QString::number(value, 'f', QLocale::FloatingPointShortest);
    const auto point = shortest.indexOf(QLatin1Char('.'));
    const bool few = point < 0 || shortest.size() - point - 1 < kMinimumDecimals;
    QString text = few ? QString::number(value, 'f', kMinimumDecimals) : shortest;
    return text.replace(QLatin1Char('-'), QChar(0x2212));
}

void NumberField::write() {
    const QString whole = m_isInteger ? QString::number(m_integer) : textOf(m_value);
    QStyleOptionFrame option;
    initStyleOption(&option);
    constexpr int kInner = 2 * 3;  // what QLineEdit keeps free beside its text
    const int room = style()->subElementRect(QStyle::SE_LineEditContents, &option, this).width() - kInner;
    const QString text = hasFocus() ? whole : shown(whole);
    const bool fits = hasFocus() || fontMetrics().horizontalAdvance(text) <= room;
    setText(fits ? text : fontMetrics().elidedText(text, Qt::ElideRight, room));
    setToolTip(fits && text == whole ? QString() : whole);
    setCursorPosition(0);
    setModified(false);
}

QString NumberField::shown(const QString& whole) const {
    const auto point = whole.indexOf(QLatin1Char('.'));
    const bool more = m_decimals >= 0 && point >= 0 && whole.size() - point - 1 > m_decimals;
    return more ? formatNumber(m_value, m_decimals) : whole;
}

void NumberField::setDecimals(int decimals) {
    m_decimals = decimals;
    if (!hasFocus()) write();
}

void NumberField::focusInEvent(QFocusEvent* event) {
    if (!isModified()) write();
    QLineEdit::focusInEvent(event);
}

void NumberField::focusOutEvent(QFocusEvent* event) {
    QLineEdit::focusOutEvent(event);  // takes what was typed, unless another window came before this one
    if (!isModified()) write();
}

void NumberField::resizeEvent(QResizeEvent* event) {
    QLineEdit::resizeEvent(event);
    if (!hasFocus()) write();
}

void NumberField::setValue(double value) {
    if (m_isInteger) return setInteger(value <= 0 ? 0 : static_cast<std::uint64_t>(value));
    m_value = value;
    if (!hasFocus() || !isModified()) write();
}

void NumberField::setInteger(std::uint64_t value) {
    m_integer = value;
    m_value = static_cast<double>(value);
    if (!hasFocus() || !isModified()) write();
}

QString NumberField::read(const QString& text) {
    if (!m_isInteger) return readNumber(text, m_minimum, m_maximum, m_value);
    const QString given = text.trimmed();
    bool ok = false;
    const qulonglong value = given.toULongLong(&ok);
    if (!ok) {
        const bool digits =
            !given.isEmpty() && std::all_of(given.begin(), given.end(), [](QChar c) { return c.isDigit(); });
        return digits ? tr("%1 is larger than %2.").arg(given, QString::number(m_maximum, 'g', 20))
                      : tr("'%1' is not a whole number from 0 upwards.").arg(given);
    }
    if (static_cast<double>(value) > m_maximum || static_cast<double>(value) < m_minimum)
        return tr("Takes %1 to %2.").arg(QString::number(m_minimum, 'f', 0), QString::number(m_maximum, 'f', 0));
    m_integer = value;
    m_value = static_cast<double>(value);
    return {};
}

QString NumberField::readNumber(const QString& text, double minimum, double maximum, double& value) {
    const QString given = text.trimmed();
    QString plain = given;
    plain.replace(QChar(0x2212), QLatin1Char('-'));
    if (plain.count(QLatin1Char(',')) == 1 && !plain.contains(QLatin1Char('.'))) {
        constexpr int kThousands = 3;
        const bool perhapsThousands = plain.size() - plain.indexOf(QLatin1Char(',')) - 1 == kThousands;
        QString dotted = plain, joined = plain;
        dotted.replace(QLatin1Char(','), QLatin1Char('.'));
        if (perhapsThousands)
            return tr("'%1' can be read in two ways: write %2 or %3.")
                .arg(given, dotted, joined.remove(QLatin1Char(',')));
        plain = dotted;
    }
    QLocale dots = QLocale::c();
    dots.setNumberOptions(QLocale::RejectGroupSeparator);
    bool ok = false;
    const double number = dots.toDouble(plain, &ok);
    if (!ok) return tr("'%1' is not a number.").arg(given);
    if (!std::isfinite(number)) return tr("'%1' is not a finite number.").arg(given);
    if (number < minimum || number > maximum) return tr("Takes %1 to %2.").arg(textOf(minimum), textOf(maximum));
    value = number;
    return {};
}

void NumberField::commit() {
    if (!isModified()) return;
    const double before = m_value;
    const std::uint64_t integerBefore = m_integer;
    const QString reason = read(text());
    write();
    if (!reason.isEmpty()) return Q_EMIT refused(reason);
    if (m_value != before || m_integer != integerBefore) Q_EMIT edited();
}

void NumberField::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape && isModified()) {
        write();
        return;
    }
    QLineEdit::keyPressEvent(event);
}

}  // namespace counterpoint::widgets
