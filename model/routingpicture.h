#pragma once
// What routing noise does to one source of a trace (R13, R14, R15), for the window: estimates on its stored router
// logits [L][T][E], held fixed, under the source's dials. Coupled noise beside flat coupling (α = 0), independent noise
// (ρ = 0; by draws and in closed form) and none; coherence and boundary over ρ and over α, the overflow over capacity
// factors; the invariance panel of one layer. Whatever the source's mode is: `coupled` is what its ρ, α and groups do.
// Scope, to be said with each: one layer, given its stored inputs; no end-to-end statement. Answers come while it
// works: a first of 32 draws, then more parts and draws; each is a value of its own. Units: positions, selections.
// Errors: rows that are not stored, and those of compute/routing. Thread: any (values); the watcher is called on the
// caller's.

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/routing/estimates.h"
#include "compute/routing/inclusion.h"
#include "compute/routing/invariance.h"
#include "compute/sources/source.h"
#include "model/logitstore.h"

namespace counterpoint::model {

constexpr const char* kOneLayer = "one layer, given its inputs";
constexpr const char* kEndToEnd = "end to end";

/// Router logits of input positions 0 to T − 1.
struct RoutedText {
    compute::RouterInfo routers;
    compute::Position positions = 0;  ///< T
    std::vector<float> logits;        ///< [L][T][E]
};
/// How many input positions, from 0 on, a source's rows tell the routing of.
compute::Position routedPositions(const LogitStore& store, std::size_t source);
RoutedText routedText(const LogitStore& store, std::size_t source, const compute::RouterInfo& routers,
                      compute::Position positions);

/// The dials as estimates take them; what it holds are views of `text`. The mode is not looked at.
compute::EstimateQuestion estimateQuestion(const RoutedText& text, const compute::SourceRouting& routing,
                                           double capacity);
/// [L] closed forms of independent noise; `between` is called between layers. Empty: it was stopped.
std::vector<compute::IndependentForm> independentForms(const compute::EstimateQuestion& question,
                                                       const std::function<void()>& between,
                                                       const std::stop_token& stop);

/// What a picture is of.
struct RoutingSubject {
    std::string source;
    std::size_t index = 0;            ///< of the source in its trace
    compute::Position positions = 0;  ///< T
    compute::SourceRouting routing;
    double capacity = 1;
    int draws = 256;  ///< D
    bool operator==(const RoutingSubject&) const = default;
};

/// A point of a curve: the dial and, of each layer, what it gives.
struct RoutingCurvePoint {
    double at = 0;
    std::vector<compute::MetricEstimates> layers;  ///< [L]
};

/// What R12 covers of the tokens that a trace has.
enum class TokenPath {
    Scored,      ///< every token was given
    OwnNoise,    ///< drawn, each under noise of its own or none
    SharedNoise  ///< drawn under noise that groups share: not covered
};

/// R15 of one layer.
struct InvariancePanel {
    std::size_t layer = 0;  ///< among the routed ones
    std::vector<compute::Position> positions;
    int draws = 0;
    std::vector<compute::InvarianceTest> rows;
    bool holds = true;
    std::string verdict;  ///< one plain sentence
    std::string scope;    ///< what it speaks of, and what it does not
};
/// "ordered lists (χ²)", …
const char* titleOf(compute::InvarianceKind kind);

/// What is not known yet is null or empty.
struct RoutingPicture {
    RoutingSubject of;
    compute::RouterInfo routers;
    std::string problem;  ///< why there is nothing to see, a sentence
    std::shared_ptr<const std::vector<compute::DeterministicRouting>> deterministic;  ///< [L] without noise
    std::shared_ptr<const compute::Estimates> coupled, flat, independent;
    std::shared_ptr<const std::vector<compute::IndependentForm>> closed;  ///< [L] of independent noise
    std::vector<double> capacityFactors;                                  ///< of LayerEstimates::overflowAt
    std::vector<RoutingCurvePoint> againstRho, againstAlpha;
    std::shared_ptr<const InvariancePanel> invariance;
    bool whole = false;  ///< nothing more comes
};
using RoutingPicturePtr = std::shared_ptr<const RoutingPicture>;

struct RoutingQuestion {
    RoutingSubject of;
    compute::RouterInfo routers;
    std::shared_ptr<const LogitStore> store;
    std::size_t testedLayer = 0;  ///< whose invariance
    TokenPath path = TokenPath::OwnNoise;
    RoutingPicturePtr before;  ///< of the same subject: only what it lacks is made
    int curveDraws = 64, testDraws = 2000;
    int threads = 1;
};
/// Whether `known` answers the question to the end.
bool answers(const RoutingPicture* known, const RoutingSubject& of, std::size_t testedLayer);

struct RoutingWatch {
    std::function<void(RoutingPicturePtr)> tell;
    std::function<void(double share, double drawsPerSecond)> progress;  ///< draws done of all; may be empty
    std::function<void()> between;  ///< every few hundredths of a second; may be empty
};
/// Cancelled: what was told before stays true, and nothing more comes.
compute::Outcome routingPicture(const RoutingQuestion& question, const RoutingWatch& watch,
                                const std::stop_token& stop);

}  // namespace counterpoint::model
