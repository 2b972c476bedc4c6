#include "compute/dial.h"

#include "compute/error.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace counterpoint::compute {
namespace {

constexpr double kMaxSeed = 18446744073709551615.0;

constexpr std::array kDials = {
    DialSpec{"rule", "Rule", "", "", DialKind::Choice, 0, 1, 0, 1, false, false, DialActs::Stored, "product|mixture", "R1",
             "product: weighted differences of log-probabilities are added to the base. mixture: probabilities are averaged, the base's weight being 1: the baseline to compare with."},
    DialSpec{"temperature", "Temperature", "τ", "", DialKind::Real, 0.0, 5.0, 0.7, 0.01, false, false, DialActs::Stored, "", "R1",
             "Divides the whole product, sources and priors together. 0 is greedy: the most probable token, lowest id on ties."},
    DialSpec{"top_k", "Top-k", "", "tokens", DialKind::Integer, 0, 1e6, 0, 1, false, true, DialActs::Stored, "", "R2",
             "Keeps the k most probable tokens; 0 keeps all. Acts first, before top-p and min-p."},
    DialSpec{"top_p", "Top-p", "", "", DialKind::Real, 0.0, 1.0, 1.0, 0.01, false, false, DialActs::Stored, "", "R2",
             "Keeps the shortest list of most probable tokens whose probabilities reach this sum, at least one."},
    DialSpec{"min_p", "Min-p", "", "", DialKind::Real, 0.0, 1.0, 0.0, 0.01, false, false, DialActs::Stored, "", "R2",
             "Keeps tokens with at least this share of the largest probability."},
    DialSpec{"eos_policy", "End-of-text policy", "", "", DialKind::Choice, 0, 4, 0, 1, false, false, DialActs::Stored,
             "sum|mean|max|base|active", "R1",
             "How the specialists' differences count for the stop tokens. With more than two specialists a plain sum can end texts early or never."},
    DialSpec{"plausibility", "Plausibility", "β", "", DialKind::Real, 0.0, 1.0, 0.1, 0.01, true, false, DialActs::Stored, "relative|top_p", "R1",
             "Keeps only tokens the base finds plausible: relative: at least β times its largest probability; top_p: inside its top-p of β."},
    DialSpec{"floor", "Clamp", "", "nats", DialKind::Real, 0.0, 1000.0, 30.0, 1.0, false, false, DialActs::Stored, "", "R1",
             "With a negative weight, differences below minus this value are raised to it, so that one token cannot win by being hated."},
    DialSpec{"common_shift", "Shared shift once", "", "", DialKind::Switch, 0, 1, 0, 1, false, false, DialActs::Stored, "", "R1",
             "What all specialists share is counted once and not k times."},
    DialSpec{"kl_budget", "KL budget", "κ", "nats", DialKind::Real, 0.0, 100.0, 1.0, 0.01, true, false, DialActs::Stored, "", "R1",
             "Scales all weights by the largest λ ≤ 1 that keeps the composed drift at or below κ in each step."},
    DialSpec{"active_epsilon", "Activity threshold", "ε", "nats", DialKind::Real, 0.0, 100.0, 0.1, 0.01, false, false, DialActs::Stored, "", "R5",
             "A specialist is active where its KL to its reference exceeds this."},
    DialSpec{"seed", "Seed", "", "", DialKind::Integer, 0, kMaxSeed, 7, 1, false, false, DialActs::Stored, "", "R3",
             "Key of the addressed noise: the same seed, stream and position give the same noise whatever else is done."},
    DialSpec{"stream", "Sample", "", "", DialKind::Integer, 0, 4294967295.0, 0, 1, false, false, DialActs::Stored, "", "R3",
             "Sample number: another stream is another independent draw under the same seed."},
    DialSpec{"max_new_tokens", "New tokens", "", "tokens", DialKind::Integer, 0, 1e6, 128, 1, false, true, DialActs::Decode, "", "R3",
             "Decoding stops after this many tokens, or earlier at a stop token or at a model's position limit."},
};

constexpr double kMostPositions = 2147483647.0;

constexpr std::array kRouting = {
    DialSpec{"mode", "Routing", "", "", DialKind::Choice, 0, 2, 0, 1, false, false, DialActs::Estimates,
             "deterministic|independent|coupled", "R12",
             "deterministic: the model as published. independent: Gumbel noise of its own at every position. coupled: "
             "noise that the positions of a group share. Estimates show all of them beside each other."},
    DialSpec{"rho", "Coherence", "ρ", "", DialKind::Real, 0.0, 1.0, 0.5, 0.01, false, false, DialActs::Estimates, "",
             "R11",
             "How much of its noise a position shares with its group: correlation of the normals within a group. 0 is "
             "independent noise."},
    DialSpec{"alpha", "Repulsion", "α", "", DialKind::Real, 0.0, 1.0, 0.5, 0.01, false, false, DialActs::Estimates, "",
             "R11",
             "How far the second group of a pair turns from the first: correlation −αρ across the pair. 0 is flat "
             "coupling."},
    DialSpec{"window", "Window", "W", "positions", DialKind::Integer, 1, kMostPositions, 8, 1, false, true,
             DialActs::Estimates, "", "R11",
             "Positions to a group where groups are windows. One that is longer than the text is one group."},
    DialSpec{"groups", "Groups", "", "", DialKind::Choice, 0, 2, 0, 1, false, false, DialActs::Estimates,
             "windows|sentences|list", "R11",
             "windows of W positions; sentences, a group beginning after each token that ends one; or the first "
             "positions of a list, such as 0, 12, 40."},
    DialSpec{"pairs", "Pairs", "", "", DialKind::Choice, 0, 1, 0, 1, false, false, DialActs::Estimates,
             "consecutive|list", "R11",
             "Which groups repel each other: (0,1), (2,3) and so on, or those of a list, such as 0-1, 2-5. Each group "
             "is in one pair at most; an empty list pairs none."},
    DialSpec{"seed", "Noise seed", "", "", DialKind::Integer, 0, kMaxSeed, 7, 1, false, false, DialActs::Estimates, "",
             "R11", "Key of the addressed noise of routing. Draw 0 is the decode, the others are estimates."},
    DialSpec{"temperature", "Router temperature", "T_r", "", DialKind::Real, 0.01, 100.0, 1.0, 0.01, false, false,
             DialActs::Estimates, "", "R12",
             "Divides the router logits before the noise is added; the mixture weights stay those of the logits.",
             true},
    DialSpec{"capacity", "Capacity factor", "c", "", DialKind::Real, 0.01, 100.0, 1.0, 0.01, false, false,
             DialActs::Stored, "", "R13",
             "Selections beyond c·T·K/E of an expert, rounded up, are overflow. Nothing in a decode is dropped."},
    DialSpec{"draws", "Draws", "D", "", DialKind::Integer, 2, 100000.0, 256, 1, false, true, DialActs::Stored, "",
             "R14",
             "How often the noise is drawn for an estimate. Standard errors fall with its square root; a first answer "
             "has 32."},
};

const DialSpec& rowOf(std::span<const DialSpec> rows, std::string_view id) {
    for (const DialSpec& d : rows)
        if (d.id == id) return d;
    throw Error({.where = "dial '" + std::string(id) + "'",
                 .what = "there is no dial of that name",
                 .expected = {},
                 .found = {},
                 .advice = "see the list of dials in --help",
                 .details = {}});
}

std::string number(double x) {
    std::array<char, 32> buffer{};
    const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
    return {buffer.data(), r.ptr};
}

}  // namespace

std::span<const DialSpec> decodingDials() { return kDials; }

const DialSpec& dial(std::string_view id) { return rowOf(kDials, id); }

std::span<const DialSpec> routingDials() { return kRouting; }

const DialSpec& routingDial(std::string_view id) { return rowOf(kRouting, id); }

void requireInBounds(const DialSpec& spec, double value) {
    if (std::isfinite(value) && value >= spec.minimum && value <= spec.maximum) return;
    throw Error({.where = "dial '" + std::string(spec.id) + "'",
                 .what = "the value is outside its range",
                 .expected = number(spec.minimum) + " to " + number(spec.maximum),
                 .found = std::isnan(value) ? "not a number" : number(value),
                 .advice = {},
                 .details = {}});
}

}  // namespace counterpoint::compute
