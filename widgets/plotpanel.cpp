#include "widgets/plotpanel.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QVBoxLayout>
#include <array>

#include "widgets/plotscale.h"

namespace counterpoint::widgets {
namespace {

struct ExportRow {
    FigureFormat format;
    const char* name;
    const char* text;
    const char* filter;
};
constexpr std::array kExports = {
    ExportRow{FigureFormat::Pdf, "exportPdf", "Export as PDF…", "PDF (*.pdf)"},
    ExportRow{FigureFormat::Svg, "exportSvg", "Export as SVG…", "SVG (*.svg)"},
    ExportRow{FigureFormat::Png, "exportPng", "Export as PNG…", "PNG (*.png)"},
    ExportRow{FigureFormat::Csv, "exportCsv", "Export data as CSV…", "CSV (*.csv)"},
};

const ExportRow& rowOf(FigureFormat format) {
    for (const ExportRow& row : kExports)
        if (row.format == format) return row;
    return kExports.back();
}

}  // namespace

PlotPanel::PlotPanel(QWidget* parent) : QWidget(parent), m_view(new PlotView(this)), m_menu(this) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_view);
    setFocusProxy(m_view);
    writer = writeFigureFiles;
    askFile = [this](FigureFormat format, const QString& suggestion) {
        return std::filesystem::path(
            QFileDialog::getSaveFileName(this, tr("Export figure"), suggestion, tr(rowOf(format).filter))
                .toStdString());
    };
    const auto add = [this](const char* name, const QString& text) {
        QAction* action = m_menu.addAction(text);
        action->setObjectName(QLatin1String(name));
        return action;
    };
    for (const ExportRow& row : kExports) {
        QAction* action = add(row.name, tr(row.text));
        m_needData.push_back(action);
        connect(action, &QAction::triggered, this, [this, format = row.format] {
            const std::string_view extension = extensionOf(format);
            const QString suggestion = QString::fromStdString(m_view->plot().id) + QLatin1Char('.') +
                                       QString::fromUtf8(extension.data(), static_cast<qsizetype>(extension.size()));
            if (const std::filesystem::path path = askFile(format, suggestion); !path.empty()) exportTo(format, path);
        });
    }
    m_menu.addSeparator();
    m_needData.push_back(add("copyData", tr("Copy data")));
    connect(m_needData.back(), &QAction::triggered, this, &PlotPanel::copyData);
    m_menu.addSeparator();
    m_log = add("logScale", tr("Logarithmic scale"));
    m_log->setCheckable(true);
    connect(m_log, &QAction::triggered, this, [this](bool on) {
        m_view->setLogarithmic(on);
        m_logarithmic = on;
        Q_EMIT logarithmicToggled(on);
    });
    m_reset = add("resetZoom", tr("Reset zoom"));
    connect(m_reset, &QAction::triggered, m_view, &PlotView::resetZoom);
}

void PlotPanel::setPlot(model::PlotData plot) {
    plot.y.logarithmic = m_logarithmic.value_or(plot.y.logarithmic);
    m_view->setPlot(std::move(plot));
}

QMenu& PlotPanel::menu() {
    const bool data = m_view->plot().empty.empty() && hasDrawing(m_view->plot());
    for (QAction* action : m_needData) action->setEnabled(data);
    m_log->setChecked(m_view->logarithmic());
    m_log->setEnabled(data && !m_view->plot().heat);
    m_reset->setEnabled(m_view->zoomed());
    return m_menu;
}

void PlotPanel::exportTo(FigureFormat format, std::filesystem::path path) {
    // "x" and "x.csv" become "x.pdf" and "x.csv.pdf": what is written is what was chosen in the menu.
    std::string ending(1, '.');
    ending += extensionOf(format);
    if (path.extension() != ending) path += ending;
    model::PlotData plot = m_view->plot();
    plot.y.logarithmic = m_view->logarithmic();
    writer(figureFiles(plot, model::FigureStyle{}, format, path));
}

void PlotPanel::copyData() { QApplication::clipboard()->setText(QString::fromStdString(model::toCsv(m_view->plot()))); }

void PlotPanel::contextMenuEvent(QContextMenuEvent* event) { menu().popup(event->globalPos()); }

}  // namespace counterpoint::widgets
