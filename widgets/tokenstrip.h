#pragma once
// TokenStrip: the sequence of the present trace as flowing text, each token coloured by the view's measure, with the
// shared cursor, the flip (exact | teacher-forced), forced tokens, stages on hover. Custom paint: no widget a token,
// only new tokens are laid out, only visible ones drawn; scrolling goes by whole lines and follows the end until a
// person scrolls up (HAZARDS A19). Where the view's prior matched a token has a line above it; what made its context
// match at the cursor has a dotted one (R8). Mouse and keys (left, right, up, down, home, end) move the cursor. Thread:
// the window thread.

#include <QAbstractScrollArea>
#include <utility>

#include "model/diagnostics.h"
#include "model/document.h"
#include "widgets/framelimiter.h"
#include "widgets/tokenflow.h"

namespace counterpoint::widgets {

class TokenStrip : public QAbstractScrollArea {
    Q_OBJECT
  public:
    explicit TokenStrip(model::Document& document, QWidget* parent = nullptr);
    /// Index of the token at a place of the viewport, -1 for none; its rectangle in the viewport (tests, tooltips).
    int tokenAt(const QPoint& place) const;
    QRect tokenRect(int index) const;
    /// How many tokens have been laid out since the strip was made: new ones only, while a trace grows.
    qint64 laidOut() const { return m_flow.laidOut(); }
    /// What the measure's values on the trace are: the largest finite one is what full colour stands for, and ∞ has
    /// full colour too.
    struct Scale {
        double maximum = 0;
        bool finite = false, infinite = false;  ///< whether there is any
        bool operator==(const Scale&) const = default;
    };
    const Scale& scale() const { return m_scale; }
    /// Of a value of the measure; invalid where there is none.
    QColor colourOf(double value) const;
    /// Colours of a token's ground and of its text.
    static QColor tintOf(const QColor& colour);
    static QColor inkOf(const TokenRun& run, bool given);
    QString hoverText(int index) const;
    QString whyEmpty() const;  ///< what stands where no token does
    /// Whether the view's prior matched there; the tokens that made it match at the cursor, [first, last), empty: none.
    bool isMarked(int index) const;
    std::pair<int, int> because() const { return m_because; }
    QSize sizeHint() const override { return {600, 260}; }
    QSize minimumSizeHint() const override { return {200, 72}; }

  Q_SIGNALS:
    void scaleChanged();

  protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;

  private:
    void restart();
    void follow();
    void layOutNew();
    void updateBar();
    int wholeLines() const;  ///< that fit into the viewport
    int firstLine() const;   ///< the one at its top
    void measure();
    void readMatch();
    void drawToken(QPainter& painter, const model::Trace& trace, int index) const;
    void showCursor();
    void moveLine(int by);
    const model::StripMeasure& strip() const;

    model::Document& m_document;
    FrameLimiter m_limiter;
    TokenFlow m_flow;
    int m_trace = -1, m_lineHeight = 0;
    Scale m_scale;
    bool m_atEnd = true;
    std::pair<int, int> m_because{0, 0};
    compute::Position m_shownCursor = -1;
};

}  // namespace counterpoint::widgets
