#pragma once
// PlotView draws one PlotData: lines, steps, bands, grouped bars, waterfalls, error bars, a heat map, category axes, a
// second axis, a log switch. Values that have no place on the axis are gaps with a mark and a count (plotscale.h); the
// axis comes from the others. A person moves the shared cursor by click or arrow keys, zooms on x by wheel or +/-,
// resets by double click or 0, and reads exact values under the mouse. Thread: the window thread. Drawing goes through
// a FrameLimiter.

#include <QLabel>
#include <QWidget>
#include <memory>

#include "compute/step.h"
#include "model/figure.h"
#include "widgets/palette.h"

class QPaintDevice;

namespace counterpoint::widgets {

/// The sentence that stands where there is nothing to draw. As large as a plot, so that one can take the other's place.
class EmptyNote : public QLabel {
  public:
    explicit EmptyNote(QWidget* parent);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
};

class PlotView : public QWidget {
    Q_OBJECT
  public:
    explicit PlotView(QWidget* parent = nullptr);
    ~PlotView() override;

    /// The zoom is kept while the plot's id stays the same and its x range has not shrunk below the zoom.
    void setPlot(model::PlotData plot);
    const model::PlotData& plot() const;
    /// y on a logarithmic axis; switching there and back loses nothing.
    void setLogarithmic(bool on);
    bool logarithmic() const;
    void setLegendVisible(bool on);
    bool zoomed() const;
    void resetZoom();
    /// Zooms on x by `factor` (< 1: in) around `x`.
    void zoom(double factor, double x);
    /// What is said under the mouse at x, one line a series, exact values; of x that are no positions the nearest.
    QString readout(double x) const;
    /// What is said under the mouse at a pixel: of a heat map its cell, else the read-out at its x.
    QString readoutAt(const QPointF& pixel) const;
    /// Pixel of a data point and back, for tests and overlays.
    QPointF toPixel(double x, double y) const;
    double xAt(const QPointF& pixel) const;
    /// How often this view has been drawn.
    quint64 replots() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void positionPicked(counterpoint::compute::Position position);  ///< the plot's x is a position
    void categoryPicked(int index);                                 ///< the plot's x is a category
    void categoryActivated(int index);                              ///< double click or Enter on a category
    void zoomChanged();

  protected:
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void pick(double x);
    void hover(const QPointF& at, const QPoint& global);
    struct Private;
    std::unique_ptr<Private> d;
};

/// Draws `plot` on a paint device in units of 1/kFigureUnitsPerPoint point, exactly size.width() × size.height() units,
/// independent of any screen. Used by plotrender. Thread: the window thread.
constexpr int kFigureUnitsPerPoint = 10;
void paintFigure(QPaintDevice& device, const QSize& units, const model::PlotData& plot, const model::FigureStyle& style,
                 const Theme& theme);

}  // namespace counterpoint::widgets
