#pragma once
// PlotCanvas: the one place that speaks to QCustomPlot. Turns a prepared figure into axes, lines and bands; what
// plotscene paints becomes its items. On a widget or on a paint device. All lengths are multiples of Look::px: 1 on a
// screen, 10 in a figure (0.1 pt units), so that a figure depends on no screen. Thread: the window thread.

#include <QPointF>
#include <QSize>
#include <memory>
#include <optional>

#include "widgets/plotscene.h"

class QPaintDevice;
class QWidget;

namespace counterpoint::widgets {

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
    double uAt(const QPointF& pixel) const;     ///< on the first y axis
    QPointF toPixel(double x, double u) const;  ///< u: on the first y axis

  private:
    struct Private;
    std::unique_ptr<Private> d;
};

}  // namespace counterpoint::widgets
