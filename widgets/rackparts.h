#pragma once
// What the rows of the rack have in common: small buttons, the label of their state, the table on hover, and the ground
// with the stripe of their colour. Thread: the window thread.

#include <QLabel>
#include <QToolButton>

#include "widgets/icons.h"

namespace counterpoint::widgets {

QToolButton* rackButton(Glyph glyph, const QString& name, const QString& help);
QLabel* stateLabel();
/// `failed`: it is drawn as what went wrong.
void showState(QLabel& label, const QString& state, bool failed);
/// A row of the table on hover; nothing where there is no value.
QString hoverRow(const QString& name, const QString& value);
void paintRackRow(QWidget& row, const QColor& stripe);

}  // namespace counterpoint::widgets
