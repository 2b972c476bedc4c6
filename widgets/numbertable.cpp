#include "widgets/numbertable.h"

#include <QHeaderView>
#include <QHelpEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <numeric>

#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr int kPadding = 7;     // of a column: what its cells leave free
constexpr int kRowHeight = 20;  // there is never room for all rows
constexpr int kNarrowestName = 52, kWidestName = 280, kWidestHead = 170;
constexpr int kNameStep = 24;  // the names' column grows in steps, so that a live table stands still
constexpr int kMostAir = 36;   // between columns where there is room
constexpr int kColourRole = Qt::UserRole, kColourBar = 2;

/// Heads lose their middle where they are too long and carry the colour of their series.
class Head final : public QHeaderView {
  public:
    explicit Head(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {}

  protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int column) const override {
        QHeaderView::initStyleOptionForIndex(option, column);
        const QString whole = model()->headerData(column, Qt::Horizontal).toString();
        option->text = option->fontMetrics.elidedText(whole, Qt::ElideMiddle, sectionSize(column) - kPadding + 1);
    }
    void paintSection(QPainter* painter, const QRect& rect, int column) const override {
        QHeaderView::paintSection(painter, rect, column);
        const int colour = model()->headerData(column, Qt::Horizontal, kColourRole).toInt();
        if (colour == Column::kNoColour) return;
        painter->setClipRect(rect);  // Qt leaves an empty one behind
        painter->fillRect(rect.adjusted(kPadding / 2, rect.height() - kColourBar, -(kPadding / 2), 0),
                          seriesColour(currentTheme(), colour));
    }
    void paintEvent(QPaintEvent* event) override {
        QHeaderView::paintEvent(event);
        QPainter painter(viewport());  // the line below the heads goes on beside the last one
        painter.fillRect(QRect(length(), height() - 1, width() - length(), 1), currentTheme().line);
    }
};

/// Rows are shown whole or not at all.
class NumberTable final : public QTableWidget {
  public:
    explicit NumberTable(QWidget* parent) : QTableWidget(parent) { setHorizontalHeader(new Head(this)); }
    std::vector<int> least, wanted;  ///< [columns] pixels; [0]: of the names so far

    void share() {
        if (least.empty() || static_cast<int>(least.size()) != columnCount()) return;
        const std::vector<int> widths = sharedWidths(viewport()->width(), least, wanted);
        const int spare = viewport()->width() - std::accumulate(widths.begin(), widths.end(), 0);
        const int air = std::clamp(spare / std::max(1, columnCount() - 1), 0, kMostAir);
        for (int c = 0; c < columnCount(); ++c)
            horizontalHeader()->resizeSection(c, widths[static_cast<std::size_t>(c)] + (c > 0 ? air : 0));
    }

  protected:
    void updateGeometries() override {
        if (m_fitting) return;
        m_fitting = true;
        for (int pass = 0; pass < 2; ++pass) {  // a scroll bar for the rows takes width
            share();
            QTableWidget::updateGeometries();
        }
        const QMargins margins = viewportMargins();
        const int room = viewport()->height() + margins.bottom(), rows = verticalHeader()->length();
        const int cut = room < rows && room > kRowHeight ? room % kRowHeight : 0;
        QScrollBar& bar = *verticalScrollBar();
        const bool atEnd = bar.maximum() > 0 && bar.value() == bar.maximum();
        setViewportMargins(margins.left(), margins.top(), margins.right(), cut);
        if (room < rows) {  // Qt reckoned the end of the bar, and where its rows stand, before the margin
            verticalHeader()->resize(verticalHeader()->width(), viewport()->height());
            QMetaObject::invokeMethod(verticalHeader(), "updateGeometries");  // hidden, it would wait till it is shown
            bar.setMaximum(rowCount() - viewport()->height() / kRowHeight);
            if (atEnd) bar.setValue(bar.maximum());
            if (bar.value() == bar.maximum()) verticalHeader()->setOffsetToLastSection();
        }
        m_fitting = false;
    }
    bool viewportEvent(QEvent* event) override {
        if (event->type() != QEvent::ToolTip) return QTableWidget::viewportEvent(event);
        const auto* help = static_cast<QHelpEvent*>(event);
        const QTableWidgetItem* at = itemAt(help->pos());
        const bool cut = at != nullptr && at->column() == 0 &&
                         QFontMetrics(at->font()).horizontalAdvance(at->text()) > columnWidth(0) - kPadding;
        if (!cut) return QTableWidget::viewportEvent(event);
        QToolTip::showText(help->globalPos(), shortened(at->text(), kHoverLetters).toHtmlEscaped(), viewport(),
                           visualItemRect(at));
        return true;
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

std::vector<int> sharedWidths(int room, const std::vector<int>& least, const std::vector<int>& wanted) {
    const auto at = [&](int level) {
        std::vector<int> widths(least.size());
        for (std::size_t i = 0; i < least.size(); ++i) widths[i] = std::max(least[i], std::min(wanted[i], level));
        return widths;
    };
    int low = 0, high = wanted.empty() ? 0 : *std::max_element(wanted.begin(), wanted.end());
    while (low < high) {  // the highest level that fits
        const int middle = (low + high + 1) / 2;
        const std::vector<int> widths = at(middle);
        if (std::accumulate(widths.begin(), widths.end(), 0) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return at(low);
}

QTableWidget* makeNumberTable(QWidget* parent) {
    auto* table = new NumberTable(parent);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setShowGrid(false);
    table->setTabKeyNavigation(false);
    table->setWordWrap(false);
    table->setTextElideMode(Qt::ElideMiddle);
    table->setFrameShape(QFrame::NoFrame);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    table->verticalHeader()->setMinimumSectionSize(kRowHeight);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table->horizontalHeader()->setMinimumSectionSize(2 * kPadding);
    return table;
}

void setTableShape(QTableWidget& table, const std::vector<Column>& columns, int rows) {
    auto& numberTable = static_cast<NumberTable&>(table);
    const int count = static_cast<int>(columns.size());
    if (table.rowCount() != rows) table.setRowCount(rows);
    if (table.columnCount() != count) table.setColumnCount(count);
    QFont bold = numberFont(table.font());
    bold.setBold(true);
    const QFontMetrics numbers(numberFont(table.font())), strong(bold), words(table.horizontalHeader()->font());
    numberTable.least.resize(columns.size(), kNarrowestName);
    numberTable.wanted.resize(columns.size(), kNarrowestName);
    for (int c = 0; c < count; ++c) {
        const Column& column = columns[static_cast<std::size_t>(c)];
        QTableWidgetItem* head = table.horizontalHeaderItem(c);
        if (head == nullptr) {
            head = new QTableWidgetItem;
            table.setHorizontalHeaderItem(c, head);
        }
        head->setText(column.head);
        head->setToolTip(shortened(column.help.isEmpty() ? column.head : column.help, kHoverLetters).toHtmlEscaped());
        head->setTextAlignment((c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        head->setData(kColourRole, column.colour);
        if (c == 0) continue;
        const int number = (column.strong ? strong : numbers).horizontalAdvance(column.widest);
        const int word = std::min(words.horizontalAdvance(column.head), kWidestHead);
        numberTable.wanted[static_cast<std::size_t>(c)] = std::max(word, number) + kPadding;
        numberTable.least[static_cast<std::size_t>(c)] = (column.isName ? number : std::max(word, number)) + kPadding;
    }
}

void setText(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong) {
    setCell(table, row, column, text, ink, strong, Qt::AlignLeft);
}

void setNumber(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong) {
    setCell(table, row, column, text, ink, strong, Qt::AlignRight);
}

void fitColumns(QTableWidget& table) {
    auto& numberTable = static_cast<NumberTable&>(table);
    int widest = 0;
    for (int row = 0; row < table.rowCount(); ++row)
        if (const QTableWidgetItem* item = table.item(row, 0))
            widest = std::max(widest, QFontMetrics(item->font()).horizontalAdvance(item->text()));
    const int steps = (widest + 2 * kPadding + kNameStep - 1) / kNameStep;
    int& wanted = numberTable.wanted.front();
    wanted = std::clamp(std::max(wanted, steps * kNameStep), kNarrowestName, kWidestName);
    numberTable.share();
}

void fitColumnsAnew(QWidget& window) {
    for (QTableWidget* table : window.findChildren<QTableWidget*>()) {
        auto* numberTable = dynamic_cast<NumberTable*>(table);
        if (numberTable == nullptr || numberTable->wanted.empty()) continue;
        numberTable->wanted.front() = kNarrowestName;
        fitColumns(*table);
    }
}

}  // namespace counterpoint::widgets
