#pragma once
// LedgerView: the signed split of log p̂ of the selected token (R4) as a waterfall and as a table that ends in the sum.
// Thread: the window thread. Knows no document: show() gives it what to draw.

#include <QTableWidget>
#include <QWidget>

#include "widgets/plotpanel.h"

namespace counterpoint::widgets {

class LedgerView : public QWidget {
    Q_OBJECT
  public:
    explicit LedgerView(QWidget* parent = nullptr);
    /// `plot` is what the diagnostic "ledger" gives.
    void show(model::PlotData plot);
    using QWidget::show;
    PlotPanel& panel() { return *m_panel; }
    QTableWidget& table() { return *m_table; }

  private:
    PlotPanel* m_panel;
    QTableWidget* m_table;
};

}  // namespace counterpoint::widgets
