#pragma once
// The functions behind the table of diagnostics, one file a family. Each: a trace and what is looked at -> a figure as
// data; R5 unless said. A trace without steps gives a figure that says why it is empty. Thread: the trace owner's.

#include "model/diagnostics.h"

namespace counterpoint::model::families {

// decoding.cpp: values per position
PlotData drift(const Trace& trace, const View& view);
PlotData driftStages(const Trace& trace, const View& view);
PlotData divergences(const Trace& trace, const View& view);
PlotData entropy(const Trace& trace, const View& view);
PlotData activity(const Trace& trace, const View& view);
PlotData interference(const Trace& trace, const View& view);
PlotData endOfText(const Trace& trace, const View& view);

// priors.cpp: one prior over the positions
PlotData priorEffect(const Trace& trace, const View& view);   ///< R8, R4

// routingmaps.cpp: a routed source over the positions
PlotData routingHeat(const Trace& trace, const View& view);  ///< R12, R14
PlotData routingEnds(const Trace& trace, const View& view);  ///< R12, R5: end to end

// routingmetrics.cpp: one layer of a routed source, R13 and R14
PlotData routingCoherence(const Trace& trace, const View& view);
PlotData routingDistinct(const Trace& trace, const View& view);
PlotData routingLoad(const Trace& trace, const View& view);
PlotData routingVariance(const Trace& trace, const View& view);
PlotData routingOverflow(const Trace& trace, const View& view);

// composition.cpp: one position
PlotData distribution(const Trace& trace, const View& view);  ///< R2
PlotData ledger(const Trace& trace, const View& view);        ///< R4

/// What is stored of a position; Error where nothing is.
compute::SourceRows<float> storedRows(const Trace& trace, compute::Position position);

}  // namespace counterpoint::model::families
