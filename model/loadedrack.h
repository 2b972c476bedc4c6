#pragma once
// LoadedRack: the open sources of a session's rack and the ensemble over them. Owned by the decode lane: every call takes the same Lane,
// and it must outlive the rack.
// A load either replaces everything or leaves everything as it was; sources open under the same path, device and dtype are
// kept. A source without a say that cannot be opened or does not fit the base is a notice, and gives no rows.
// Indices are the session's: 0 = base, then specialists in rack order. Errors: Error. Thread: one owner.

#include "model/banks.h"
#include "model/lane.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace counterpoint::model {

class LoadedRack {
  public:
    explicit LoadedRack(SourceOpener opener) : m_opener(std::move(opener)) {}

    compute::Outcome load(const LoadRequest& request, Lane& lane, std::stop_token stop);
    /// Loads unless the same sources are already open in the same order.
    compute::Outcome require(const Session& session, bool onlyUsed, Lane& lane, std::stop_token stop);
    struct Opened { std::string path; bool runsCode = false; };
    /// What was opened since this was last asked.
    std::vector<Opened> takeOpened() { return std::exchange(m_opened, {}); }

    /// [M] of each source of the rack.
    std::vector<std::optional<compute::RouterInfo>> routers() const;
    std::shared_ptr<const compute::Tokenizer> tokenizer() const;
    /// What of the session's banks acts; `before`: of the same tokenizer. Error naming an enabled bank that could not be read.
    PriorSetPtr priors(Session session, const compute::PriorSet* before) const;
    std::int64_t vocabulary() const { return m_ensemble->vocabulary(); }
    /// Union of what the sources with a say state (HAZARDS A8), sorted.
    std::vector<compute::TokenId> statedStopIds(const Session& session) const;
    /// The tightest limit in shared positions over the sources with a say; 0: none.
    compute::Position maxPositions(const Session& session) const;

    /// The tokens that the recordings with a say are about, the shortest of them; empty: there is none.
    std::vector<compute::TokenId> recordedTokens(const Session& session) const;
    /// Error naming the source whose prefix and the prompt of `length` tokens are longer than it can read (after prepare).
    void requireRoom(const Session& session, compute::Position length) const;
    /// Temperatures and prefixes of the session; which sources are fed.
    void prepare(const Session& session, bool feedAll);
    /// Rows about positions firstRow..ids.size(), one entry per source of the session (empty: not fed).
    compute::Outcome forward(std::span<const compute::TokenId> ids, compute::Position firstRow, std::vector<compute::RawRows>& out,
                             std::stop_token stop);

  private:
    struct Slot {
        std::string path, key;                    ///< Session::sourceKey
        std::shared_ptr<compute::Source> source;  ///< null: not open
        int member = -1;                          ///< index in the ensemble
        std::int64_t prefixLength = 0;
        compute::SourceRouting routing = {};  ///< as it was prepared
        bool bySentences = false;             ///< its groups are those of the text that is read
    };
    /// The routing of sources whose groups are sentences, for a text.
    void placeSentences(std::span<const compute::TokenId> ids);
    compute::Outcome open(const LoadRequest& request, Lane& lane, std::stop_token stop);
    /// Reads the banks of the session that have no content. `again`: also those that were read before.
    void readBanks(const Session& session, bool again, Lane& lane);
    std::shared_ptr<compute::Source> take(std::span<const Slot> taken, const Slot& slot, bool keep,
                                          const compute::OpenOptions& options, Lane& lane, std::stop_token stop);
    SourceOpener m_opener;
    compute::OpenOptions m_options;
    Session m_session;
    bool m_whole = false;  ///< m_session, m_slots and m_ensemble belong together
    bool m_onlyUsed = false;
    std::vector<Slot> m_slots;
    std::vector<Opened> m_opened;
    std::map<std::string, BankFile> m_banks;      ///< by resolved path
    PriorSetPtr m_priors;                         ///< of the last load
    std::optional<compute::Ensemble> m_ensemble;
    std::optional<Session> m_prepared;
};

/// The session's prompt as ids: prompt_ids as they are; else BOS by the session's rule (HAZARDS A24) and the text.
std::vector<compute::TokenId> promptTokens(const Session& session, const compute::Tokenizer* tokenizer, std::int64_t vocabulary);

/// Whether source i has rows in a run: it is used, or it is enabled with w = 0 (R1 skips it, its rows are kept), or it is the
/// reference of one that is enabled.
bool records(const Session& session, std::size_t i);
/// Error where the session's own stop ids are not all in the vocabulary.
void requireStopIds(const Session& session, std::int64_t vocabulary);

}  // namespace counterpoint::model
