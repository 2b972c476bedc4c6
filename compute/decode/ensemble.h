#pragma once
// Ensemble: the sources of a rack decoding in step. Feeds the shared sequence to each source (its own prefix before it,
// R1), turns raw logits into log-probability rows over the shared vocabulary, and rewinds as one. Nothing is committed
// until every source has answered: Cancelled and Error leave every source with what it held, as far as the new ids had
// not replaced it. Shapes: M sources, V = the base tokenizer's size, a recording's width where it has none (rows beyond it are cut, ids without a token
// excluded, before every log-softmax: HAZARDS A7). Positions are those of the shared sequence: the row after shared
// token t is about position t+1. A source with a prefix reads [BOS if the shared sequence begins with one] + prefix +
// the rest of the shared sequence. Thread: one owner. Errors: Error naming the source and the position.

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/sources/source.h"

namespace counterpoint::compute {

struct EnsembleMember {
    std::string name;
    std::unique_ptr<Source> source;
    double temperature = 1.0;  ///< its logits are divided by it before its log-softmax
    std::vector<TokenId> prefix;
    bool used = true;  ///< false: not fed and gives no row (switched off and nobody's reference)
};

/// [sources][V] log-probabilities of one position; an unused source's row is empty.
struct RawRows {
    Position position = 0;
    std::vector<std::vector<float>> rows = {};
    std::vector<RoutingRow> routing = {};  ///< [sources] of input position `position` − 1; without entries: no routed experts
};

class COUNTERPOINT_API Ensemble {
  public:
    /// Checks every member against the base (requireComposable); members[0] is the base. Sources start empty.
    explicit Ensemble(std::vector<EnsembleMember> members);
    ~Ensemble();
    Ensemble(Ensemble&&) noexcept;
    Ensemble& operator=(Ensemble&&) noexcept;

    std::int64_t vocabulary() const;
    std::size_t size() const;
    const EnsembleMember& member(std::size_t i) const;
    const std::vector<std::string>& notices() const;  ///< of the gate and of the sources
    Position maxPositions() const;                    ///< the tightest limit in shared positions; 0: none
    std::vector<TokenId> stopIds() const;             ///< union over sources, sorted

    /// A member that was unused catches up at the next forward.
    void setMember(std::size_t i, double temperature, std::vector<TokenId> prefix, bool used);
    /// R12 of one member; all begin as published. The member reads the text again at the next forward from where on it
    /// is routed otherwise: groups that a growing text adds leave what it has read.
    /// Noise has the shared sequence's positions; a prefix is routed without. Errors: those of Source::setRouting.
    void setRouting(std::size_t i, const SourceRouting& routing);

    /// Makes every used source hold exactly `ids` (rewinding to the longest common prefix with what it holds, then
    /// feeding the rest) and returns one RawRows per position from `firstRow` to ids.size() (the row about position p
    /// comes after ids[p-1]). firstRow >= 1. `progress(done, total)` is called between chunks.
    Outcome forward(std::span<const TokenId> ids, Position firstRow, std::vector<RawRows>& out, std::stop_token stop,
                    const std::function<void(std::int64_t, std::int64_t)>& progress = {});

  private:
    struct State;
    std::unique_ptr<State> m_state;
};

}  // namespace counterpoint::compute
