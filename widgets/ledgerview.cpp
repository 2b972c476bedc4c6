#include "widgets/ledgerview.h"

#include <QSplitter>
#include <QVBoxLayout>
#include <cmath>

#include "widgets/numbertable.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {

LedgerView::LedgerView(QWidget* parent)
    : QWidget(parent), m_panel(new PlotPanel(this)), m_table(makeNumberTable(this)) {
    setObjectName(QStringLiteral("ledger"));
    m_panel->view().setObjectName(QStringLiteral("ledger.plot"));
    m_table->setObjectName(QStringLiteral("ledger.table"));
    m_table->setAccessibleName(tr("Terms of the ledger"));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->addWidget(m_panel);
    splitter->addWidget(m_table);
    splitter->setStretchFactor(0, kPlotShare);
    splitter->setStretchFactor(1, kTableShare);
    splitter->setSizes({100 * kPlotShare, 100 * kTableShare});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);
    setFocusProxy(m_table);
}

void LedgerView::show(model::PlotData plot) {
    // The figure is the ledger: its terms are the rows, so that plot, table and export can never say different numbers.
    const bool any = plot.empty.empty() && !plot.series.empty();
    m_table->setVisible(any);
    if (any) {
        const model::Series& s = plot.series.front();
        const QString number = QStringLiteral("−0.0000");
        setTableShape(*m_table,
                      {{tr("Term"), {}, {}},
                       {tr("nats"), tr("share of log p"), number, true},
                       {tr("factor"), tr("what p is multiplied by"), QStringLiteral("× 0.0000"), true},
                       {tr("sum"), tr("log p after this term"), number, true}},
                      static_cast<int>(s.y.size()));
        for (std::size_t i = 0; i < s.y.size(); ++i) {
            const int row = static_cast<int>(i);
            const bool total = i + 1 == s.y.size();
            const Ink ink = s.y[i] == 0 ? Ink::Quiet : Ink::Normal;
            setText(*m_table, row, 0, told(plot.x.categories[i]), ink, total);
            setNumber(*m_table, row, 1, formatCell(s.y[i]), ink, total);
            setNumber(*m_table, row, 2, QStringLiteral("× ") + formatCell(std::exp(s.y[i])), ink, total);
            setNumber(*m_table, row, 3, formatCell(s.high[i]), ink, total);
        }
        fitColumns(*m_table);
    }
    m_panel->setPlot(std::move(plot));
}

}  // namespace counterpoint::widgets
