#include "widgets/tokenstrip.h"

#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "widgets/palette.h"
#include "widgets/shortname.h"
#include "widgets/sourcecolours.h"
#include "widgets/tokenhover.h"

namespace counterpoint::widgets {
namespace {

using Kind = TokenRun::Kind;
constexpr int kMargin = TokenFlow::kMargin, kBar = 3, kMatch = 2;
constexpr double kTint = 0.20;  ///< share of the measure's colour behind the text; the bar below has all of it
constexpr double kBoxLine = 0.45;

}  // namespace

TokenStrip::TokenStrip(model::Document& document, QWidget* parent)
    : QAbstractScrollArea(parent), m_document(document), m_limiter(viewport(), [this] { viewport()->update(); }) {
    setObjectName(QStringLiteral("tokenStrip"));
    setAccessibleName(tr("Tokens"));
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_lineHeight = fontMetrics().height() + kBar + spacing::normal;
    using model::Document;
    connect(&m_document, &Document::traceSelected, this, &TokenStrip::restart);
    connect(&m_document, &Document::traceChanged, this, &TokenStrip::follow);
    connect(&m_document, &Document::recomposed, this, &TokenStrip::follow);
    connect(&m_document, &Document::statusChanged, this, [this] {
        if (m_flow.size() == 0) m_limiter.request();
    });
    connect(&m_document, &Document::viewChanged, this, [this] {
        measure();
        readMatch();
        if (m_document.view().cursor != m_shownCursor) showCursor();
        m_limiter.request();
    });
    restart();
}

const model::StripMeasure& TokenStrip::strip() const {
    const auto all = model::stripMeasures();
    for (const model::StripMeasure& m : all)
        if (m.id == m_document.view().stripMeasure) return m;
    return all.front();
}

void TokenStrip::restart() {
    const model::Trace* trace = m_document.trace();
    m_trace = trace == nullptr ? -1 : trace->id;
    m_flow.clear();
    m_atEnd = true;
    follow();
}

void TokenStrip::follow() {
    const model::Trace* trace = m_document.trace();
    if ((trace == nullptr ? -1 : trace->id) != m_trace) return restart();
    // A token that is not what was laid out (the last one, decided again): begin anew.
    if (trace != nullptr && m_flow.size() > trace->tokens.size()) {
        m_flow.clear();
    }
    const bool stayed = m_atEnd;
    layOutNew();
    updateBar();
    if (stayed) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
    measure();
    readMatch();
    m_limiter.request();
}

void TokenStrip::layOutNew() {
    if (const model::Trace* trace = m_document.trace()) m_flow.follow(*trace, viewport()->width(), fontMetrics());
}

int TokenStrip::wholeLines() const {
    return std::max(1, (viewport()->height() - spacing::normal + spacing::tight) / m_lineHeight);
}

int TokenStrip::firstLine() const { return (verticalScrollBar()->value() + m_lineHeight / 2) / m_lineHeight; }

void TokenStrip::updateBar() {
    const int hidden = std::max(0, m_flow.lines() - wholeLines());
    verticalScrollBar()->setRange(0, hidden * m_lineHeight);
    verticalScrollBar()->setPageStep(wholeLines() * m_lineHeight);
    verticalScrollBar()->setSingleStep(m_lineHeight);
}

void TokenStrip::measure() {
    const model::Trace* trace = m_document.trace();
    m_scale = {};
    if (trace != nullptr && !strip().categorical)
        for (const model::StepPtr& step : trace->steps) {
            const double v = std::abs(strip().value(*step));
            if (std::isfinite(v)) m_scale.maximum = std::max(m_scale.maximum, v);
            m_scale.finite = m_scale.finite || std::isfinite(v);
            m_scale.infinite = m_scale.infinite || std::isinf(v);
        }
    Q_EMIT scaleChanged();
}

void TokenStrip::readMatch() {
    m_because = {0, 0};
    const model::Trace* trace = m_document.trace();
    const model::View& view = m_document.view();
    if (trace == nullptr || !isMarked(static_cast<int>(view.cursor))) return;
    const compute::PriorSet::Member* prior = model::shownPrior(*trace, view);
    if (prior == nullptr) return;
    const compute::ContextText text = model::contextOf(*trace);
    const auto [from, to] = trace->priors->contexts().where(prior->context, text, view.cursor);
    if (from == to) return;
    const auto endOf = [&](int token) { return text.before(token + 1).size(); };
    int first = 0;
    while (first < view.cursor && endOf(first) <= from) ++first;
    int last = first;
    while (last < view.cursor && (last == first || endOf(last - 1) < to)) ++last;
    m_because = {first, last};
}

bool TokenStrip::isMarked(int index) const {
    const model::Trace* trace = m_document.trace();
    const model::View& view = m_document.view();
    if (trace == nullptr || view.priorBank < 0 || view.prior.empty()) return false;
    const compute::Step* step = trace->at(index);
    if (step == nullptr || step->matchedPriors.empty()) return false;
    const compute::PriorSet::Member* prior = model::shownPrior(*trace, view);
    return prior != nullptr && model::matched(*step, *prior);
}

QColor TokenStrip::inkOf(const TokenRun& run, bool given) {
    const Theme& t = currentTheme();
    if (run.kind == Kind::Text && !given) return t.text;
    // Dots of spaces only tell words apart: the gap itself is the space.
    const bool spaces = run.kind == Kind::Mark && run.text.count(QChar(0xB7)) == run.text.size();
    return spaces ? t.grey : t.quietOnTint;
}

QColor TokenStrip::tintOf(const QColor& colour) { return mixed(currentTheme().surface, colour, kTint); }

QColor TokenStrip::colourOf(double value) const {
    if (std::isnan(value)) return {};
    if (strip().categorical) {
        const int category = static_cast<int>(value);
        if (category < 0) return category == -1 ? currentTheme().accent : currentTheme().grey;
        const std::vector<int> colours = SourceColours::of(m_document).coloursOf(*m_document.trace());
        return seriesColour(currentTheme(), colours.at(static_cast<std::size_t>(category)));
    }
    const double t = m_scale.maximum > 0 ? std::abs(value) / m_scale.maximum : 0;
    return magnitudeColour(Magnitudes::Viridis, std::isfinite(value) ? t : 1);
}

QRect TokenStrip::tokenRect(int index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= m_flow.size()) return {};
    const TokenFlow::Item& item = m_flow.item(static_cast<std::size_t>(index));
    return {item.x, spacing::normal + (item.line - firstLine()) * m_lineHeight, item.width,
            m_lineHeight - spacing::tight};
}

int TokenStrip::tokenAt(const QPoint& place) const {
    const int below = place.y() - spacing::normal;
    return below < 0 || below / m_lineHeight >= wholeLines()
               ? -1
               : m_flow.tokenIn(firstLine() + below / m_lineHeight, place.x());
}

QString TokenStrip::whyEmpty() const {
    return m_document.running()   ? tr("The first token is on its way.")
           : m_document.loading() ? QString::fromUtf8(model::kLoading)
           : m_document.ready()   ? tr("Nothing decoded yet. Press Generate, or Step for one token.")
                                  : tr("No text: a source of the rack is not loaded.");
}

void TokenStrip::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    const Theme& t = currentTheme();
    painter.fillRect(viewport()->rect(), t.surface);
    painter.setFont(font());
    const model::Trace* trace = m_document.trace();
    if (trace == nullptr || m_flow.size() == 0) {
        painter.setPen(t.quiet);
        painter.drawText(viewport()->rect().adjusted(kMargin, 0, -kMargin, 0), Qt::AlignCenter | Qt::TextWordWrap,
                         whyEmpty());
        return;
    }
    const int first = std::min(firstLine(), m_flow.lines() - 1);
    for (int i = m_flow.lineStart(first); i < static_cast<int>(m_flow.size()); ++i) {
        if (m_flow.item(static_cast<std::size_t>(i)).line >= first + wholeLines()) break;
        drawToken(painter, *trace, i);
    }
}

void TokenStrip::drawToken(QPainter& painter, const model::Trace& trace, int index) const {
    const Theme& t = currentTheme();
    const TokenFlow::Item& item = m_flow.item(static_cast<std::size_t>(index));
    const QRect box = tokenRect(index);
    const compute::Step* step = trace.at(index);
    const bool given = index < trace.promptLength;
    if (step != nullptr) {
        const QColor colour = colourOf(strip().value(*step));
        if (colour.isValid()) {
            painter.fillRect(box, tintOf(colour));
            painter.fillRect(QRect(box.left(), box.bottom() - kBar + 1, box.width(), kBar), colour);
        }
    }
    int x = box.left();
    const QRect line(0, box.top(), 0, box.height() - kBar);
    for (const TokenRun& run : item.text.runs) {
        const bool boxed = run.kind == Kind::Control || run.kind == Kind::Bytes;
        const int whole = m_flow.widthOf(run);
        const int width =
            std::min(whole, box.left() + box.width() - x);  // of a token longer than a line: its beginning
        if (width <= 0) break;
        const QRect place(x, line.top(), width, line.height());
        if (boxed) {
            painter.setPen(t.quiet);
            painter.setOpacity(kBoxLine);
            painter.drawRoundedRect(QRectF(place).adjusted(1.5, 1.5, -1.5, -1.5), 3, 3);
            painter.setOpacity(1);
        }
        painter.setPen(inkOf(run, given));
        painter.drawText(place, Qt::AlignCenter,
                         width < whole ? fontMetrics().elidedText(run.text, Qt::ElideRight, width) : run.text);
        x += width;
    }
    if (isMarked(index)) painter.fillRect(QRect(box.left(), box.top(), box.width(), kMatch), t.accent);
    if (index >= m_because.first && index < m_because.second) {
        painter.setPen(QPen(t.accent, kMatch, Qt::DotLine));
        const int below = box.bottom() - kBar - kMatch + 1;
        painter.drawLine(box.left(), below, box.right(), below);
    }
    if (step != nullptr && step->forced && !given) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.accent);
        painter.drawPolygon(QPolygon({box.topLeft(), box.topLeft() + QPoint(5, 0), box.topLeft() + QPoint(0, 5)}));
        painter.setBrush(Qt::NoBrush);
    }
    if (trace.flip && index == *trace.flip)
        painter.fillRect(QRect(box.left() - 1, box.top() - 2, 2, box.height() + 4), t.warning);
    if (index == m_document.view().cursor) {  // around the box: a frame on it would hide the text's last stroke
        painter.setPen(QPen(t.accent, 1));
        painter.drawRect(box.adjusted(-1, -2, 0, 1));
        painter.fillRect(QRect(box.left(), box.top() - 1, box.width(), 1), t.accent);
        painter.fillRect(QRect(box.left(), box.bottom() + 1, box.width(), 1), t.accent);
    }
}

QString TokenStrip::hoverText(int index) const {
    const model::Trace* trace = m_document.trace();
    if (trace == nullptr || index < 0) return {};
    QString text = tokenHover(*trace, static_cast<std::size_t>(index));
    const compute::PriorSet::Member* prior = isMarked(index) ? model::shownPrior(*trace, m_document.view()) : nullptr;
    if (prior == nullptr) return text;
    const compute::Step* step = trace->at(index);
    return text +
           tr("<br>The prior '%1' matches here and adds %2 nats to this token.")
               .arg(shortened(prior->prior->name).toHtmlEscaped(),
                    formatNumber(step->token == compute::kNoToken ? 0 : model::addedTo(*trace, *prior, step->token)));
}

bool TokenStrip::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const int index = tokenAt(help->pos());
        if (index < 0)
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), hoverText(index), viewport(), tokenRect(index));
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TokenStrip::mousePressEvent(QMouseEvent* event) {
    if (const int index = tokenAt(event->pos()); index >= 0 && event->button() == Qt::LeftButton)
        m_document.setCursor(index);
}

void TokenStrip::keyPressEvent(QKeyEvent* event) {
    const compute::Position at = m_document.view().cursor;
    switch (event->key()) {
        case Qt::Key_Left:
            return m_document.setCursor(at - 1);
        case Qt::Key_Right:
            return m_document.setCursor(at + 1);
        case Qt::Key_Home:
            return m_document.setCursor(0);
        case Qt::Key_End:
            return m_document.setCursor(static_cast<compute::Position>(m_flow.size()));
        case Qt::Key_Up:
            return moveLine(-1);
        case Qt::Key_Down:
            return moveLine(1);
        default:
            QAbstractScrollArea::keyPressEvent(event);
    }
}

void TokenStrip::moveLine(int by) {
    const auto at = static_cast<std::size_t>(m_document.view().cursor);
    if (at >= m_flow.size()) return;
    const TokenFlow::Item& item = m_flow.item(at);
    if (const int index = m_flow.tokenIn(item.line + by, item.x + item.width / 2); index >= 0)
        m_document.setCursor(index);
}

void TokenStrip::showCursor() {
    m_shownCursor = m_document.view().cursor;
    if (m_document.followsEnd()) return;
    const auto at = static_cast<std::size_t>(m_shownCursor);
    if (at >= m_flow.size()) return;
    const int line = m_flow.item(at).line;
    if (line < firstLine()) verticalScrollBar()->setValue(line * m_lineHeight);
    if (line >= firstLine() + wholeLines()) verticalScrollBar()->setValue((line - wholeLines() + 1) * m_lineHeight);
}

void TokenStrip::scrollContentsBy(int, int) {
    m_atEnd = verticalScrollBar()->value() >= verticalScrollBar()->maximum();
    m_limiter.request();  // with the plots' frames: following the end must not show a token before they do
}

void TokenStrip::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    const bool stayed = m_atEnd;
    m_flow.clear();
    layOutNew();
    updateBar();
    if (stayed) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

void TokenStrip::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() != QEvent::FontChange) return;
    m_flow.forgetWidths();
    m_lineHeight = fontMetrics().height() + kBar + spacing::normal;
    restart();
}

}  // namespace counterpoint::widgets
