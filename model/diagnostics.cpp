#include "model/diagnostics.h"

#include <array>
#include <limits>

#include "compute/error.h"
#include "model/diagnostics/families.h"

namespace counterpoint::model {
namespace {

using compute::Step;
using compute::WinnerKind;

// The figure takes id and title from its row, so that they stand in one place.
template <PlotData (*make)(const Trace&, const View&), std::size_t row>
PlotData titled(const Trace& trace, const View& view) {
    PlotData plot = make(trace, view);
    plot.id = diagnostics()[row].id;
    plot.title = diagnostics()[row].title;
    return plot;
}

constexpr std::array kRows = {
    DiagnosticRow{"distribution", "Distribution", "distribution",
                  "log p̂(v) = (log p_b(v) + Σ w_i c_i δ_i(v) + Σ η_m log φ_m(v))/τ − log Z", "R1, R2",
                  titled<families::distribution, 0>},
    DiagnosticRow{"ledger", "Ledger", "ledger", "log p̂(v) = base + Σ sources + Σ priors + shift + eos + clamp − log Z",
                  "R4", titled<families::ledger, 1>},
    DiagnosticRow{"drift", "Drift", "trace", "KL(p̂‖p_b) and its running sum", "R5", titled<families::drift, 2>},
    DiagnosticRow{"entropy", "Entropy", "trace", "H(p̂) = −Σ p̂ log p̂;  surprise = −log p̂(token)", "R5",
                  titled<families::entropy, 3>},
    DiagnosticRow{"activity", "Activity", "trace", "a_i = KL(p_i‖p_r(i)), active where a_i > ε", "R5",
                  titled<families::activity, 4>},
    DiagnosticRow{"interference", "Interference", "trace", "log Z(all) − Σ_i log Z(i alone)", "R5",
                  titled<families::interference, 5>},
    DiagnosticRow{"eos", "End of text", "trace", "P(stop set), per source and composed", "R5",
                  titled<families::endOfText, 6>},
    DiagnosticRow{"drift_stages", "Drift by stage", "trace",
                  "KL(stage‖p_b): priors (τ = 1), temperature, after truncation", "R5",
                  titled<families::driftStages, 7>},
    DiagnosticRow{"divergences", "Divergences", "trace", "KL(p_b‖p̂), Jensen–Shannon, total variation", "R5",
                  titled<families::divergences, 8>},
    DiagnosticRow{"prior_effect", "Prior effect", "priors", "η_m·Δ_m(token)/τ where prior m matches", "R8, R4",
                  titled<families::priorEffect, 9>},
    DiagnosticRow{"routing_heat", "Experts by position", "routing",
                  "S_t = Top-K of ℓ_te/T_r + γ_te;  π_te = P(e ∈ S_t)", "R12, R14", titled<families::routingHeat, 10>},
    DiagnosticRow{"routing_coherence", "Coherence and boundary", "routing",
                  "mean |A∩B|/|A∪B| over the pairs of a group; over adjacent positions of two groups", "R13, R14",
                  titled<families::routingCoherence, 11>},
    DiagnosticRow{"routing_distinct", "Distinct experts", "routing",
                  "|∪_{t∈g} S_t|;  independent: Σ_e (1 − Π_{t∈g} (1 − π_te))", "R13, R14",
                  titled<families::routingDistinct, 12>},
    DiagnosticRow{"routing_load", "Load", "routing", "N_e = Σ_t [e ∈ S_t];  independent: Σ_t π_te;  capacity ⌈c·T·K/E⌉",
                  "R13, R14", titled<families::routingLoad, 13>},
    DiagnosticRow{"routing_variance", "Load variance", "routing",
                  "Σ_e Var(N_e | router logits);  independent: Σ_te π_te (1 − π_te)", "R13, R14",
                  titled<families::routingVariance, 14>},
    DiagnosticRow{"routing_overflow", "Overflow", "routing", "Σ_e max(0, N_e − ⌈c·T·K/E⌉)", "R13, R14",
                  titled<families::routingOverflow, 15>},
    DiagnosticRow{"routing_ends", "Routing end to end", "routing", "share of layers with S_t ≠ S'_t;  KL(p̂‖p_b)",
                  "R12, R5", titled<families::routingEnds, 16>},
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double winner(const Step& step) {
    switch (step.diagnostics.winner) {
        case WinnerKind::Base:
            return 0;
        case WinnerKind::Specialist:
            return step.diagnostics.winnerSource;
        case WinnerKind::Several:
            return -1;
        case WinnerKind::Nobody:
            return -2;
    }
    return kNone;
}

constexpr std::array kMeasures = {
    StripMeasure{"drift", "Drift", "nats", [](const Step& s) { return s.diagnostics.drift; }, false},
    StripMeasure{"entropy", "Entropy", "nats", [](const Step& s) { return s.diagnostics.entropy; }, false},
    StripMeasure{"surprise", "Surprise", "nats",
                 [](const Step& s) { return s.token == compute::kNoToken ? kNone : -static_cast<double>(s.logProb); },
                 false},
    StripMeasure{"interference", "Interference", "nats", [](const Step& s) { return s.diagnostics.interference; },
                 false},
    StripMeasure{"winner", "Who won", "", winner, true},
};

}  // namespace

std::span<const DiagnosticRow> diagnostics() { return kRows; }

const DiagnosticRow& diagnostic(std::string_view id) {
    for (const DiagnosticRow& row : kRows)
        if (row.id == id) return row;
    throw compute::Error({.where = "diagnostic '" + std::string(id) + "'",
                          .what = "there is no diagnostic of that name",
                          .expected = {},
                          .found = {},
                          .advice = {},
                          .details = {}});
}

std::span<const StripMeasure> stripMeasures() { return kMeasures; }

}  // namespace counterpoint::model
