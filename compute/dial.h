#pragma once
// DialSpec: one row per continuous or discrete setting. The one place that feeds the widget, the JSON reader's bounds,
// the help text and the tests. Source: SPEC.md R1-R3, R11-R14.
// Thread: any (immutable table).

#include "compute/export.h"

#include <span>
#include <string_view>

namespace counterpoint::compute {

enum class DialKind { Real, Integer, Choice, Switch };
/// Stored: acts at once on a stored trace (no forward pass). Decode: needs a new decode. Estimates: at once on what is
/// estimated from stored router logits (R14), end to end in a new decode.
enum class DialActs { Stored, Decode, Estimates };

struct DialSpec {
    std::string_view
        id;  ///< JSON key in "decoding", e.g. "top_p", or in a source's "routing"; "rule" stands in the session
    std::string_view title;  ///< "Top-p"
    std::string_view symbol; ///< "τ", may be empty
    std::string_view unit;   ///< "nats", may be empty
    DialKind kind;
    double minimum, maximum, initial, step;
    bool optional;               ///< may be null = off
    bool logarithmic;            ///< slider runs on a log scale
    DialActs acts;
    std::string_view choices;    ///< '|'-separated, for Choice; of a number: the kinds of limit it can be
    std::string_view rule;       ///< "R2"
    std::string_view help;       ///< one or two sentences
    bool changesLaw = false;     ///< a token's own law is no longer that of the model (R12)
};

/// The rule and every dial of "decoding" in the order of the panel.
COUNTERPOINT_API std::span<const DialSpec> decodingDials();
/// The row with that id; throws Error when there is none.
COUNTERPOINT_API const DialSpec& dial(std::string_view id);
/// The same of a source's "routing" (R11, R12, R14).
COUNTERPOINT_API std::span<const DialSpec> routingDials();
COUNTERPOINT_API const DialSpec& routingDial(std::string_view id);
/// Throws Error naming the dial, its bounds and the value when value is outside or not a number.
COUNTERPOINT_API void requireInBounds(const DialSpec& spec, double value);

}  // namespace counterpoint::compute
