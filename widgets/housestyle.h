#pragma once
// HouseStyle: Fusion with the parts that a style sheet cannot draw without picture files: check boxes, combo boxes, the
// buttons of docks, all in the lines and the one accent of currentTheme(). Thread: the window thread.

#include <QProxyStyle>

namespace counterpoint::widgets {

class HouseStyle : public QProxyStyle {
    Q_OBJECT
  public:
    HouseStyle();
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                            const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                           const QWidget* widget) const override;
    QIcon standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const override;
};

}  // namespace counterpoint::widgets
