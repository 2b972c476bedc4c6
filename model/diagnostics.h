#pragma once
// The table of diagnostics: one function and one row each; dock, menu, export and tests follow from the row.
// Diagnostics read a trace and can never change a decode. Thread: the trace owner's.

#include "model/figure.h"
#include "model/trace.h"

#include <span>
#include <string_view>

namespace counterpoint::model {

struct DiagnosticRow {
    std::string_view id;        ///< "drift", "distribution", "ledger", …
    std::string_view title;
    std::string_view dock;      ///< dock it stands in: "distribution", "trace", "ledger"
    std::string_view equation;  ///< shown on hover: "KL(p̂‖p_b)"
    std::string_view source;    ///< rule number
    PlotData (*make)(const Trace& trace, const View& view);
};

std::span<const DiagnosticRow> diagnostics();
const DiagnosticRow& diagnostic(std::string_view id);

/// Measures a token strip can be coloured by: value per step, NaN where there is none.
struct StripMeasure {
    std::string_view id, title, unit;
    double (*value)(const compute::Step& step);
    bool categorical;           ///< who won: value is a category index (0 base, 1.. specialist, -1 several, -2 nobody)
};
std::span<const StripMeasure> stripMeasures();

/// The ledger of `token` at `position` under the trace's session (R4).
compute::Ledger ledgerAt(const Trace& trace, compute::Position position, compute::TokenId token);

}  // namespace counterpoint::model
