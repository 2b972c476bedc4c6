#include "widgets/plotcanvas.h"

#include <QFontMetricsF>
#include <QPaintDevice>

// The one include of QCustomPlot; its header needs the words that QT_NO_KEYWORDS takes away.
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef signals
#undef slots
#undef foreach

#include <algorithm>
#include <cmath>

namespace counterpoint::widgets {
namespace {

using model::PlotData;
using model::Series;
using model::SeriesKind;

constexpr double kGroupWidth = 0.8, kWaterfallWidth = 0.6;  // of a category's slot

QColor mixed(const QColor& a, const QColor& b, double t) {
    const auto mix = [t](float x, float y) { return static_cast<float>(x + t * (y - x)); };
    return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()));
}

/// What all parts of one drawing share.
struct Scene {
    Look look;
    PlotData plot;
    Prepared prepared;
    double cursorX = -1;
    std::optional<double> hoverX;

    const Theme& theme() const { return *look.theme; }
    double px(double n) const { return n * look.px; }
    int whole(double n) const { return static_cast<int>(std::lround(n * look.px)); }
    QPen pen(const QColor& colour, double width, Qt::PenStyle style = Qt::SolidLine) const {
        QPen p(colour, std::max(width, 0.25) * look.px, style, Qt::FlatCap, Qt::MiterJoin);
        return p;
    }
    bool categories() const { return !plot.x.categories.empty(); }
    QColor barColour(const Series& s, std::size_t i) const {
        const QColor c = seriesColour(theme(), i < s.pointColours.size() ? s.pointColours[i] : s.colour);
        if (i >= s.grey.size() || !s.grey[i]) return c;
        return s.colour == -2 ? theme().grey : mixed(theme().grey, c, 0.15);
    }
};

class Ticker : public QCPAxisTicker {
  public:
    enum Kind { Values, SecondValues, X };
    Ticker(const Scene& scene, Kind kind, const QCPAxisRect* rect) : m_scene(scene), m_kind(kind), m_rect(rect) {}
    void generate(const QCPRange& range, const QLocale&, QChar, int, QVector<double>& at, QVector<double>* sub,
                  QVector<QString>* labels) override {
        at.clear();
        if (sub != nullptr) sub->clear();
        if (labels != nullptr) labels->clear();
        for (const Tick& tick : make({range.lower, range.upper})) {
            at.append(tick.u);
            if (labels != nullptr) labels->append(tick.label);
        }
    }

  private:
    std::vector<Tick> make(const Range& range) const {
        const double line = QFontMetricsF(m_scene.look.font).height();
        if (m_kind != X) {
            const int count = std::clamp(static_cast<int>(m_rect->height() / (2.4 * line)), 2, 8);
            return ticks(m_kind == Values ? m_scene.prepared.y : m_scene.prepared.y2, range, count);
        }
        if (m_scene.categories()) return categoryTicks(range);
        return positionTicks(range, std::clamp(static_cast<int>(m_rect->width() / (5.0 * line)), 2, 12));
    }
    std::vector<Tick> categoryTicks(const Range& range) const {
        std::vector<Tick> out;
        const QFontMetricsF metrics(m_scene.look.font);
        const double slot = m_rect->width() / std::max(1.0, range.size());
        const auto& names = m_scene.plot.x.categories;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto u = static_cast<double>(i);
            if (u < range.lower || u > range.upper) continue;
            out.push_back({u, metrics.elidedText(QString::fromStdString(names[i]), Qt::ElideRight,
                                                 std::max(slot - m_scene.px(2), metrics.averageCharWidth() * 2))});
        }
        return out;
    }
    const Scene& m_scene;
    Kind m_kind;
    const QCPAxisRect* m_rect;
};

/// Bars and waterfalls, one plottable a series; member `index` of `count` in a group.
class BarsPlottable : public QCPAbstractPlottable {
  public:
    BarsPlottable(QCPAxis* key, QCPAxis* value, const Scene& scene, std::size_t series, std::size_t index,
                  std::size_t count)
        : QCPAbstractPlottable(key, value), m_scene(scene), m_series(series), m_index(index), m_count(count) {}
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }
    QCPRange getKeyRange(bool& found, QCP::SignDomain) const override {
        found = false;
        return {};
    }
    QCPRange getValueRange(bool& found, QCP::SignDomain, const QCPRange&) const override {
        found = false;
        return {};
    }

  protected:
    void draw(QCPPainter* painter) override {
        const Series& s = m_scene.plot.series[m_series];
        const Prepared::Values& v = m_scene.prepared.series[m_series];
        const QCPRange range = mValueAxis->range();
        const bool waterfall = s.kind == SeriesKind::Waterfall;
        const double group = waterfall ? kWaterfallWidth : kGroupWidth;
        const double width = group / static_cast<double>(m_count);
        const double base = std::clamp(0.0, range.lower, range.upper);
        const bool logarithmic = !waterfall && m_scene.prepared.y.logarithmic;
        painter->setAntialiasing(m_scene.look.paper);
        QPointF previousEnd;
        bool hasPrevious = false;
        for (std::size_t i = 0; i < v.u.size(); ++i) {
            double from = waterfall ? v.low[i] : logarithmic ? range.lower : base, to = waterfall ? v.high[i] : v.u[i];
            if (std::isnan(from) || std::isnan(to)) continue;
            from = std::clamp(from, range.lower, range.upper);
            to = std::clamp(to, range.lower, range.upper);
            const double x0 = s.x[i] - group / 2 + width * static_cast<double>(m_index), x1 = x0 + width;
            double left = mKeyAxis->coordToPixel(x0), right = mKeyAxis->coordToPixel(x1);
            const double a = mValueAxis->coordToPixel(from), b = mValueAxis->coordToPixel(to);
            if (!m_scene.look.paper) {
                left = std::round(left);
                right = std::round(right);
            }
            if (m_count > 1 && right - left > m_scene.px(4)) right -= m_scene.px(1);
            if (waterfall && hasPrevious) {
                painter->setPen(m_scene.pen(m_scene.theme().quiet, 0.75, Qt::DotLine));
                // The total stands on zero: what leads to it ends where it ends.
                painter->drawLine(previousEnd, QPointF(left, previousEnd.y()));
            }
            // A value of 0 or next to it stays visible as a line of one pixel.
            const double top = std::min(a, b), height = std::max(std::abs(a - b), m_scene.px(to == from ? 1 : 0.5));
            painter->fillRect(QRectF(left, top, std::max(right - left, m_scene.px(1)), height),
                              m_scene.barColour(s, i));
            previousEnd = {right, b};
            hasPrevious = waterfall;
        }
    }
    void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

  private:
    const Scene& m_scene;
    std::size_t m_series, m_index, m_count;
};

/// Selected category, behind the bars.
class Backdrop : public QCPAbstractItem {
  public:
    Backdrop(QCustomPlot* plot, const Scene& scene) : QCPAbstractItem(plot), m_scene(scene) {}
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

  protected:
    void draw(QCPPainter* painter) override {
        if (m_scene.look.paper || !m_scene.categories() || m_scene.cursorX < 0) return;
        const QCPAxis* x = parentPlot()->xAxis;
        const QRect area = parentPlot()->axisRect()->rect();
        const double left = x->coordToPixel(m_scene.cursorX - 0.5), right = x->coordToPixel(m_scene.cursorX + 0.5);
        painter->fillRect(QRectF(std::round(left), area.top(), std::round(right) - std::round(left), area.height()),
                          m_scene.theme().selection);
    }

  private:
    const Scene& m_scene;
};

/// Gap marks, the cursor, the flip and the hover line, above the series.
class Overlay : public QCPAbstractItem {
  public:
    Overlay(QCustomPlot* plot, const Scene& scene) : QCPAbstractItem(plot), m_scene(scene) {}
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

  protected:
    void draw(QCPPainter* painter) override {
        const Theme& t = m_scene.theme();
        const QRectF area = parentPlot()->axisRect()->rect();
        const auto line = [&](double value, const QPen& pen) {
            const double x = parentPlot()->xAxis->coordToPixel(value);
            if (x < area.left() || x > area.right()) return;
            painter->setPen(pen);
            painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        };
        painter->setAntialiasing(m_scene.look.paper);
        if (!m_scene.categories() && !m_scene.look.paper) {
            if (m_scene.hoverX) line(*m_scene.hoverX, m_scene.pen(t.line, 1));
            if (m_scene.cursorX >= 0) line(m_scene.cursorX, m_scene.pen(t.accent, 1));
        }
        if (m_scene.plot.flipX >= 0) {
            line(m_scene.plot.flipX - 0.5, m_scene.pen(t.quiet, 1, Qt::DashLine));
            flipLabels(painter, area);
        }
        painter->setAntialiasing(true);
        for (const Gap& gap : m_scene.prepared.gaps) mark(painter, area, gap);
    }

  private:
    void flipLabels(QCPPainter* painter, const QRectF& area) {
        const double x = parentPlot()->xAxis->coordToPixel(m_scene.plot.flipX - 0.5);
        const double pad = m_scene.px(6);
        painter->setFont(m_scene.look.font);
        painter->setPen(m_scene.theme().quiet);
        const QFontMetricsF metrics(m_scene.look.font);
        const auto label = [&](const QString& text, double left) {
            const double width = metrics.horizontalAdvance(text);
            if (left < area.left() || left + width > area.right()) return;
            painter->fillRect(
                QRectF(left - m_scene.px(2), area.top(), width + m_scene.px(4), metrics.height() + m_scene.px(3)),
                m_scene.theme().surface);
            painter->drawText(QPointF(left, area.top() + metrics.ascent() + m_scene.px(2)), text);
        };
        const QString exact = QStringLiteral("exact");
        label(exact, x - pad - metrics.horizontalAdvance(exact));
        label(QStringLiteral("teacher-forced"), x + pad);
    }
    void mark(QCPPainter* painter, const QRectF& area, const Gap& gap) {
        const double x = parentPlot()->xAxis->coordToPixel(gap.x), r = m_scene.px(3.5);
        if (x < area.left() - 0.5 || x > area.right() + 0.5) return;
        painter->setPen(Qt::NoPen);
        painter->setBrush(seriesColour(m_scene.theme(), m_scene.plot.series[gap.series].colour));
        const double top = area.top() + m_scene.px(1), bottom = area.bottom() - m_scene.px(1);
        switch (gap.kind) {
            case GapKind::PlusInfinity:
                painter->drawPolygon(QPolygonF({{x, top}, {x - r, top + 2 * r}, {x + r, top + 2 * r}}));
                break;
            case GapKind::MinusInfinity:
            case GapKind::NotPositive:
                painter->drawPolygon(QPolygonF({{x, bottom}, {x - r, bottom - 2 * r}, {x + r, bottom - 2 * r}}));
                break;
            case GapKind::NotANumber:
                painter->setPen(m_scene.pen(painter->brush().color(), 1.25));
                painter->drawLine(QPointF(x - r, bottom - 2 * r), QPointF(x + r, bottom));
                painter->drawLine(QPointF(x - r, bottom), QPointF(x + r, bottom - 2 * r));
                break;
        }
        painter->setBrush(Qt::NoBrush);
    }
    const Scene& m_scene;
};

/// The legend as rows of swatch and name from the left, then the note; one line each when they fit.
class LegendRow : public QCPLayoutElement {
  public:
    explicit LegendRow(QCustomPlot* plot, const Scene& scene) : QCPLayoutElement(plot), m_scene(scene) {
        setLayer("legend");
    }
    void fit(double width) {
        const std::vector<Entry> entries = arrange(width);
        const double height = entries.empty() ? 0 : entries.back().y + lineHeight() + m_scene.px(4);
        setMinimumSize(0, static_cast<int>(std::ceil(height)));
        setMaximumSize(QWIDGETSIZE_MAX, static_cast<int>(std::ceil(height)));
    }

  protected:
    void draw(QCPPainter* painter) override {
        const QFontMetricsF metrics(m_scene.look.font);
        painter->setFont(m_scene.look.font);
        for (const Entry& e : arrange(rect().width())) {
            const QPointF at(rect().left() + e.x, rect().top() + e.y);
            if (e.series != nullptr)
                swatch(painter, QRectF(at.x(), at.y(), m_scene.px(kSwatch), lineHeight()), *e.series);
            painter->setPen(e.series != nullptr ? m_scene.theme().text : m_scene.theme().quiet);
            const double offset = e.series != nullptr ? m_scene.px(kSwatch + 5) : 0;
            painter->drawText(QPointF(at.x() + offset, at.y() + metrics.ascent()), e.text);
        }
    }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(true); }

  private:
    static constexpr double kSwatch = 14;
    struct Entry {
        double x, y;
        const Series* series;
        QString text;
    };
    double lineHeight() const { return QFontMetricsF(m_scene.look.font).height(); }
    std::vector<Entry> arrange(double width) const {
        std::vector<Entry> out;
        const QFontMetricsF metrics(m_scene.look.font);
        double x = 0, y = 0;
        const auto place = [&](const Series* series, const QString& text) {
            const double own = metrics.horizontalAdvance(text) + (series != nullptr ? m_scene.px(kSwatch + 5) : 0);
            if (x > 0 && x + own > width) {
                x = 0;
                y += lineHeight() + m_scene.px(2);
            }
            out.push_back({x, y, series,
                           metrics.elidedText(
                               text, Qt::ElideRight,
                               std::max(m_scene.px(20), width - (series != nullptr ? m_scene.px(kSwatch + 5) : 0)))});
            x += own + m_scene.px(14);
        };
        // A band belongs to the line of its colour, and one series with no rival needs no legend.
        const auto count = std::count_if(m_scene.plot.series.begin(), m_scene.plot.series.end(),
                                         [](const Series& s) { return s.kind != SeriesKind::Band; });
        if (m_scene.look.legend && count > 1)
            for (const Series& s : m_scene.plot.series)
                if (s.kind != SeriesKind::Band) place(&s, QString::fromStdString(s.name));
        if (!m_scene.look.paper && !m_scene.plot.note.empty())
            place(nullptr, QString::fromStdString(m_scene.plot.note));
        if (!m_scene.prepared.gapNote.isEmpty()) place(nullptr, m_scene.prepared.gapNote);
        return out;
    }
    void swatch(QCPPainter* painter, const QRectF& box, const Series& s) const {
        const QColor colour = seriesColour(m_scene.theme(), s.colour);
        const double middle = box.center().y();
        if (s.kind == SeriesKind::Bars || s.kind == SeriesKind::Waterfall) {
            const double side = m_scene.px(8);
            painter->fillRect(QRectF(box.right() - side - m_scene.px(2), middle - side / 2, side, side), colour);
            return;
        }
        painter->setPen(m_scene.pen(colour, m_scene.look.lineWidth, s.colour == -1 ? Qt::DashLine : Qt::SolidLine));
        painter->drawLine(QPointF(box.left(), middle), QPointF(box.right(), middle));
    }
    const Scene& m_scene;
};

}  // namespace

struct PlotCanvas::Private {
    Scene scene;
    std::unique_ptr<QCustomPlot> plot;
    LegendRow* legend = nullptr;

    void styleAxis(QCPAxis* axis, const QString& title) {
        const Theme& t = scene.theme();
        axis->setTickLabelFont(scene.look.font);
        axis->setLabelFont(scene.look.font);
        axis->setTickLabelColor(t.quiet);
        axis->setLabelColor(t.quiet);
        axis->setLabel(title);
        axis->setNumberFormat(QStringLiteral("g"));
        axis->setSubTicks(false);
        axis->setTickLength(0, scene.whole(3));
        axis->setTickLabelPadding(scene.whole(4));
        axis->setLabelPadding(scene.whole(5));
        axis->setBasePen(scene.pen(t.line, scene.look.paper ? 0.5 : 1));
        axis->setTickPen(scene.pen(t.line, scene.look.paper ? 0.5 : 1));
        axis->grid()->setPen(scene.pen(t.grid, scene.look.paper ? 0.4 : 1));
        axis->grid()->setZeroLinePen(scene.pen(t.line, scene.look.paper ? 0.4 : 1));
        axis->grid()->setSubGridVisible(false);
    }
    void addLine(const Series& s, const Prepared::Values& v, QCPAxis* value);
    void addBand(const Series& s, const Prepared::Values& v, QCPAxis* value);
    void style();
    void build();
    /// How many ticks fit depends on the axis rect and its margins on the ticks: one round of layout ahead of the one
    /// that draws.
    void layOut() {
        for (const auto phase :
             {QCPLayoutElement::upPreparation, QCPLayoutElement::upMargins, QCPLayoutElement::upLayout})
            plot->plotLayout()->update(phase);
    }
    void fitLegend(double width) {
        const QMargins m = plot->plotLayout()->outerRect().isNull() ? QMargins() : plot->plotLayout()->margins();
        legend->fit(width - m.left() - m.right() - legend->margins().left() - legend->margins().right());
    }
};

void PlotCanvas::Private::addLine(const Series& s, const Prepared::Values& v, QCPAxis* value) {
    const QColor colour = seriesColour(scene.theme(), s.colour);
    const bool quiet = s.colour == -1;
    QCPGraph* graph = plot->addGraph(plot->xAxis, value);
    graph->setLineStyle(s.kind == SeriesKind::Steps ? QCPGraph::lsStepCenter : QCPGraph::lsLine);
    graph->setPen(scene.pen(colour, scene.look.lineWidth * (quiet ? 0.75 : 1), quiet ? Qt::DashLine : Qt::SolidLine));
    QSharedPointer<QCPGraphDataContainer> data(new QCPGraphDataContainer);
    QVector<QCPGraphData> points;
    points.reserve(static_cast<qsizetype>(s.x.size()));
    for (std::size_t i = 0; i < s.x.size(); ++i) points.append({s.x[i], v.u[i]});
    data->set(points, true);
    graph->setData(data);
    if (v.alone.empty()) return;
    QCPGraph* dots = plot->addGraph(plot->xAxis, value);
    dots->setLineStyle(QCPGraph::lsNone);
    dots->setPen(scene.pen(colour, 1));
    dots->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, QPen(Qt::NoPen), QBrush(colour), scene.px(5)));
    for (const std::size_t i : v.alone) dots->addData(s.x[i], v.u[i]);
}

void PlotCanvas::Private::addBand(const Series& s, const Prepared::Values& v, QCPAxis* value) {
    QColor fill = seriesColour(scene.theme(), s.colour);
    // Paper has no transparency: every viewer and every converter shows a mixed colour alike.
    fill = scene.look.paper ? mixed(scene.theme().surface, fill, 0.25) : fill;
    if (!scene.look.paper) fill.setAlphaF(0.22F);
    QVector<double> x, low, high;
    const auto add = [&](double at, double from, double to) {
        x.append(at);
        low.append(from);
        high.append(to);
    };
    // Each x owns [x − ½, x + ½]; where the next one does not follow the band ends and a gap stands between.
    for (std::size_t i = 0; i < s.x.size(); ++i) {
        const bool follows = i > 0 && s.x[i] - s.x[i - 1] < 1.5;
        if (i > 0 && !follows) add(s.x[i] - 0.5, qQNaN(), qQNaN());
        add(s.x[i] - 0.5, v.low[i], v.high[i]);
        add(s.x[i] + 0.5, v.low[i], v.high[i]);
    }
    QCPGraph* upper = plot->addGraph(plot->xAxis, value);
    QCPGraph* lower = plot->addGraph(plot->xAxis, value);
    for (QCPGraph* graph : {upper, lower}) graph->setPen(Qt::NoPen);
    upper->setData(x, high, true);
    lower->setData(x, low, true);
    upper->setBrush(fill);
    upper->setChannelFillGraph(lower);
}

void PlotCanvas::Private::style() {
    const PlotData& p = scene.plot;
    plot->setBackground(QBrush(scene.theme().surface));
    const auto title = [](const std::string& text) { return QString::fromStdString(text); };
    styleAxis(plot->xAxis, scene.categories() ? QString() : title(p.x.title));
    styleAxis(plot->yAxis, title(p.y.title));
    styleAxis(plot->yAxis2, title(p.y2.title));
    plot->xAxis->grid()->setVisible(!scene.categories());
    plot->xAxis->setTickLength(0, scene.categories() ? 0 : scene.whole(3));
    plot->xAxis->grid()->setZeroLinePen(Qt::NoPen);
    plot->yAxis2->setVisible(scene.prepared.hasSecond);
    plot->yAxis2->grid()->setVisible(false);
    plot->plotLayout()->setRowSpacing(0);
    const int side = scene.whole(scene.look.paper ? 2 : 10), edge = scene.whole(scene.look.paper ? 2 : 8);
    plot->plotLayout()->setMargins(QMargins(side, edge, side, edge));
    // Numbers at the ends of the x axis stand half beside it.
    plot->axisRect()->setMinimumMargins(QMargins(scene.whole(8), scene.whole(4), scene.whole(12), scene.whole(4)));
}

void PlotCanvas::Private::build() {
    plot->clearPlottables();
    const auto& series = scene.plot.series;
    const auto isBars = [](const Series& s) { return s.kind == SeriesKind::Bars || s.kind == SeriesKind::Waterfall; };
    const auto bars = static_cast<std::size_t>(std::count_if(series.begin(), series.end(), isBars));
    std::size_t bar = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
        QCPAxis* value = series[i].secondAxis ? plot->yAxis2 : plot->yAxis;
        if (isBars(series[i]))
            new BarsPlottable(plot->xAxis, value, scene, i, bar++, bars);
        else if (series[i].kind == SeriesKind::Band)
            addBand(series[i], scene.prepared.series[i], value);
        else
            addLine(series[i], scene.prepared.series[i], value);
    }
    const auto set = [](QCPAxis* axis, const Range& range) { axis->setRange(range.lower, range.upper); };
    set(plot->yAxis, scene.prepared.y.range);
    set(plot->yAxis2, scene.prepared.y2.range);
}

PlotCanvas::PlotCanvas(QWidget* parent) : d(std::make_unique<Private>()) {
    d->scene.look.theme = &currentTheme();
    d->plot = std::make_unique<QCustomPlot>(parent);
    QCustomPlot* plot = d->plot.get();
    plot->setAutoAddPlottableToLegend(false);
    plot->setInteractions({});
    plot->legend->setVisible(false);
    plot->addLayer(QStringLiteral("backdrop"), plot->layer(QStringLiteral("background")), QCustomPlot::limAbove);
    plot->plotLayout()->insertRow(0);
    d->legend = new LegendRow(plot, d->scene);
    plot->plotLayout()->addElement(0, 0, d->legend);
    plot->setCurrentLayer(QStringLiteral("backdrop"));
    (new Backdrop(plot, d->scene))->setClipToAxisRect(false);
    plot->setCurrentLayer(QStringLiteral("overlay"));
    (new Overlay(plot, d->scene))->setClipToAxisRect(false);
    plot->setCurrentLayer(QStringLiteral("main"));
    const QCPAxisRect* rect = plot->axisRect();
    plot->xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new Ticker(d->scene, Ticker::X, rect)));
    plot->yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new Ticker(d->scene, Ticker::Values, rect)));
    plot->yAxis2->setTicker(QSharedPointer<QCPAxisTicker>(new Ticker(d->scene, Ticker::SecondValues, rect)));
}

PlotCanvas::~PlotCanvas() = default;
QWidget* PlotCanvas::widget() const { return d->plot.get(); }

void PlotCanvas::setLook(Look look) {
    d->scene.look = std::move(look);
    d->style();
    d->build();
}

void PlotCanvas::setFigure(const PlotData& plot, const Prepared& prepared) {
    d->scene.plot = plot;
    d->scene.prepared = prepared;
    d->scene.cursorX = plot.cursorX;
    d->style();
    d->build();
}

void PlotCanvas::setVisibleX(Range range) { d->plot->xAxis->setRange(range.lower, range.upper); }
void PlotCanvas::setCursorX(double x) { d->scene.cursorX = x; }
void PlotCanvas::setHoverX(std::optional<double> x) { d->scene.hoverX = x; }

void PlotCanvas::draw() {
    d->fitLegend(d->plot->width());
    d->layOut();
    d->plot->replot(QCustomPlot::rpQueuedRefresh);
}

void PlotCanvas::paint(QPaintDevice& device, const QSize& units) {
    QCPPainter painter;
    painter.begin(&device);
    painter.setMode(QCPPainter::pmVectorized);
    painter.setMode(QCPPainter::pmNoCaching);
    painter.setMode(QCPPainter::pmNonCosmetic);
    // A device of other resolution (a PNG) is scaled; pdf and svg run in these units themselves.
    painter.scale(static_cast<double>(device.width()) / units.width(),
                  static_cast<double>(device.height()) / units.height());
    painter.fillRect(QRect(QPoint(0, 0), units), d->scene.theme().surface);
    d->fitLegend(units.width());
    d->plot->setViewport(QRect(QPoint(0, 0), units));
    d->layOut();
    d->plot->toPainter(&painter, units.width(), units.height());
    painter.end();
}

double PlotCanvas::xAt(const QPointF& pixel) const { return d->plot->xAxis->pixelToCoord(pixel.x()); }
QPointF PlotCanvas::toPixel(double x, double u) const {
    return {d->plot->xAxis->coordToPixel(x), d->plot->yAxis->coordToPixel(u)};
}

}  // namespace counterpoint::widgets
