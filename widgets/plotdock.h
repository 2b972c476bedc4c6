#pragma once
// PlotDock: the dock of one row of the table of diagnostics. "distribution" and "ledger" get their own views with a
// table, "routing_heat" its choosers, every other row a plot. A plot costs time to make: it is made when the dock is
// visible and there is something to draw, or when it is asked for by panel(); until then a note says why there is none.
// The dock follows the document: trace, cursor, selected token; clicks go back as cursor, token and branch. The title
// tells the equation and rule on hover. Exports are drawn here and written on the analysis lane; a notice says where.
// Thread: the window thread.

#include <QDockWidget>
#include <QTimer>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "model/document.h"
#include "widgets/plotpanel.h"

namespace counterpoint::widgets {

class DistributionView;
class LedgerView;
class RoutingMap;

class PlotDock : public QDockWidget {
    Q_OBJECT
  public:
    /// objectName = "dock." + row.id. Both must outlive the dock.
    PlotDock(model::Document& document, const model::DiagnosticRow& row, QWidget* parent = nullptr);
    ~PlotDock() override;
    const model::DiagnosticRow& row() const { return m_row; }
    PlotPanel& panel();
    bool made() const { return m_panel != nullptr; }
    /// Given to the panel when it is made; empty: the panel's own.
    std::function<std::filesystem::path(FigureFormat, const QString& suggestion)> askFile;

  private:
    QWidget* make();
    void markStale();
    void refresh();
    void write(std::vector<FigureFile> files);
    void watch();
    struct Pending;
    model::Document& m_document;
    const model::DiagnosticRow& m_row;
    EmptyNote* m_note;
    PlotPanel* m_panel = nullptr;
    DistributionView* m_distribution = nullptr;
    LedgerView* m_ledger = nullptr;
    RoutingMap* m_map = nullptr;
    std::vector<std::shared_ptr<Pending>> m_pending;
    bool m_stale = true;
    QTimer m_watch;
};

/// One dock a row, in the table's order: what the window adds and tabs by row().dock.
std::vector<PlotDock*> makePlotDocks(model::Document& document, QWidget* parent);

}  // namespace counterpoint::widgets
