#pragma once
// DistributionView: the distribution at the cursor, as a plot and as a table (token, composed, each source, τ = 1,
// kept) that mouse and keyboard select in; R1, R2. Probabilities at the stage temperature; truncated tokens are grey.
// Thread: the window thread. Knows no document: show() gives it what to draw.

#include <QTableWidget>
#include <QWidget>
#include <functional>
#include <vector>

#include "model/diagnostics.h"
#include "widgets/plotpanel.h"

class QDrag;

namespace counterpoint::widgets {

class DistributionView : public QWidget {
    Q_OBJECT
  public:
    explicit DistributionView(QWidget* parent = nullptr);
    /// trace may be null. Keeps the selection on view.token. `colours`: of the trace's sources, for seriesColour;
    /// empty: by their places.
    void show(const model::Trace* trace, const model::View& view, model::PlotData plot,
              const std::vector<int>& colours = {});
    using QWidget::show;
    PlotPanel& panel() { return *m_panel; }
    QTableWidget& table() { return *m_table; }
    /// What a row carries when it is dragged onto a prior.
    QMimeData* mimeOf(int row) const;
    /// Who carries a drag out, until it is dropped; the system, where tests put nothing else.
    std::function<void(QDrag&)> carryOut;

  Q_SIGNALS:
    void tokenSelected(counterpoint::compute::TokenId token);
    void branchRequested(counterpoint::compute::Position position, counterpoint::compute::TokenId token);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void fill(const model::Trace& trace, const compute::Step& step, const model::View& view,
              const std::vector<int>& colours);
    void select(int row);
    void activate(int row);
    PlotPanel* m_panel;
    QTableWidget* m_table;
    std::vector<compute::TokenId> m_tokens;  ///< one a row
    compute::Position m_position = -1;
    bool m_filling = false;
    QPoint m_pressed;
};

}  // namespace counterpoint::widgets
