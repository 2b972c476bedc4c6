#pragma once
// A routing dial's id to a source's "routing" (SPEC.md 2) and back, and its lists as a person writes them. What else
// stands in the JSON stays as it is; a value is written beside it, null becomes an object. Errors: Error when no dial
// has that id, a value is outside its bounds or a text is no such list. Thread: any (values).

#include <QString>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compute/files/json.h"
#include "widgets/dialbinding.h"

namespace counterpoint::widgets {

/// `real`: also the index of a choice.
DialValue routingValue(const compute::OrderedJson& routing, std::string_view id);
void setRoutingValue(compute::OrderedJson& routing, std::string_view id, const DialValue& value);

/// "0, 12, 40"; empty: the groups are no list.
QString groupList(const compute::OrderedJson& routing);
void setGroupList(compute::OrderedJson& routing, const QString& list);
/// "0-1, 2-5"; empty: the pairs are consecutive, or the list is empty.
QString pairList(const compute::OrderedJson& routing);
void setPairList(compute::OrderedJson& routing, const QString& list);

/// "coupled, rho 0.5, window 8": what is written, in its order.
QString routingText(const compute::OrderedJson& routing);

/// What is switched off or biased in a layer of the model (R12): −∞ is off, 0 neither.
double expertBias(const compute::OrderedJson& routing, std::int64_t layer, std::int64_t expert);
void setExpertBias(compute::OrderedJson& routing, std::int64_t layer, std::int64_t expert, double bias);

}  // namespace counterpoint::widgets
