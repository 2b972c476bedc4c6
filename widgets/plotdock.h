#pragma once
// PlotDock: the dock of one row of the table of diagnostics. "distribution" and "ledger" get their own views with a
// table, every other row a plot. It follows the document: trace, cursor, selected token; clicks go back as cursor,
// token and branch. The title tells the equation and rule on hover. Exports are drawn here and written on the analysis
// lane; a notice says where. Thread: the window thread.

#include <QDockWidget>
#include <QTimer>
#include <memory>
#include <vector>

#include "model/document.h"
#include "widgets/plotpanel.h"

namespace counterpoint::widgets {

class DistributionView;
class LedgerView;

class PlotDock : public QDockWidget {
    Q_OBJECT
  public:
    /// objectName = "dock." + row.id. Both must outlive the dock.
    PlotDock(model::Document& document, const model::DiagnosticRow& row, QWidget* parent = nullptr);
    ~PlotDock() override;
    const model::DiagnosticRow& row() const { return m_row; }
    PlotPanel& panel() { return *m_panel; }

  private:
    void markStale();
    void refresh();
    void write(std::vector<FigureFile> files);
    void watch();
    struct Pending;
    model::Document& m_document;
    const model::DiagnosticRow& m_row;
    PlotPanel* m_panel = nullptr;
    DistributionView* m_distribution = nullptr;
    LedgerView* m_ledger = nullptr;
    std::vector<std::shared_ptr<Pending>> m_pending;
    bool m_stale = false;
    QTimer m_watch;
};

/// One dock a row, in the table's order: what the window adds and tabs by row().dock.
std::vector<PlotDock*> makePlotDocks(model::Document& document, QWidget* parent);

}  // namespace counterpoint::widgets
