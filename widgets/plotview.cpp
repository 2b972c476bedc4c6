#include "widgets/plotview.h"

#include <QContextMenuEvent>
#include <QCoreApplication>
#include <QEvent>
#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintDevice>
#include <QStackedLayout>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "widgets/framelimiter.h"
#include "widgets/plotcanvas.h"
#include "widgets/plotheat.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

using model::PlotData;

constexpr double kZoomStep = 0.8, kNarrowest = 4;  // positions

constexpr QSize kPlotSize(480, 220), kSmallestPlot(200, 96);

}  // namespace

EmptyNote::EmptyNote(QWidget* parent) : QLabel(parent) {
    setObjectName(QStringLiteral("plot.empty"));
    setAlignment(Qt::AlignCenter);
    setWordWrap(true);
    setMargin(spacing::page);
    setProperty("role", "quiet");
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
}
QSize EmptyNote::sizeHint() const { return kPlotSize; }
QSize EmptyNote::minimumSizeHint() const { return kSmallestPlot; }

struct PlotView::Private {
    explicit Private(PlotView* view)
        : canvas(view), empty(new EmptyNote(view)), stack(new QStackedLayout), frames(view, [this] { draw(); }) {}

    PlotData plot;
    Prepared prepared;
    PlotCanvas canvas;
    EmptyNote* empty;
    QStackedLayout* stack;
    FrameLimiter frames;
    Look look;
    bool logarithmic = false, stale = true, resized = false;
    Range visible;
    bool zoomed = false;
    quint64 replots = 0;

    Range full() const { return prepared.x.range; }
    bool categories() const { return !plot.x.categories.empty(); }
    /// Where the mouse is: a position, a category, or else the x of the nearest value.
    double place(double x) const {
        if (plot.cursorIsPosition || categories()) return std::round(x);
        double nearest = x, distance = std::numeric_limits<double>::infinity();
        for (const model::Series& s : plot.series)
            for (const double own : s.x)
                if (const double away = std::abs(own - x); away < distance) {
                    distance = away;
                    nearest = own;
                }
        return nearest;
    }
    void draw() {
        if (stale) {
            canvas.setFigure(plot, prepared);
            stale = false;
        }
        canvas.setVisibleX(zoomed ? visible : full());
        canvas.draw();
        ++replots;
    }
    void prepareAgain() {
        prepared = prepare(plot, logarithmic);
        stale = true;
        frames.request();
    }
    void setVisible(Range range) {
        const Range all = full();
        const double size = std::clamp(range.size(), std::min(kNarrowest, all.size()), all.size());
        double lower = range.lower + (range.size() - size) / 2;
        lower = std::clamp(lower, all.lower, all.upper - size);
        visible = {lower, lower + size};
        zoomed = size < all.size() * (1 - 1e-9);
        frames.request();
    }
    void keepCursorVisible(double x) {
        if (!zoomed || x < 0 || (x >= visible.lower && x <= visible.upper)) return;
        setVisible({x - visible.size() / 2, x + visible.size() / 2});
    }
};

PlotView::PlotView(QWidget* parent) : QWidget(parent), d(std::make_unique<Private>(this)) {
    setObjectName(QStringLiteral("plot"));
    setFocusPolicy(Qt::StrongFocus);
    d->stack->setContentsMargins(0, 0, 0, 0);
    d->stack->addWidget(d->canvas.widget());
    d->stack->addWidget(d->empty);
    setLayout(d->stack);
    d->canvas.widget()->setMouseTracking(true);
    d->canvas.widget()->installEventFilter(this);
    d->canvas.widget()->setFocusPolicy(Qt::NoFocus);
    d->look.theme = &currentTheme();
    d->look.font = font();
    d->canvas.setLook(d->look);
    setPlot({});
}

// A canvas that goes sends a last leave event; the filter must not meet a half-destroyed view.
PlotView::~PlotView() { d->canvas.widget()->removeEventFilter(this); }

void PlotView::setPlot(PlotData plot) {
    const bool same = plot.id == d->plot.id && plot.x.categories.empty();
    const double cursor = plot.cursorX;
    d->logarithmic = plot.y.logarithmic;
    d->plot = std::move(plot);
    d->prepareAgain();
    if (!same || !(d->visible.lower >= d->full().lower && d->visible.upper <= d->full().upper)) d->zoomed = false;
    d->keepCursorVisible(cursor);
    const QString why = told(d->plot.empty);
    d->empty->setText(why);
    d->stack->setCurrentWidget(why.isEmpty() && hasDrawing(d->plot) ? d->canvas.widget() : d->empty);
    setAccessibleName(QString::fromStdString(d->plot.title));
    setAccessibleDescription(why.isEmpty() ? told(d->plot.note) : why);
}

const PlotData& PlotView::plot() const { return d->plot; }

void PlotView::setLogarithmic(bool on) {
    if (d->logarithmic == on || d->plot.heat) return;
    d->logarithmic = on;
    d->prepareAgain();
}

bool PlotView::logarithmic() const { return d->logarithmic; }

void PlotView::setLegendVisible(bool on) {
    d->look.legend = on;
    d->canvas.setLook(d->look);
    d->frames.request();
}

bool PlotView::zoomed() const { return d->zoomed; }

void PlotView::resetZoom() {
    d->zoomed = false;
    d->frames.request();
    Q_EMIT zoomChanged();
}

void PlotView::zoom(double factor, double x) {
    if (d->categories() || !hasDrawing(d->plot)) return;
    const Range now = d->zoomed ? d->visible : d->full();
    d->setVisible({x - (x - now.lower) * factor, x + (now.upper - x) * factor});
    Q_EMIT zoomChanged();
}

QString PlotView::readout(double x) const {
    const double at = d->place(x);
    QStringList lines;
    for (const model::Series& s : d->plot.series) {
        if (s.kind == model::SeriesKind::Band) continue;
        const auto it = std::find(s.x.begin(), s.x.end(), at);
        if (it == s.x.end()) continue;
        const auto i = static_cast<std::size_t>(it - s.x.begin());
        const bool interval = s.kind != model::SeriesKind::Waterfall && i < s.low.size();
        lines << shortened(s.name) + QStringLiteral(": ") + formatExact(s.y[i]) +
                     (interval ? tr(" (%1 to %2)").arg(formatExact(s.low[i]), formatExact(s.high[i])) : QString()) +
                     (i < s.grey.size() && s.grey[i] ? tr(" (truncated)") : QString());
    }
    if (lines.isEmpty()) return {};
    const auto category = static_cast<std::size_t>(std::max(0.0, at));
    const QString head = category < d->plot.x.categories.size()
                             ? shortened(d->plot.x.categories[category])
                             : QString::fromStdString(d->plot.x.title) + QLatin1Char(' ') + formatExact(at);
    return head + QLatin1Char('\n') + lines.join(QLatin1Char('\n'));
}

QString PlotView::readoutAt(const QPointF& pixel) const {
    const double x = d->canvas.xAt(pixel);
    return d->plot.heat ? cellText(d->plot, x, d->canvas.uAt(pixel)) : readout(x);
}

QPointF PlotView::toPixel(double x, double y) const { return d->canvas.toPixel(x, d->prepared.y.toU(y)); }
double PlotView::xAt(const QPointF& pixel) const { return d->canvas.xAt(pixel); }
quint64 PlotView::replots() const { return d->replots; }
QSize PlotView::sizeHint() const { return kPlotSize; }
QSize PlotView::minimumSizeHint() const { return kSmallestPlot; }

void PlotView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange && event->type() != QEvent::FontChange &&
        event->type() != QEvent::StyleChange)
        return;
    if (d == nullptr) return;
    d->look.theme = &currentTheme();
    d->look.font = font();
    d->canvas.setLook(d->look);
    d->frames.request();
}

void PlotView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    d->resized = true;
    d->frames.request();
}

void PlotView::keyPressEvent(QKeyEvent* event) {
    const Range shown = d->zoomed ? d->visible : d->full();
    const double middle = d->plot.cursorX >= 0 ? d->plot.cursorX : (shown.lower + shown.upper) / 2;
    const auto move = [this](double x) {
        const Range all = d->full();
        pick(std::clamp(x, std::ceil(all.lower), std::floor(all.upper)));
    };
    switch (event->key()) {
        case Qt::Key_Left:
            move(d->plot.cursorX - 1);
            return;
        case Qt::Key_Right:
            move(d->plot.cursorX + 1);
            return;
        case Qt::Key_Home:
            move(d->full().lower);
            return;
        case Qt::Key_End:
            move(d->full().upper);
            return;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
            zoom(kZoomStep, middle);
            return;
        case Qt::Key_Minus:
            zoom(1 / kZoomStep, middle);
            return;
        case Qt::Key_0:
            resetZoom();
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (d->categories() && d->plot.cursorX >= 0) {
                Q_EMIT categoryActivated(static_cast<int>(d->plot.cursorX));
                return;
            }
            break;
        default:
            break;
    }
    QWidget::keyPressEvent(event);
}

void PlotView::pick(double x) {
    const double at = std::round(x);
    if (!hasDrawing(d->plot) || at < d->full().lower || at > d->full().upper) return;
    if (d->categories())
        Q_EMIT categoryPicked(static_cast<int>(at));
    else if (d->plot.cursorIsPosition)
        Q_EMIT positionPicked(static_cast<compute::Position>(at));
}

void PlotView::hover(const QPointF& at, const QPoint& global) {
    const double x = d->place(d->canvas.xAt(at));
    const QString text = readoutAt(at);
    d->canvas.setHoverX(text.isEmpty() ? std::nullopt : std::optional<double>(x));
    d->frames.request();
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(global, text, this);
}

bool PlotView::eventFilter(QObject* watched, QEvent* event) {
    if (watched != d->canvas.widget()) return QWidget::eventFilter(watched, event);
    switch (event->type()) {
        case QEvent::Paint:  // of a new size: drawn for the old one it would be seen for a moment
            if (std::exchange(d->resized, false)) d->frames.now();
            return false;
        case QEvent::MouseButtonPress: {
            const auto* mouse = static_cast<QMouseEvent*>(event);
            setFocus(Qt::MouseFocusReason);
            if (mouse->button() != Qt::LeftButton) return false;
            pick(d->canvas.xAt(mouse->position()));
            return true;
        }
        case QEvent::MouseButtonDblClick: {
            if (d->categories())
                Q_EMIT categoryActivated(
                    static_cast<int>(std::round(d->canvas.xAt(static_cast<QMouseEvent*>(event)->position()))));
            else
                resetZoom();
            return true;
        }
        case QEvent::MouseMove: {
            const auto* mouse = static_cast<QMouseEvent*>(event);
            if (mouse->buttons() & Qt::LeftButton) pick(d->canvas.xAt(mouse->position()));
            hover(mouse->position(), mouse->globalPosition().toPoint());
            return true;
        }
        case QEvent::ContextMenu: {
            // QCustomPlot lets no mouse event through to what it lies in, and a context menu is one to Qt.
            const auto* menu = static_cast<QContextMenuEvent*>(event);
            QContextMenuEvent onward(menu->reason(), d->canvas.widget()->mapTo(this, menu->pos()), menu->globalPos(),
                                     menu->modifiers());
            QCoreApplication::sendEvent(this, &onward);
            return true;
        }
        case QEvent::Leave:
            d->canvas.setHoverX(std::nullopt);
            d->frames.request();
            return false;
        case QEvent::Wheel: {
            auto* wheel = static_cast<QWheelEvent*>(event);
            if (wheel->angleDelta().y() != 0)
                zoom(std::pow(kZoomStep, wheel->angleDelta().y() / 120.0), d->canvas.xAt(wheel->position()));
            wheel->accept();
            return true;
        }
        default:
            return false;
    }
}

void paintFigure(QPaintDevice& device, const QSize& units, const PlotData& plot, const model::FigureStyle& style,
                 const Theme& theme) {
    Look look;
    look.theme = &theme;
    look.px = kFigureUnitsPerPoint;
    look.lineWidth = style.lineWidthPt;
    look.paper = true;
    look.font = QFont(QString::fromStdString(style.fontFamily));
    look.font.setPixelSize(std::max(1, static_cast<int>(std::lround(style.fontPt * kFigureUnitsPerPoint))));
    look.font.setHintingPreference(QFont::PreferNoHinting);
    look.font.setStyleStrategy(QFont::NoSubpixelAntialias);
    PlotCanvas canvas(nullptr);
    const Prepared prepared = prepare(plot, plot.y.logarithmic);
    canvas.setLook(look);
    canvas.setFigure(plot, prepared);
    canvas.setVisibleX(prepared.x.range);
    canvas.paint(device, units);
}

}  // namespace counterpoint::widgets
