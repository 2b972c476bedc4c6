#pragma once
// TokenFlow: the tokens of a trace as flowing text: which line, how far from the left, how wide. Only tokens that are
// new since the last time are laid out. A word that does not fit goes to the next line whole, where that leaves no
// large hole. Lengths are pixels; line 0 is the first. Thread: the window thread.

#include <QFontMetrics>
#include <QHash>
#include <vector>

#include "model/trace.h"
#include "widgets/palette.h"
#include "widgets/tokentext.h"

namespace counterpoint::widgets {

class TokenFlow {
  public:
    static constexpr int kMargin = spacing::wide;  ///< left and right of the lines
    struct Item {
        int x = 0, width = 0, line = 0;
        TokenText text;
    };
    void clear();
    void forgetWidths() { m_widths.clear(); }  ///< of another font
    /// Lays out the tokens that are not laid out yet, in lines of `room` with its margins.
    void follow(const model::Trace& trace, int room, const QFontMetrics& metrics);
    std::size_t size() const { return m_items.size(); }
    const Item& item(std::size_t i) const { return m_items[i]; }
    int lines() const { return static_cast<int>(m_lineStarts.size()); }
    int lineStart(int line) const { return m_lineStarts[static_cast<std::size_t>(line)]; }  ///< its first item
    int tokenIn(int line, int x) const;           ///< index of the token there; −1: none
    int widthOf(const TokenRun& run) const;       ///< of one that is laid out
    qint64 laidOut() const { return m_laidOut; }  ///< how many since this was made

  private:
    int measure(const TokenText& text, const QFontMetrics& metrics);
    /// The line has no room for `next`, which goes to a new one: the beginning of its word goes there with it, where
    /// that leaves no large hole. Returns the place of `next`, at most `right`.
    int wrapWord(const TokenText& next, int right, int room);
    std::vector<Item> m_items;
    std::vector<int> m_lineStarts;  ///< first item of each line
    QHash<QString, int> m_widths;
    qint64 m_laidOut = 0;
};

}  // namespace counterpoint::widgets
