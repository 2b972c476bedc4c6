#include "widgets/housestyle.h"

#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>

#include "widgets/icons.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kCheckBox = 16, kChevron = 12;

/// The outline of a control: accent with the keyboard's focus, stronger under the mouse.
QColor outline(const QStyleOption& option, const QColor& calm) {
    const Theme& t = currentTheme();
    if (option.state.testFlag(QStyle::State_HasFocus)) return t.accent;
    return option.state.testFlag(QStyle::State_Enabled) && option.state.testFlag(QStyle::State_MouseOver) ? t.text
                                                                                                          : calm;
}

void checkBox(const QStyleOption& option, QPainter& p) {
    const Theme& t = currentTheme();
    const bool enabled = option.state.testFlag(QStyle::State_Enabled), on = option.state.testFlag(QStyle::State_On);
    QRectF box(0, 0, kCheckBox - 2, kCheckBox - 2);
    box.moveCenter(QRectF(option.rect).center());
    const QColor fill = !on ? t.surface : enabled ? t.accent : t.grey;
    p.setPen(QPen(on && !option.state.testFlag(QStyle::State_HasFocus) ? fill : outline(option, t.quiet), 1));
    p.setBrush(fill);
    p.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    if (option.state.testFlag(QStyle::State_HasFocus)) {  // a ring beside the box, seen on the accent too
        p.setBrush(Qt::NoBrush);
        p.setPen(QPen(t.accent, 1.5));
        p.drawRoundedRect(box.adjusted(-1, -1, 1, 1), 4, 4);
    }
    if (!on) return;
    p.setPen(QPen(enabled ? t.onAccent : t.surface, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const QPointF at = box.topLeft();
    p.drawPolyline(QPolygonF({at + QPointF(3.5, 7.5), at + QPointF(6, 10), at + QPointF(10.5, 4.5)}));
}

void comboBox(const QStyleOptionComboBox& option, QPainter& p) {
    const Theme& t = currentTheme();
    p.setPen(QPen(outline(option, t.line), 1));
    p.setBrush(t.surface);
    p.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), spacing::radius, spacing::radius);
    const QRect chevron(option.rect.right() - kChevron - 5, option.rect.center().y() - kChevron / 2 + 1, kChevron,
                        kChevron);
    lineIcon(Glyph::Chevron)
        .paint(&p, chevron, Qt::AlignCenter,
               option.state.testFlag(QStyle::State_Enabled) ? QIcon::Normal : QIcon::Disabled);
}

}  // namespace

HouseStyle::HouseStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void HouseStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                               const QWidget* widget) const {
    if (element != PE_IndicatorCheckBox) return QProxyStyle::drawPrimitive(element, option, painter, widget);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    checkBox(*option, *painter);
    painter->restore();
}

void HouseStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                                    const QWidget* widget) const {
    const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
    if (control != CC_ComboBox || combo == nullptr)
        return QProxyStyle::drawComplexControl(control, option, painter, widget);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    comboBox(*combo, *painter);
    painter->restore();
}

void HouseStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                             const QWidget* widget) const {
    const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
    if (element != CE_ComboBoxLabel || combo == nullptr)
        return QProxyStyle::drawControl(element, option, painter, widget);
    QStyleOptionComboBox fitting = *combo;  // Fusion cuts what does not fit
    const QRect room = subControlRect(CC_ComboBox, combo, SC_ComboBoxEditField, widget).adjusted(2, 0, -2, 0);
    fitting.currentText = combo->fontMetrics.elidedText(combo->currentText, Qt::ElideRight, room.width());
    QProxyStyle::drawControl(element, &fitting, painter, widget);
}

int HouseStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
    if (metric == PM_IndicatorWidth || metric == PM_IndicatorHeight) return kCheckBox;
    return QProxyStyle::pixelMetric(metric, option, widget);
}

QSize HouseStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                                   const QWidget* widget) const {
    QSize all = QProxyStyle::sizeFromContents(type, option, size, widget);
    if (type == CT_ComboBox) all.setHeight(std::max(spacing::row, size.height() + 2));
    return all;
}

QIcon HouseStyle::standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const {
    if (icon == SP_TitleBarNormalButton) return lineIcon(Glyph::Float);
    if (icon == SP_TitleBarCloseButton) return lineIcon(Glyph::Close);
    // Fusion's are PNG files: for them Qt would open every plugin for pictures before the window is seen.
    if (icon == SP_ToolBarHorizontalExtensionButton || icon == SP_ToolBarVerticalExtensionButton)
        return lineIcon(Glyph::More);
    return QProxyStyle::standardIcon(icon, option, widget);
}

}  // namespace counterpoint::widgets
