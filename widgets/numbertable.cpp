#include "widgets/numbertable.h"

#include <QHeaderView>
#include <algorithm>

namespace counterpoint::widgets {
namespace {

constexpr int kPadding = spacing::normal;  // between columns
constexpr int kRowHeight = 20;             // there is never room for all rows
constexpr int kWidestHead = 140;           // longer heads end in "…" and are told on hover
constexpr int kNarrowestName = 64;

/// Rows are shown whole or not at all, and the names take the room that the numbers leave.
class NumberTable final : public QTableWidget {
  public:
    using QTableWidget::QTableWidget;
    void fitNames() {
        QHeaderView& header = *horizontalHeader();
        if (header.count() == 0) return;
        const int room = viewport()->width() - (header.length() - header.sectionSize(0));
        const bool fits = room >= kNarrowestName;
        header.setSectionResizeMode(0, fits ? QHeaderView::Stretch : QHeaderView::Fixed);
        if (!fits) header.resizeSection(0, kNarrowestName);  // then the numbers are scrolled to
    }

  protected:
    void updateGeometries() override {
        if (m_fitting) return;
        m_fitting = true;
        QTableWidget::updateGeometries();
        const QMargins margins = viewportMargins();
        const int room = viewport()->height() + margins.bottom(), rows = verticalHeader()->length();
        const int cut = room < rows && room > kRowHeight ? room % kRowHeight : 0;
        setViewportMargins(margins.left(), margins.top(), margins.right(), cut);
        fitNames();
        m_fitting = false;
    }

  private:
    bool m_fitting = false;
};

void setCell(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong, Qt::Alignment side) {
    QTableWidgetItem* item = table.item(row, column);
    if (item == nullptr) {
        item = new QTableWidgetItem;
        table.setItem(row, column, item);
    }
    item->setText(text);
    item->setTextAlignment(side | Qt::AlignVCenter);
    QFont font = numberFont(table.font());
    font.setBold(strong);
    item->setFont(font);
    // No colour of its own: the palette's, so that a change of theme reaches it at once.
    item->setData(Qt::ForegroundRole,
                  ink == Ink::Quiet ? QVariant(QBrush(table.palette().color(QPalette::PlaceholderText))) : QVariant());
}

}  // namespace

QTableWidget* makeNumberTable(QWidget* parent) {
    auto* table = new NumberTable(parent);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setShowGrid(false);
    table->setTabKeyNavigation(false);
    table->setWordWrap(false);
    table->setFrameShape(QFrame::NoFrame);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    table->verticalHeader()->setMinimumSectionSize(kRowHeight);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setMinimumSectionSize(44);
    table->horizontalHeader()->setTextElideMode(Qt::ElideRight);
    return table;
}

void setTableShape(QTableWidget& table, const std::vector<Column>& columns, int rows) {
    const int count = static_cast<int>(columns.size());
    if (table.rowCount() != rows) table.setRowCount(rows);
    if (table.columnCount() != count) table.setColumnCount(count);
    QHeaderView& header = *table.horizontalHeader();
    QFont bold = numberFont(table.font());
    bold.setBold(true);
    const QFontMetrics numbers(numberFont(table.font())), strong(bold), words(header.font());
    for (int c = 0; c < count; ++c) {
        const Column& column = columns[static_cast<std::size_t>(c)];
        QTableWidgetItem* head = table.horizontalHeaderItem(c);
        if (head == nullptr) {
            head = new QTableWidgetItem;
            table.setHorizontalHeaderItem(c, head);
        }
        head->setText(column.head);
        head->setToolTip(column.help.isEmpty() ? column.head : column.help);
        head->setTextAlignment((c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        if (c == 0) continue;
        header.setSectionResizeMode(c, QHeaderView::Fixed);
        const int word = std::min(words.horizontalAdvance(column.head), kWidestHead);
        header.resizeSection(
            c, std::max(word, (column.strong ? strong : numbers).horizontalAdvance(column.widest)) + kPadding);
    }
    static_cast<NumberTable&>(table).fitNames();
}

void setText(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong) {
    setCell(table, row, column, text, ink, strong, Qt::AlignLeft);
}

void setNumber(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong) {
    setCell(table, row, column, text, ink, strong, Qt::AlignRight);
}

}  // namespace counterpoint::widgets
