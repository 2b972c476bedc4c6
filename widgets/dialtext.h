#pragma once
// What a dial says of itself, from its row of the table: title, help with rule, bounds and when it acts, and what
// stands beside its editor. Thread: the window thread.

#include <QLabel>
#include <string_view>

#include "compute/dial.h"
#include "widgets/valueslider.h"

namespace counterpoint::widgets {

QString textOf(std::string_view utf8);
/// "Temperature τ"
QString titleOf(const compute::DialSpec& spec);
/// Rich text for a tooltip.
QString helpOf(const compute::DialSpec& spec);
/// "●  acts at once" with its hint; of what is marked so.
QLabel* headingOf(compute::DialActs acts);
QLabel* heading(const QString& title, const QString& hint);
/// Slider and field of a number; `span`: where the slider ends, the field takes the whole range. 0: no slider.
ValueSlider* sliderOf(const compute::DialSpec& spec, double span);
/// Names the editor for eyes, ears and tests.
void describe(QWidget& editor, const compute::DialSpec& spec, const QString& objectName);

}  // namespace counterpoint::widgets
