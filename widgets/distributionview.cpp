#include "widgets/distributionview.h"

#include <QApplication>
#include <QDrag>
#include <QHeaderView>
#include <QKeyEvent>
#include <QSplitter>
#include <QVBoxLayout>
#include <cmath>

#include "widgets/numbertable.h"
#include "widgets/shortname.h"
#include "widgets/tokenmime.h"

namespace counterpoint::widgets {

DistributionView::DistributionView(QWidget* parent)
    : QWidget(parent),
      carryOut([](QDrag& drag) { drag.exec(Qt::CopyAction | Qt::MoveAction, Qt::CopyAction); }),
      m_panel(new PlotPanel(this)),
      m_table(makeNumberTable(this)) {
    setObjectName(QStringLiteral("distribution"));
    m_panel->view().setObjectName(QStringLiteral("distribution.plot"));
    m_table->setObjectName(QStringLiteral("distribution.table"));
    m_table->setAccessibleName(tr("Most probable tokens"));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setToolTip(
        tr("Double click or Enter: decode on from this token as a branch. Drag it onto a prior to promote it "
           "there, with Shift to demote it."));
    m_table->installEventFilter(this);
    m_table->viewport()->installEventFilter(this);
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->addWidget(m_panel);
    splitter->addWidget(m_table);
    splitter->setStretchFactor(0, kPlotShare);
    splitter->setStretchFactor(1, kTableShare);
    splitter->setSizes({100 * kPlotShare, 100 * kTableShare});
    splitter->setChildrenCollapsible(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(splitter);
    setFocusProxy(m_table);
    connect(m_table, &QTableWidget::currentCellChanged, this, [this](int row) { select(row); });
    connect(m_table, &QTableWidget::cellDoubleClicked, this, [this](int row) { activate(row); });
    connect(&m_panel->view(), &PlotView::categoryPicked, this, [this](int row) {
        if (row < m_table->rowCount()) m_table->setCurrentCell(row, 0);
    });
    connect(&m_panel->view(), &PlotView::categoryActivated, this, &DistributionView::activate);
}

void DistributionView::show(const model::Trace* trace, const model::View& view, model::PlotData plot,
                            const std::vector<int>& colours) {
    m_panel->setPlot(std::move(plot));
    const compute::Step* step = trace == nullptr ? nullptr : trace->at(view.cursor);
    m_table->setVisible(step != nullptr);
    m_tokens.clear();
    m_position = view.cursor;
    if (step != nullptr) fill(*trace, *step, view, colours);
}

void DistributionView::fill(const model::Trace& trace, const compute::Step& step, const model::View& view,
                            const std::vector<int>& colours) {
    m_filling = true;
    const QString number = QStringLiteral("0.0000");
    std::vector<Column> columns = {{tr("Token"), {}, {}}};
    columns.push_back({.head = tr("composed"),
                       .help = tr("p at the temperature, before truncation"),
                       .widest = number,
                       .colour = -2});
    for (std::size_t i = 0; i < trace.sources.size(); ++i) {
        const QString name = told(trace.sources[i]);
        columns.push_back({.head = name,
                           .help = tr("p under %1").arg(name),
                           .widest = number,
                           .isName = true,
                           .colour = i < colours.size() ? colours[i] : static_cast<int>(i)});
    }
    columns.push_back({tr("τ = 1"), tr("p of sources and priors together, before the temperature"), number});
    columns.push_back({tr("kept"), tr("✓: survives top-k, top-p and min-p"), {}});
    const std::vector<compute::TopToken> tokens = model::shownTokens(step, view);
    const compute::TokenId selected = model::shownToken(trace, view);
    setTableShape(*m_table, columns, static_cast<int>(tokens.size()));
    const auto probability = [](float logP) { return formatCell(std::exp(static_cast<double>(logP))); };
    int current = -1;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const compute::TopToken& t = tokens[k];
        const int row = static_cast<int>(k);
        const Ink ink = t.kept ? Ink::Normal : Ink::Quiet;
        m_tokens.push_back(t.token);
        setText(*m_table, row, 0, QString::fromStdString(model::tokenLabel(trace.tokenizer.get(), t.token)), ink,
                t.token == step.token);
        int column = 1;  // the composed first: where there is little room, the sources are scrolled to
        setNumber(*m_table, row, column++, probability(t.temperature), ink);
        for (std::size_t i = 0; i < trace.sources.size(); ++i)
            setNumber(*m_table, row, column++, i < t.source.size() ? probability(t.source[i]) : QStringLiteral("–"),
                      ink);
        setNumber(*m_table, row, column++, probability(t.priors), ink);
        setNumber(*m_table, row, column, t.kept ? QStringLiteral("✓") : QString(), ink);
        if (t.token == selected) current = row;
    }
    fitColumns(*m_table);
    if (current >= 0)
        m_table->setCurrentCell(current, 0);
    else
        m_table->clearSelection();
    m_filling = false;
}

void DistributionView::select(int row) {
    if (m_filling || row < 0 || static_cast<std::size_t>(row) >= m_tokens.size()) return;
    Q_EMIT tokenSelected(m_tokens[static_cast<std::size_t>(row)]);
}

void DistributionView::activate(int row) {
    if (row < 0 || static_cast<std::size_t>(row) >= m_tokens.size()) return;
    Q_EMIT branchRequested(m_position, m_tokens[static_cast<std::size_t>(row)]);
}

QMimeData* DistributionView::mimeOf(int row) const {
    return tokenMime(m_tokens.at(static_cast<std::size_t>(row)), m_table->item(row, 0)->text());
}

bool DistributionView::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_table->viewport()) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        if (event->type() == QEvent::MouseButtonPress) m_pressed = mouse->pos();
        if (event->type() == QEvent::MouseMove && mouse->buttons().testFlag(Qt::LeftButton)) {
            const int row = m_table->rowAt(m_pressed.y());
            if (row < 0 || static_cast<std::size_t>(row) >= m_tokens.size() ||
                (mouse->pos() - m_pressed).manhattanLength() < QApplication::startDragDistance())
                return true;
            auto* drag = new QDrag(this);
            drag->setMimeData(mimeOf(row));
            carryOut(*drag);
            return true;
        }
        return false;
    }
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            activate(m_table->currentRow());
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace counterpoint::widgets
