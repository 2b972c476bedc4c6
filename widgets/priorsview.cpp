#include "widgets/priorsview.h"

#include <QHeaderView>
#include <QStyledItemDelegate>
#include <algorithm>

#include "widgets/numbertable.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kRowHeight = 20, kCellPadding = 12, kSwitch = 24, kNameBeforeKind = 360;

/// A selected row has the colour of its text too: Qt would write all of them alike.
class Cells : public QStyledItemDelegate {
  public:
    using QStyledItemDelegate::QStyledItemDelegate;

  protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        if (const QVariant colour = index.data(Qt::ForegroundRole); colour.isValid())
            option->palette.setColor(QPalette::HighlightedText, colour.value<QColor>());
    }
};

}  // namespace

PriorsView::PriorsView(PriorsTable& table, QWidget* parent) : QTableView(parent), m_table(table) {
    setObjectName(QStringLiteral("priors.table"));
    setAccessibleName(tr("Priors of the bank"));
    setModel(&table);
    setItemDelegate(new Cells(this));
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
    m_least = {kLeastNameWidth, heads->sectionSize(PriorsTable::Kind), heads->sectionSize(PriorsTable::Task)};
    m_wanted = m_least;
    connect(&m_table, &QAbstractItemModel::modelReset, this, &PriorsView::measure);
    connect(&m_table, &QAbstractItemModel::dataChanged, this, &PriorsView::measure);
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

void PriorsView::measure() {
    if (m_table.content() == m_measured) return;
    m_measured = m_table.content();
    const auto before = m_wanted;
    const QFontMetrics metrics(font());
    for (int column = 0; column < kTexts; ++column) {
        constexpr std::size_t kMeasured = 16;  // the longest: of ten thousand all would take longer than a frame
        std::vector<QString> texts = m_table.texts(column);
        const std::size_t measured = std::min(texts.size(), kMeasured);
        std::partial_sort(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(measured), texts.end(),
                          [](const QString& a, const QString& b) { return a.size() > b.size(); });
        int& wanted = m_wanted[static_cast<std::size_t>(column)];
        wanted = 0;
        for (std::size_t i = 0; i < measured; ++i) wanted = std::max(wanted, metrics.horizontalAdvance(texts[i]));
        wanted += kCellPadding + (column == PriorsTable::Name ? kSwitch : 0);
    }
    if (m_wanted != before) share();  // widths that a person gave stay
}

void PriorsView::share() {
    QHeaderView* heads = horizontalHeader();
    int others = 0;
    for (int column = kTexts; column < PriorsTable::kColumns; ++column) others += heads->sectionSize(column);
    const int room = viewport()->width() - others;
    const auto [least, leastKind, leastTask] = m_least;
    const int wanted = std::max(least, m_wanted[PriorsTable::Name]);
    int name = std::clamp(room - leastKind - leastTask, least, std::min(wanted, kNameBeforeKind));
    const std::vector<int> words = sharedWidths(room - name, {leastKind, leastTask},
                                                {m_wanted[PriorsTable::Kind], m_wanted[PriorsTable::Task]});
    name = std::clamp(room - words[0] - words[1], name, wanted);
    heads->resizeSection(PriorsTable::Name, name);
    heads->resizeSection(PriorsTable::Kind, words[0]);
    heads->resizeSection(PriorsTable::Task, words[1]);
}

void PriorsView::resizeEvent(QResizeEvent* event) {
    share();
    QTableView::resizeEvent(event);
}

}  // namespace counterpoint::widgets
