#pragma once
// Figures about the banks of a trace's session: what compression keeps and costs (R8, R9, R10), on the bank itself and on the
// trace. Each is made on request, since a level of a large bank takes its time: by `run --figures`.
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

}  // namespace counterpoint::model
