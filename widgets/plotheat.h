#pragma once
// A heat map: rows (experts, the first on top) over columns (positions), a colour bar beside it, chosen cells outlined
// where they are large enough. On pixels (a screen, a PNG) every pixel is the mean of the cells whose middle lies in
// it, so that no cell is left out where there are more than pixels; the picture is kept and made again only for another
// place or range. In a vector figure cells are rectangles that reach under the next ones, without seams; from 4,000 on
// one picture, without loss. What has no value, or none that is finite, is grey. Thread: the window thread.

#include <QImage>
#include <array>

#include "widgets/plotscene.h"

namespace counterpoint::widgets {

constexpr std::size_t kMostRectangles = 4000;

/// Colours of a map's values: 256 even steps of what it shows, and the grey of a gap. Neutral stands for 0.
class HeatColours {
  public:
    HeatColours(const model::Heat& heat, const Theme& theme);
    QRgb at(float value) const;
    double low() const { return m_low; }
    double high() const { return m_high; }

  private:
    double m_low, m_high;
    std::array<QRgb, 256> m_steps;
    QRgb m_gap;
};

class HeatPicture {
  public:
    void paint(QPainter& painter, const Scene& scene, const Frame& frame);
    /// How often the picture was made.
    int made() const { return m_made; }

  private:
    QImage m_image;
    QRect m_room;
    std::array<double, 2> m_span{};
    int m_made = 0;
};

/// Between the axis rectangle and its second axis, which begins barRoom() further right.
void paintColourBar(QPainter& painter, const Scene& scene, const Frame& frame);
double barRoom(const Scene& scene);
/// The column under the cursor, readable on every colour.
void paintColumn(QPainter& painter, const Scene& scene, const Frame& frame, double x, const QColor& colour);

/// "Position 12 · expert 3", "inclusion probability: 0.4123" and "chosen" of the cell at x and row; empty: there is
/// none.
QString cellText(const model::PlotData& plot, double x, double row);

}  // namespace counterpoint::widgets
