#pragma once
// Trace: the record of one decoded or scored sequence, one Step per row of logits. Lives on the window thread (or in a command);
// steps are immutable and shared. Branches form a tree by parent id. Thread: the owner's; steps: any.

#include "compute/priors/priorset.h"
#include "compute/text/tokenizer.h"
#include "model/logitstore.h"
#include "model/session.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace counterpoint::model {

struct DriftWithout;
struct RoutingPicture;
using StepPtr = std::shared_ptr<const compute::Step>;

struct Trace {
    int id = 0;
    int parent = -1;                        ///< trace it branched from
    compute::Position branchedAt = 0;       ///< position of the token that was forced
    std::string name;                       ///< "1", "1.2"
    Session session;                        ///< dials the shown steps were composed with, on the rack of `sources`
    Session decodedWith;                    ///< rack and dials it was decoded with
    std::vector<std::string> sources;       ///< [M] names, [0] = base
    std::vector<compute::TokenId> tokens;   ///< whole sequence, BOS included; index = position
    std::vector<std::string> tokenBytes;    ///< as they stand in the text ("" for control tokens)
    compute::Position promptLength = 0;     ///< tokens[0, promptLength) were given
    std::vector<StepPtr> steps;             ///< ascending position; shown ones: after what-if these are the recomposed steps
    std::shared_ptr<LogitStore> store;
    std::shared_ptr<const compute::Tokenizer> tokenizer;
    std::shared_ptr<const compute::PriorSet> priors;  ///< of `session` with this tokenizer; null: none
    std::shared_ptr<const DriftWithout> driftWithout;  ///< of the prior that is looked at, once it is known
    std::shared_ptr<const RoutingPicture> routing;     ///< of the source that is looked at, as far as it is known
    bool routingStale = false;              ///< dials, text or source have moved since, and a new one is on its way
    std::optional<compute::Position> flip;  ///< first position where the present dials would draw another token (R3)
    std::string stop;                       ///< "eos|limit|context|user|error", "" while running
    std::optional<compute::TokenId> stopId;
    std::vector<std::optional<compute::RouterInfo>> routers;  ///< [M] of sources with routed experts
    std::vector<compute::TokenId> stopIds;  ///< the union the used models state; the session's own come before it (toRecipe)
    double tokensPerSecond = 0;

    /// The step about `position`, or nullptr.
    const compute::Step* at(compute::Position position) const;
    /// Streamed text of all tokens (valid UTF-8).
    std::string text() const;
};

/// The trace's text as contexts of priors see it (R8).
compute::ContextText contextOf(const Trace& trace);
/// Puts a new step at the end, with its token; a step about the last position replaces it.
void appendStep(Trace& trace, const StepPtr& step);
/// Bytes of tokens[index] as they stand in the text: "" for control tokens, without the tokenizer's own space at the start.
std::string standingBytes(const compute::Tokenizer* tokenizer, const std::vector<compute::TokenId>& tokens, std::size_t index);

/// What every plot of the window shows: one shared cursor. Saved in the session's view.
struct View {
    compute::Position cursor = -1;
    int source = 0;
    compute::TokenId token = compute::kNoToken;  ///< selected token of the distribution (ledger)
    int topCount = 12;
    bool logScale = false;
    std::string stripMeasure = "drift";
    int priorBank = -1;      ///< the prior that is looked at: its bank's place in the rack; -1: none
    std::string prior;       ///< and its name
    int routingLayer = 0;    ///< among the routed layers of the source that is looked at
    std::string routingMeasure = "chosen";  ///< of the heat map: see routingMeasures()
    bool operator==(const View&) const = default;
};
/// The view as it stands in a session; keys of `kept` that are not the view's own stay.
OrderedJson viewToJson(const View& view, const OrderedJson& kept);
View viewFromJson(const OrderedJson& json);

}  // namespace counterpoint::model
