#include "widgets/numbertable.h"

#include <QHeaderView>

namespace counterpoint::widgets {
namespace {

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
    auto* table = new QTableWidget(parent);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setShowGrid(false);
    table->setTabKeyNavigation(false);
    table->setWordWrap(false);
    table->setFrameShape(QFrame::NoFrame);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(spacing::row);
    table->verticalHeader()->setMinimumSectionSize(spacing::row);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setMinimumSectionSize(56);
    return table;
}

void setTableShape(QTableWidget& table, const QStringList& heads, int rows) {
    if (table.rowCount() != rows) table.setRowCount(rows);
    if (table.columnCount() != heads.size()) table.setColumnCount(static_cast<int>(heads.size()));
    for (int c = 0; c < heads.size(); ++c) {
        QTableWidgetItem* head = table.horizontalHeaderItem(c);
        if (head == nullptr) {
            head = new QTableWidgetItem;
            table.setHorizontalHeaderItem(c, head);
        }
        head->setText(heads[c]);
        head->setTextAlignment((c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        table.horizontalHeader()->setSectionResizeMode(c, QHeaderView::Stretch);
    }
}

void setText(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong) {
    setCell(table, row, column, text, ink, strong, Qt::AlignLeft);
}

void setNumber(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong) {
    setCell(table, row, column, text, ink, strong, Qt::AlignRight);
}

}  // namespace counterpoint::widgets
