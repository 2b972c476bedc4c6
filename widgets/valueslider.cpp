#include "widgets/valueslider.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kLogTicks = 400;
constexpr int kFieldWidth = 68;

}  // namespace

ValueSlider::ValueSlider(const QString& name, const ValueRange& range, QWidget* parent)
    : QWidget(parent), m_range(range), m_field(new NumberField(range.fieldMinimum, range.fieldMaximum, range.integer)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(spacing::normal);
    if (range.slider) {
        m_slider = new QSlider(Qt::Horizontal);
        m_slider->setRange(0, range.logarithmic
                                  ? kLogTicks
                                  : static_cast<int>(std::lround((range.maximum - range.minimum) / range.step)));
        m_slider->setPageStep(std::max(1, m_slider->maximum() / 10));
        m_slider->setAccessibleName(name);
        m_slider->setObjectName(QStringLiteral("slider"));
        m_slider->setFocusPolicy(Qt::StrongFocus);
        m_slider->installEventFilter(this);
        m_slider->setMinimumWidth(60);
        layout->addWidget(m_slider, 1);
        m_field->setFixedWidth(kFieldWidth);
        connect(m_slider, &QSlider::valueChanged, this, [this](int tick) {
            const double value = toValue(tick);
            if (m_range.integer)
                m_field->setInteger(static_cast<std::uint64_t>(value));
            else
                m_field->setValue(value);
            Q_EMIT moved();
            if (!m_slider->isSliderDown()) Q_EMIT settled();
        });
        connect(m_slider, &QSlider::sliderReleased, this, &ValueSlider::settled);
    }
    m_field->setAccessibleName(name);
    m_field->setObjectName(QStringLiteral("field"));
    layout->addWidget(m_field, range.slider ? 0 : 1);
    connect(m_field, &NumberField::edited, this, [this] {
        place();
        Q_EMIT moved();
        Q_EMIT settled();
    });
    connect(m_field, &NumberField::refused, this, &ValueSlider::refused);
    setFocusProxy(m_slider != nullptr ? static_cast<QWidget*>(m_slider) : m_field);
}

int ValueSlider::toTick(double value) const {
    if (m_range.logarithmic) {
        const double span = std::log1p(m_range.maximum - m_range.minimum);
        return static_cast<int>(std::lround(kLogTicks * std::log1p(std::max(0.0, value - m_range.minimum)) / span));
    }
    const double tick = (std::clamp(value, m_range.minimum, m_range.maximum) - m_range.minimum) / m_range.step;
    return static_cast<int>(std::lround(tick));
}

double ValueSlider::toValue(int tick) const {
    double value = m_range.minimum + tick * m_range.step;
    if (m_range.logarithmic)
        value = m_range.minimum + std::expm1(tick * std::log1p(m_range.maximum - m_range.minimum) / kLogTicks);
    if (m_range.integer) return std::round(value);
    // A tick is a short decimal: 0.7 and not 0.7000000000000001.
    const double perUnit = std::round(1.0 / std::min(m_range.step, 1.0));
    return std::round(value * perUnit) / perUnit;
}

void ValueSlider::place() {
    if (m_slider == nullptr || m_slider->isSliderDown()) return;
    const QSignalBlocker quiet(m_slider);
    m_slider->setValue(std::clamp(toTick(m_field->value()), 0, m_slider->maximum()));
}

void ValueSlider::setValue(double value) {
    m_field->setValue(value);
    place();
}

void ValueSlider::setInteger(std::uint64_t value) {
    m_field->setInteger(value);
    place();
}

bool ValueSlider::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_slider && event->type() == QEvent::Wheel && !m_slider->hasFocus()) {
        event->ignore();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace counterpoint::widgets
