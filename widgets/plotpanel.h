#pragma once
// PlotPanel: a PlotView with what every plot offers from its context menu: export (PDF, SVG, PNG, CSV), log scale, copy
// the data, reset the zoom. Knows no document; what needs one goes through two functions. Thread: the window thread.

#include <QMenu>
#include <QWidget>
#include <functional>
#include <optional>

#include "widgets/plotrender.h"
#include "widgets/plotview.h"

namespace counterpoint::widgets {

class PlotPanel : public QWidget {
    Q_OBJECT
  public:
    explicit PlotPanel(QWidget* parent = nullptr);
    PlotView& view() { return *m_view; }
    void setPlot(model::PlotData plot);
    /// The menu with its actions' present states; actions are named exportPdf, exportSvg, exportPng, exportCsv,
    /// logScale, copyData, resetZoom.
    QMenu& menu();
    /// Draws now (window thread) and hands the files to `writer` (below).
    void exportTo(FigureFormat format, std::filesystem::path path);  ///< with the format's ending, added where it is not there
    void copyData();

    /// Gets the drawn files; default: writes them at once.
    std::function<void(std::vector<FigureFile>)> writer;
    /// Asks for a file name, empty = cancelled; default: a file dialog.
    std::function<std::filesystem::path(FigureFormat, const QString& suggestion)> askFile;

  Q_SIGNALS:
    void logarithmicToggled(bool on);

  protected:
    void contextMenuEvent(QContextMenuEvent* event) override;

  private:
    PlotView* m_view;
    QMenu m_menu;
    QAction *m_log = nullptr, *m_reset = nullptr;
    std::optional<bool> m_logarithmic;  ///< a person's choice for this plot; else the plot's own
    std::vector<QAction*> m_needData;
};

}  // namespace counterpoint::widgets
