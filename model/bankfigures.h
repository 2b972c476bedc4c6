#pragma once
// Figures about the banks of a trace's session: what compression keeps and costs (R8, R9, R10), on the bank itself and on the
// trace. Each is made on request, since a level of a large bank takes its time: by `run --figures` and by a job of the window.
// Thread: any (a trace that nobody changes). Errors: none; a figure that has nothing to show says why.

#include "model/diagnostics.h"

#include <stop_token>

namespace counterpoint::model {

struct BankFigureRow {
    std::string_view id;        ///< "bank_eta", …
    std::string_view title;
    std::string_view equation;
    std::string_view source;    ///< rule number
    PlotData (*make)(const Trace& trace, const std::stop_token& stop);
};
std::span<const BankFigureRow> bankFigures();
/// Of one row, its id and title set; asked to stop it may be empty.
PlotData makeBankFigure(const BankFigureRow& row, const Trace& trace, const std::stop_token& stop = {});

/// R10 on the trace: KL(p̂ with the bank as it is ‖ p̂ with it at a level), mean over the steps, and its standard error.
struct LevelOnTrace {
    int level = 0;
    std::size_t priors = 0;
    std::uint64_t bytes = 0;
    double paperRatio = 1, trueRatio = 1, meanKl = 0, largestKl = 0;
    std::int64_t steps = 0;
};
/// Of bank `bank` of the trace's session, the others as they are; levels 0 to 3.
std::vector<LevelOnTrace> levelsOnTrace(const Trace& trace, std::size_t bank, const std::stop_token& stop = {});

}  // namespace counterpoint::model
