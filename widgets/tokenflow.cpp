#include "widgets/tokenflow.h"

#include <algorithm>

namespace counterpoint::widgets {
namespace {

constexpr int kGap = 1;

/// Whether the text of one token goes on in the next without a space, a line end or a control token between.
bool goesOn(const TokenText& next, const TokenText& before) {
    const auto ends = [](const TokenRun& run) {
        return run.kind == TokenRun::Kind::Mark || run.kind == TokenRun::Kind::Control;
    };
    return !next.runs.empty() && !before.runs.empty() && !ends(next.runs.front()) && !ends(before.runs.back());
}

}  // namespace

void TokenFlow::clear() {
    m_items.clear();
    m_lineStarts.clear();
}

int TokenFlow::widthOf(const TokenRun& run) const {
    const bool boxed = run.kind == TokenRun::Kind::Control || run.kind == TokenRun::Kind::Bytes;
    return m_widths.value(run.text) + (boxed ? 2 * spacing::tight : 0);
}

int TokenFlow::measure(const TokenText& text, const QFontMetrics& metrics) {
    int width = 0;
    for (const TokenRun& run : text.runs) {
        int& known = m_widths[run.text];
        if (known == 0) known = std::max(1, metrics.horizontalAdvance(run.text));
        width += widthOf(run);
    }
    return std::max(width, spacing::tight);
}

void TokenFlow::follow(const model::Trace& trace, int room, const QFontMetrics& metrics) {
    const int right = room - kMargin;
    for (std::size_t i = m_items.size(); i < trace.tokens.size(); ++i) {
        Item item;
        item.text = tokenText(trace, i);
        item.width = std::min(measure(item.text, metrics), std::max(spacing::page, right - kMargin));
        if (m_items.empty()) {
            item.x = kMargin;
            m_lineStarts = {0};
        } else {
            const Item& before = m_items.back();
            item.x = before.x + before.width + kGap;
            item.line = before.line;
            if (before.text.breaksLine || item.x + item.width > right) {
                item.x = before.text.breaksLine ? kMargin : wrapWord(item.text, right - item.width, room);
                ++item.line;
                if (item.x == kMargin) m_lineStarts.push_back(static_cast<int>(i));
            }
        }
        m_items.push_back(std::move(item));
        ++m_laidOut;
    }
}

int TokenFlow::wrapWord(const TokenText& next, int right, int room) {
    const auto lineStart = static_cast<std::size_t>(m_lineStarts.back());
    std::size_t first = m_items.size();
    if (!goesOn(next, m_items.back().text)) return kMargin;
    do --first;
    while (first > lineStart && goesOn(m_items[first].text, m_items[first - 1].text));
    if (first == lineStart) return kMargin;
    const int by = m_items[first].x - kMargin;
    const int end = m_items.back().x + m_items.back().width + kGap - by;
    if (end > right || end > room / 2) return kMargin;  // no word, or one that would leave a hole
    for (std::size_t i = first; i < m_items.size(); ++i) {
        m_items[i].x -= by;
        ++m_items[i].line;
    }
    m_lineStarts.push_back(static_cast<int>(first));
    return end;
}

int TokenFlow::tokenIn(int line, int x) const {
    if (line < 0 || static_cast<std::size_t>(line) >= m_lineStarts.size()) return -1;
    const std::size_t next = static_cast<std::size_t>(line) + 1;
    const int end = next < m_lineStarts.size() ? m_lineStarts[next] : static_cast<int>(m_items.size());
    for (int i = m_lineStarts[static_cast<std::size_t>(line)]; i < end; ++i) {
        const Item& item = m_items[static_cast<std::size_t>(i)];
        if (x >= item.x && x < item.x + item.width + kGap) return i;
    }
    return -1;
}

}  // namespace counterpoint::widgets
