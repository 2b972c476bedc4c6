#pragma once
// What can be composed: a recipe's numbers in range, rows of one width without NaN and +∞, priors inside the
// vocabulary. Errors: Error naming source and position (rows), dial or prior (recipe). Thread: any.

#include <string>

#include "compute/composition/compose.h"

namespace counterpoint::compute {

/// "source 'math', position 17".
std::string sourceAt(const Recipe& recipe, std::size_t source, Position position);

template <class Real>
void check(const Recipe& recipe, std::span<const PriorTerm> priors, const SourceRows<Real>& rows);

/// Throws: no token is left at this position, naming who excluded the base's favourite.
template <class Real>
[[noreturn]] void throwNothingLeft(const Recipe& recipe, const SourceRows<Real>& rows);
/// Throws: the scores of this position are not finite, naming the source with the largest weight.
template <class Real>
[[noreturn]] void throwNotFinite(const Recipe& recipe, const SourceRows<Real>& rows);

}  // namespace counterpoint::compute
