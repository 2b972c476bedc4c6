#pragma once
// Tables of names and numbers in one look: names left, numbers right in figures of one width, rows of one height, no
// grid. Columns share the room: where it is short, names (of rows and of heads) lose their middle and are told whole on
// hover, numbers never; where there is more, columns stay near each other and the rest stays empty.
// Thread: the window thread.

#include <QTableWidget>
#include <vector>

#include "widgets/palette.h"

namespace counterpoint::widgets {

/// Where a plot stands above its table: five rows on a small screen.
constexpr int kPlotShare = 11, kTableShare = 9;

enum class Ink { Normal, Quiet };

QTableWidget* makeNumberTable(QWidget* parent);
/// A column: its head, what the head means (on hover), the widest number it will show.
struct Column {
    QString head, help, widest;
    bool strong = false;     ///< some of its numbers are
    bool isName = false;     ///< its head is a name and may be shortened
    int colour = kNoColour;  ///< of the series it is of (seriesColour), drawn below the head
    static constexpr int kNoColour = -100;
};
/// Columns and row count of a table made here; keeps what fits, so that a live table does not flicker. After the cells
/// are written: fitColumns.
void setTableShape(QTableWidget& table, const std::vector<Column>& columns, int rows);
void setText(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong = false);
void setNumber(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong = false);
void fitColumns(QTableWidget& table);
/// In every table of the window the names' column as wide as the names that stand there now ask for, whatever was
/// there before: the same view is the same picture.
void fitColumnsAnew(QWidget& window);

/// Widths of columns that need `least` and would like `wanted` in `room` pixels: what is short is taken from the widest
/// first, so that those left are of one width; never less than `least`.
std::vector<int> sharedWidths(int room, const std::vector<int>& least, const std::vector<int>& wanted);

}  // namespace counterpoint::widgets
