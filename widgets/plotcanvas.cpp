#include "widgets/plotcanvas.h"

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

#include "widgets/plotheat.h"

namespace counterpoint::widgets {
namespace {

using model::PlotData;
using model::Series;
using model::SeriesKind;

/// The axis rectangle as plotscene sees it.
Frame frameOf(const QCustomPlot& plot, const QCPAxis& value) {
    return {.area = plot.axisRect()->rect(),
            .x = [&plot](double x) { return plot.xAxis->coordToPixel(x); },
            .y = [&value](double u) { return value.coordToPixel(u); }};
}

class Ticker : public QCPAxisTicker {
  public:
    Ticker(const Scene& scene, AxisKind kind, const QCPAxisRect* rect) : m_scene(scene), m_kind(kind), m_rect(rect) {}
    void generate(const QCPRange& range, const QLocale&, QChar, int, QVector<double>& at, QVector<double>* sub,
                  QVector<QString>* labels) override {
        at.clear();
        if (sub != nullptr) sub->clear();
        if (labels != nullptr) labels->clear();
        for (const Tick& tick : axisTicks(m_scene, m_kind, {range.lower, range.upper}, m_rect->size())) {
            at.append(tick.u);
            if (labels != nullptr) labels->append(tick.label);
        }
    }

  private:
    const Scene& m_scene;
    AxisKind m_kind;
    const QCPAxisRect* m_rect;
};

/// What plotscene and plotheat paint within the axis rectangle.
class Painted : public QCPAbstractPlottable {
  public:
    using Paint = std::function<void(QPainter& painter, const Frame& frame, const Range& y)>;
    Painted(QCPAxis* key, QCPAxis* value, bool smooth, Paint paint)
        : QCPAbstractPlottable(key, value), m_smooth(smooth), m_paint(std::move(paint)) {}
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
        painter->setAntialiasing(m_smooth);
        const QCPRange range = mValueAxis->range();
        m_paint(*painter, frameOf(*mParentPlot, *mValueAxis), {range.lower, range.upper});
    }
    void drawLegendIcon(QCPPainter*, const QRectF&) const override {}

  private:
    bool m_smooth;
    Paint m_paint;
};

/// What stands on a layer of its own: the selection behind the bars; gaps, cursor and flip above everything.
class Layer : public QCPAbstractItem {
  public:
    enum Place { Behind, Above };
    Layer(QCustomPlot* plot, const Scene& scene, Place place) : QCPAbstractItem(plot), m_scene(scene), m_place(place) {
        setClipToAxisRect(false);
    }
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

  protected:
    void draw(QCPPainter* painter) override {
        const Frame frame = frameOf(*parentPlot(), *parentPlot()->yAxis);
        if (m_place == Behind) return paintSelection(*painter, m_scene, frame);
        painter->setAntialiasing(m_scene.look.paper);
        if (m_scene.plot.heat) paintColourBar(*painter, m_scene, frame);
        paintErrors(*painter, m_scene, frame);
        paintMarkers(*painter, m_scene, frame);
        painter->setAntialiasing(true);
        paintGaps(*painter, m_scene, frame);
    }

  private:
    const Scene& m_scene;
    Place m_place;
};

class LegendRow : public QCPLayoutElement {
  public:
    explicit LegendRow(QCustomPlot* plot, const Scene& scene) : QCPLayoutElement(plot), m_scene(scene) {
        setLayer("legend");
    }
    void fit(double width) {
        const int height = static_cast<int>(std::ceil(legendHeight(m_scene, width)));
        setMinimumSize(0, height);
        setMaximumSize(QWIDGETSIZE_MAX, height);
    }

  protected:
    void draw(QCPPainter* painter) override { paintLegend(*painter, m_scene, rect()); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(true); }

  private:
    const Scene& m_scene;
};

}  // namespace

constexpr double kTall = 240, kLow = 170;  // px: room for names that stand upright; none for the title of positions

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
        const double width = scene.look.paper ? 0.3 : 1;  // quiet beside the lines of the data
        axis->setSubTicks(false);
        axis->setTickLength(0, scene.whole(3));
        axis->setTickLabelPadding(scene.whole(4));
        axis->setLabelPadding(scene.whole(5));
        axis->setBasePen(scene.pen(t.line, width));
        axis->setTickPen(scene.pen(t.line, width));
        axis->grid()->setPen(scene.pen(t.grid, width));
        axis->grid()->setZeroLinePen(scene.pen(t.line, width));
        axis->grid()->setSubGridVisible(false);
    }
    void addLine(const Series& s, const Prepared::Values& v, QCPAxis* value);
    void addBand(const Series& s, const Prepared::Values& v, QCPAxis* value);
    void style();
    void build();
    /// How many ticks and which titles fit depends on the axis rect, and its margins on them: one round of layout ahead
    /// of the one that draws.
    void layOut() {
        const bool low = !scene.look.paper && plot->viewport().height() < scene.px(kLow);
        const auto title = [](const std::string& text) { return QString::fromStdString(text); };
        // From nothing each time: what fitted before must not decide what fits now.
        plot->xAxis->setLabel(scene.categories() || low ? QString() : title(scene.plot.x.title));
        plot->yAxis->setLabel(title(scene.plot.y.title));
        plot->yAxis2->setLabel(title(scene.plot.y2.title));
        plot->xAxis->setTickLabelRotation(0);
        scene.twoLines = false;
        scene.categoryRoom = 0;
        round();
        fitCategories();
        round();
        fitTitle(plot->yAxis, scene.plot.y.title);
        fitTitle(plot->yAxis2, scene.plot.y2.title);
        round();
    }
    void round() {
        for (const auto phase :
             {QCPLayoutElement::upPreparation, QCPLayoutElement::upMargins, QCPLayoutElement::upLayout})
            plot->plotLayout()->update(phase);
    }
    /// Names that would be cut side by side stand in two lines in turn; upright where there is height for it, or where
    /// two lines are not enough and there is.
    void fitCategories() {
        if (!scene.categories()) return;
        double widest = 0;
        for (std::size_t i = 0; i < scene.plot.x.categories.size(); ++i)
            widest = std::max(widest, scene.metrics().horizontalAdvance(scene.category(i)));
        const double slot = plot->axisRect()->width() / static_cast<double>(scene.plot.x.categories.size());
        const double height = plot->viewport().height();
        const bool fits = widest <= slot - scene.px(3);
        const bool upright = !fits && (scene.look.paper || height > scene.px(kTall));
        scene.twoLines = !fits && !upright;
        plot->xAxis->setTickLabelRotation(upright ? -90 : 0);
        scene.categoryRoom = upright          ? std::max(scene.px(24), 0.36 * height)
                             : scene.twoLines ? 2 * slot - scene.px(4)
                                              : slot;
    }
    void fitTitle(QCPAxis* axis, const std::string& title) {
        axis->setLabel(fittingTitle(QString::fromStdString(title), plot->axisRect()->height(), scene.metrics()));
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
    QPen pen = scene.pen(colour, scene.look.lineWidth * (quiet ? 0.75 : 1), quiet ? Qt::DashLine : Qt::SolidLine);
    // On a screen QCustomPlot draws piece by piece, which is faster: square ends close the corners between them.
    if (!scene.look.paper && !quiet) pen.setCapStyle(Qt::SquareCap);
    // A mitre's length is each program's own: a peak would end higher in one file than in the other.
    if (scene.look.paper) pen.setJoinStyle(Qt::RoundJoin);
    graph->setPen(pen);
    QSharedPointer<QCPGraphDataContainer> data(new QCPGraphDataContainer);
    QVector<QCPGraphData> points;
    points.reserve(static_cast<qsizetype>(s.x.size()));
    for (std::size_t i = 0; i < s.x.size(); ++i) points.append({s.x[i], v.u[i]});
    data->set(points, true);
    graph->setData(data);
    const QCPScatterStyle disc(QCPScatterStyle::ssDisc, QPen(Qt::NoPen), QBrush(colour), scene.px(5));
    if (s.kind == SeriesKind::Points) {
        graph->setLineStyle(QCPGraph::lsNone);
        graph->setScatterStyle(disc);
        return;
    }
    if (v.alone.empty()) return;
    QCPGraph* dots = plot->addGraph(plot->xAxis, value);
    dots->setLineStyle(QCPGraph::lsNone);
    dots->setPen(scene.pen(colour, 1));
    dots->setScatterStyle(disc);
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
    plot->xAxis->grid()->setVisible(!scene.categories() && !p.heat);
    plot->yAxis->grid()->setVisible(!p.heat);
    plot->yAxis->setRangeReversed(p.heat.has_value());  // the first row on top
    plot->yAxis2->setOffset(scene.whole(barRoom(scene) / scene.look.px));
    plot->xAxis->setTickLength(0, scene.categories() ? 0 : scene.whole(3));
    plot->xAxis->grid()->setZeroLinePen(Qt::NoPen);
    plot->yAxis2->setVisible(scene.prepared.hasSecond);
    plot->yAxis2->grid()->setVisible(false);
    // A figure's thin lines have the width of the style wherever they fall; on a screen they are whole pixels.
    plot->setAntialiasedElement(QCP::aeGrid, scene.look.paper);
    plot->setAntialiasedElement(QCP::aeZeroLine, scene.look.paper);
    plot->setAntialiasedElement(QCP::aeAxes, scene.look.paper);
    plot->plotLayout()->setRowSpacing(0);
    const int side = scene.whole(scene.look.paper ? 2 : 10), edge = scene.whole(scene.look.paper ? 2 : 8);
    plot->plotLayout()->setMargins(QMargins(side, edge, side, scene.whole(2)));
    // Numbers at the ends of the x axis stand half beside it.
    const int words = p.flipX >= 0 ? static_cast<int>(std::ceil(scene.metrics().height())) : 0;  // above the flip
    plot->axisRect()->setMinimumMargins(
        QMargins(scene.whole(8), scene.whole(4) + words, scene.whole(12), scene.whole(4)));
}

void PlotCanvas::Private::build() {
    plot->clearPlottables();
    const auto paint = [this](QCPAxis* value, Painted::Paint how) {
        new Painted(plot->xAxis, value, scene.look.paper, std::move(how));
    };
    if (scene.plot.heat)
        paint(plot->yAxis, [this, picture = std::make_shared<HeatPicture>()](
                               QPainter& p, const Frame& frame, const Range&) { picture->paint(p, scene, frame); });
    static const std::vector<Series> kNone;
    const auto& series = scene.plot.heat ? kNone : scene.plot.series;
    const auto isBars = [](const Series& s) { return s.kind == SeriesKind::Bars || s.kind == SeriesKind::Waterfall; };
    const auto bars = static_cast<std::size_t>(std::count_if(series.begin(), series.end(), isBars));
    std::size_t bar = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
        QCPAxis* value = series[i].secondAxis ? plot->yAxis2 : plot->yAxis;
        if (isBars(series[i]))
            paint(value, [this, i, index = bar++, bars](QPainter& p, const Frame& frame, const Range& y) {
                paintBars(p, scene, frame, i, index, bars, y);
            });
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
    plot->setPlottingHint(QCP::phFastPolylines);
    plot->legend->setVisible(false);
    plot->addLayer(QStringLiteral("backdrop"), plot->layer(QStringLiteral("background")), QCustomPlot::limAbove);
    plot->plotLayout()->insertRow(0);
    d->legend = new LegendRow(plot, d->scene);
    plot->plotLayout()->addElement(0, 0, d->legend);
    plot->setCurrentLayer(QStringLiteral("backdrop"));
    new Layer(plot, d->scene, Layer::Behind);
    plot->setCurrentLayer(QStringLiteral("overlay"));
    new Layer(plot, d->scene, Layer::Above);
    plot->setCurrentLayer(QStringLiteral("main"));
    const QCPAxisRect* rect = plot->axisRect();
    plot->xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new Ticker(d->scene, AxisKind::X, rect)));
    plot->yAxis->setTicker(QSharedPointer<QCPAxisTicker>(new Ticker(d->scene, AxisKind::Values, rect)));
    plot->yAxis2->setTicker(QSharedPointer<QCPAxisTicker>(new Ticker(d->scene, AxisKind::SecondValues, rect)));
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
    if (plot.heat && plot.y2.title.empty()) d->scene.plot.y2.title = plot.heat->unit;
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
double PlotCanvas::uAt(const QPointF& pixel) const { return d->plot->yAxis->pixelToCoord(pixel.y()); }
QPointF PlotCanvas::toPixel(double x, double u) const {
    return {d->plot->xAxis->coordToPixel(x), d->plot->yAxis->coordToPixel(u)};
}

}  // namespace counterpoint::widgets
