#pragma once
// The messages of one step: plain values that cross threads by value or behind shared_ptr<const>.
// Shapes: M sources (index 0 = base, then the session's specialists in rack order), V vocabulary (the tokenizer's size),
// L routed layers, E routed experts, K chosen.
// Units: nats for log-probabilities and divergences, milliseconds where named. Thread: any (values).

#include <cstdint>
#include <memory>
#include <limits>
#include <string>
#include <vector>

namespace counterpoint::compute {

using TokenId = std::int32_t;
using Position = std::int64_t;
using ExpertId = std::int32_t;
constexpr TokenId kNoToken = -1;
constexpr float kExcluded = -std::numeric_limits<float>::infinity();

enum class WinnerKind { Base, Specialist, Several, Nobody };

/// R5. Against p_b at τ = 1; p̂ is stage temperature before truncation unless said otherwise.
struct Diagnostics {
    double drift = 0;           ///< KL(p̂‖p_b)
    double driftComposed = 0;   ///< KL(stage priors, τ = 1 ‖ p_b)
    double driftDrawn = 0;      ///< KL(after truncation ‖ p_b)
    double klFromBase = 0;      ///< KL(p_b‖p̂)
    double js = 0;              ///< Jensen-Shannon divergence, nats
    double tv = 0;              ///< total variation
    double entropy = 0;         ///< H(p̂), nats
    double interference = 0;    ///< log Z(all) − Σ log Z(i alone)
    double logNormaliser = 0;   ///< of stage temperature: log p̂ = s/τ − logNormaliser
    double scale = 1;           ///< λ of kl_budget
    WinnerKind winner = WinnerKind::Base;
    int winnerSource = 0;               ///< source index when winner is Specialist
    std::vector<double> activity;       ///< [M], KL(p_i‖p_r(i)); 0 for the base
    std::vector<double> eos;            ///< [M], P(stop set) per source
    double eosComposed = 0;             ///< P(stop set) of p̂
    std::int64_t noSay = 0;             ///< (source, token) pairs where an exclusion made δ = 0
};

struct TopToken {
    TokenId token = kNoToken;
    bool kept = true;                 ///< survives truncation
    std::vector<float> source;        ///< [M] log p_i
    float composed = kExcluded;       ///< stage composed, log p
    float priors = kExcluded;         ///< stage priors, log p
    float temperature = kExcluded;    ///< stage temperature, log p̂
};

/// R12: where one input position of a source went, layer after layer.
struct RoutingRow {
    std::vector<float> logits;      ///< [L][E] ℓ as the routers gave it: without bias, temperature or noise
    std::vector<ExpertId> experts;  ///< [L][K] in the order they were chosen
    std::vector<float> weights;     ///< [L][K] of the mixture
};

/// A prior by its name in a bank of the rack.
struct PriorName {
    std::size_t bank = 0;
    std::string name;
    bool operator==(const PriorName&) const = default;
};

/// One row of logits and what was done with it. position = absolute index of the token the row is about.
struct Step {
    Position position = 0;
    bool prompt = false;
    bool forced = false;              ///< chosen by hand or given (prompt tokens are not marked forced)
    bool greedy = false;              ///< τ = 0
    TokenId token = kNoToken;         ///< kNoToken: about no token (last row of score mode)
    std::string bytes;                ///< the token's bytes as they stand in the text
    std::vector<float> logProbs;      ///< [M] log p_i(token)
    float composedLogProb = 0;        ///< stage composed, of the token
    float logProb = 0;                ///< stage temperature, of the token
    Diagnostics diagnostics;
    std::vector<TopToken> top;        ///< 20 most probable of stage temperature, p descending, id ascending
    double tailProb = 0;              ///< stage temperature, what is not in top
    std::int64_t keptCount = 0;       ///< tokens that survive truncation
    /// [M] of input position `position` − 1, null where a source has no routers; empty: none has.
    std::vector<std::shared_ptr<const RoutingRow>> routing;
    std::vector<PriorName> matchedPriors;
    std::vector<PriorName> boundedPriors;  ///< their context hit its bound here and did not match
    TokenId drawn = kNoToken;         ///< what R3 draws here under this step's dials (differs from token left of a force or in what-if)
    std::uint64_t revision = 0;       ///< of the recipe used
    double forwardMs = 0, composeMs = 0;
};

}  // namespace counterpoint::compute
