#include "widgets/priorsview.h"

#include <QHeaderView>
#include <algorithm>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kRowHeight = 20, kCellPadding = 12, kMostNameWidth = 360;

}  // namespace

PriorsView::PriorsView(PriorsTable& table, QWidget* parent) : QTableView(parent), m_table(table) {
    setObjectName(QStringLiteral("priors.table"));
    setAccessibleName(tr("Priors of the bank"));
    setModel(&table);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    setShowGrid(false);
    setWordWrap(false);
    setTabKeyNavigation(false);
    setFrameShape(QFrame::NoFrame);
    setTextElideMode(Qt::ElideMiddle);
    setFont(numberFont(font()));
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    setAcceptDrops(true);
    setDragDropMode(QAbstractItemView::DropOnly);
    setDropIndicatorShown(true);
    setContextMenuPolicy(Qt::CustomContextMenu);
    verticalHeader()->hide();
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalHeader()->setMinimumSectionSize(kRowHeight);
    verticalHeader()->setDefaultSectionSize(kRowHeight);
    QHeaderView* heads = horizontalHeader();
    heads->setHighlightSections(false);
    heads->setMinimumSectionSize(24);
    heads->setSectionResizeMode(QHeaderView::Interactive);
    const QFontMetrics numbers(font()), words(heads->font());
    constexpr int kArrow = 10;  // of the column that sorts
    for (int c = PriorsTable::Kind; c < PriorsTable::kColumns; ++c) {
        const QString head = m_table.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
        heads->resizeSection(c, kCellPadding + std::max(numbers.horizontalAdvance(PriorsTable::widest(c)),
                                                        words.horizontalAdvance(head) + kArrow));
    }
    heads->setSortIndicatorClearable(true);
    heads->setSortIndicator(-1, Qt::AscendingOrder);
    setSortingEnabled(true);
    m_table.sort(-1, Qt::AscendingOrder);
}

std::size_t PriorsView::current() const {
    const QModelIndex at = currentIndex();
    return at.isValid() && at.row() < m_table.rowCount() ? m_table.priorOf(at.row()) : kNoPrior;
}

std::vector<std::size_t> PriorsView::selected() const {
    std::vector<std::size_t> all;
    for (const QItemSelectionRange& range : selectionModel()->selection())
        for (int row = range.top(); row <= range.bottom() && row < m_table.rowCount(); ++row)
            all.push_back(m_table.priorOf(row));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

void PriorsView::select(const std::vector<std::size_t>& priors) {
    std::vector<int> rows(m_table.total(), -1);
    for (int row = 0; row < m_table.rowCount(); ++row) rows[m_table.priorOf(row)] = row;
    QItemSelection selection;
    QModelIndex first;
    for (const std::size_t prior : priors) {
        const int row = prior < rows.size() ? rows[prior] : -1;
        if (row < 0) continue;
        const QModelIndex at = m_table.index(row, PriorsTable::Name);
        if (!first.isValid()) first = at;
        selection.select(at, m_table.index(row, PriorsTable::kColumns - 1));
    }
    if (!first.isValid()) return;
    setCurrentIndex(first);
    selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    scrollTo(first);
}

void PriorsView::resizeEvent(QResizeEvent* event) {  // names take what the numbers leave
    QHeaderView* heads = horizontalHeader();
    const int others = heads->length() - heads->sectionSize(PriorsTable::Name);
    heads->resizeSection(PriorsTable::Name, std::clamp(viewport()->width() - others, kLeastNameWidth, kMostNameWidth));
    QTableView::resizeEvent(event);
}

}  // namespace counterpoint::widgets
