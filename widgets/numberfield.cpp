#include "widgets/numberfield.h"

#include <QKeyEvent>
#include <QLocale>
#include <algorithm>
#include <cmath>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kMinimumDecimals = 2;

}  // namespace

NumberField::NumberField(double minimum, double maximum, bool integer, QWidget* parent)
    : QLineEdit(parent), m_minimum(minimum), m_maximum(maximum), m_isInteger(integer) {
    setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    setFont(numberFont(font()));
    setFixedHeight(spacing::row);
    connect(this, &QLineEdit::editingFinished, this, &NumberField::commit);
    write();
}

QString NumberField::textOf(double value) const {
    QLocale locale = this->locale();
    locale.setNumberOptions(QLocale::OmitGroupSeparator);
    const QString shortest = locale.toString(value, 'f', QLocale::FloatingPointShortest);
    const auto point = shortest.indexOf(locale.decimalPoint());
    const bool few = point < 0 || shortest.size() - point - 1 < kMinimumDecimals;
    return few ? locale.toString(value, 'f', kMinimumDecimals) : shortest;
}

void NumberField::write() {
    setText(m_isInteger ? QString::number(m_integer) : textOf(m_value));
    setCursorPosition(0);
    setModified(false);
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
    const QString given = text.trimmed();
    const auto between = [this](const QString& low, const QString& high) {
        return tr("Takes %1 to %2.").arg(low, high);
    };
    if (m_isInteger) {
        bool ok = false;
        const qulonglong value = given.toULongLong(&ok);
        if (!ok) {
            const bool digits =
                !given.isEmpty() && std::all_of(given.begin(), given.end(), [](QChar c) { return c.isDigit(); });
            return digits ? tr("%1 is larger than %2.").arg(given, QString::number(m_maximum, 'g', 20))
                          : tr("'%1' is not a whole number from 0 upwards.").arg(given);
        }
        if (static_cast<double>(value) > m_maximum || static_cast<double>(value) < m_minimum)
            return between(QString::number(m_minimum, 'f', 0), QString::number(m_maximum, 'f', 0));
        m_integer = value;
        m_value = static_cast<double>(value);
        return {};
    }
    QLocale locale = this->locale();
    locale.setNumberOptions(QLocale::RejectGroupSeparator);
    QString plain = given;
    plain.replace(QChar(0x2212), QLatin1Char('-'));
    bool ok = false;
    const double value = locale.toDouble(plain, &ok);
    if (!ok) {
        bool dotted = false;
        QLocale::c().toDouble(plain, &dotted);
        if (dotted && std::isfinite(plain.toDouble()))
            return tr("'%1' is not a number here: the decimal mark is '%2'.").arg(given, locale.decimalPoint());
        return tr("'%1' is not a number.").arg(given);
    }
    if (!std::isfinite(value)) return tr("'%1' is not a finite number.").arg(given);
    if (value < m_minimum || value > m_maximum) return between(textOf(m_minimum), textOf(m_maximum));
    m_value = value;
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

void NumberField::changeEvent(QEvent* event) {
    QLineEdit::changeEvent(event);
    if (event->type() == QEvent::LocaleChange) write();
}

}  // namespace counterpoint::widgets
