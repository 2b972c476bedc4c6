#pragma once
// PlotCanvas: the one place that speaks to QCustomPlot. Turns a prepared figure into axes, legend, series, marks and
// cursor, on a widget or on a paint device. All lengths are multiples of Look::px: 1 on a screen, 10 in a figure (0.1
// pt units), so that a figure depends on no screen. Thread: the window thread.

#include <QPointF>
#include <QSize>
#include <memory>
#include <optional>

#include "widgets/palette.h"
#include "widgets/plotscale.h"

class QPaintDevice;
class QWidget;

namespace counterpoint::widgets {

struct Look {
    const Theme* theme = nullptr;
    QFont font;              ///< of axis titles; numbers are as large
    double px = 1;           ///< one design pixel (a point on paper) in the device's units
    double lineWidth = 1.6;  ///< in px
    bool legend = true;
    bool paper = false;  ///< no cursor, no note, no hover
};

class PlotCanvas {
  public:
    explicit PlotCanvas(QWidget* parent);
    ~PlotCanvas();
    QWidget* widget() const;
    void setLook(Look look);
    void setFigure(const model::PlotData& plot, const Prepared& prepared);
    void setVisibleX(Range range);
    void setCursorX(double x);
    void setHoverX(std::optional<double> x);
    void draw();
    void paint(QPaintDevice& device, const QSize& units);
    double xAt(const QPointF& pixel) const;
    QPointF toPixel(double x, double u) const;  ///< u: on the first y axis

  private:
    struct Private;
    std::unique_ptr<Private> d;
};

}  // namespace counterpoint::widgets
