#pragma once
// Tables of names and numbers in one look: names left, numbers right in figures of one width, rows of one height, no
// grid. Thread: the window thread.

#include <QTableWidget>
#include <vector>

#include "widgets/palette.h"

namespace counterpoint::widgets {

/// Where a plot stands above its table: five rows on a small screen.
constexpr int kPlotShare = 11, kTableShare = 9;

enum class Ink { Normal, Quiet };

QTableWidget* makeNumberTable(QWidget* parent);
/// A column: its head, what the head means (on hover), the widest number it will show. Names take the room that is
/// left; numbers and their heads are never cut.
struct Column {
    QString head, help, widest;
    bool strong = false;  ///< some of its numbers are
};
/// Columns and row count of a table made here; keeps what fits, so that a live table does not flicker.
void setTableShape(QTableWidget& table, const std::vector<Column>& columns, int rows);
void setText(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong = false);
void setNumber(QTableWidget& table, int row, int column, const QString& text, Ink ink, bool strong = false);

}  // namespace counterpoint::widgets
