#include "model/loadedrack.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compute/sources/filekind.h"
#include "model/sentences.h"
#include "model/sessionerror.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

using compute::Error;
using compute::Outcome;
using compute::Position;
using compute::TokenId;

namespace {

/// A member of the ensemble that leaves the source to the rack, which outlives ensembles. The lane knows while it computes.
class BorrowedSource : public compute::Source {
  public:
    BorrowedSource(std::shared_ptr<compute::Source> source, std::string path, Lane& lane)
        : m_source(std::move(source)), m_path(std::move(path)), m_lane(lane) {}
    const compute::SourceInfo& info() const override { return m_source->info(); }
    std::shared_ptr<const compute::Tokenizer> tokenizer() const override { return m_source->tokenizer(); }
    std::span<const TokenId> recorded() const override { return m_source->recorded(); }
    Outcome forward(std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits, std::stop_token stop) override {
        return m_lane.inSource(m_path, false, [&] { return m_source->forward(ids, rows, logits, stop); });
    }
    Position length() const override { return m_source->length(); }
    void rewind(Position length) override { m_source->rewind(length); }
    void setRouting(const compute::SourceRouting& routing) override { m_source->setRouting(routing); }
    std::span<const compute::RoutingRow> routing() const override { return m_source->routing(); }
    std::unique_ptr<compute::Source> fork() const override { return m_source->fork(); }

  private:
    std::shared_ptr<compute::Source> m_source;
    std::string m_path;
    Lane& m_lane;
};

/// Settings that cannot act are refused when the source is opened, not at the first token.
void requireNoRouting(const SourceEntry& entry, compute::Source& source) {
    const std::string where = "source '" + entry.name + "', \"routing\"";
    try {
        source.setRouting(sourceRouting(entry.routing, where));
    } catch (const Error& error) {
        compute::ErrorParts parts = error.parts();
        parts.where = where;
        throw Error(std::move(parts));
    }
}

/// Keys that say nothing for the kind of source an entry turned out to be are kept, as unknown ones are, and told of.
void tellWithoutMeaning(const Session& session, const SourceEntry& entry, const std::string& kind,
                        std::vector<std::string>& notices) {
    const bool recording = kind == "recording", brings = kind == "model" || kind == "gguf";
    const auto tell = [&](const char* key, const std::string& meaning) {
        notices.push_back((session.file.empty() ? "" : session.file.string() + ", ") + "source '" + entry.name +
                          "': \"" + key + "\" " + meaning + "; it is kept and has no effect.");
    };
    if (!entry.sourceInFile.empty() && !recording) tell("source", "names a source of a recording, and this is none");
    if (!entry.tokenizer.empty() && brings) tell("tokenizer", "has no meaning here, since the model brings its own");
}

bool sameSources(const Session& a, const Session& b) {
    if (a.sourceCount() != b.sourceCount()) return false;
    for (std::size_t i = 0; i < a.sourceCount(); ++i) {
        if (a.source(i).name != b.source(i).name || a.sourceKey(i) != b.sourceKey(i)) return false;
    }
    return true;
}

}  // namespace

void LoadedRack::readBanks(const Session& session, bool again, Lane& lane) {
    std::set<std::string> read;  // an entry may stand twice; its bank is one
    for (const BankEntry& entry : session.priors) {
        const std::string path = session.resolve(entry.bank).string();
        if (entry.content || (!again && m_banks.contains(path)) || !read.insert(path).second) continue;
        lane.push(Progress{"Reading " + entry.bank, -1, {}});
        m_banks[path] = readBankFile(path);
        lane.push(BankLoaded{m_banks[path]});
    }
}

PriorSetPtr LoadedRack::priors(Session session, const compute::PriorSet* before) const {
    const auto known = [this](const std::string& path) { return m_banks.find(path); };
    fillBanks(session, [&](const std::string& path) {
        const auto at = known(path);
        return at == m_banks.end() ? nullptr : at->second.bank;
    });
    requireBanks(session, [&](const std::string& path) {
        const auto at = known(path);
        return at == m_banks.end() ? std::string() : at->second.problem;
    });
    return priorSetOf(session, tokenizer().get(), vocabulary(), before != nullptr ? before : m_priors.get());
}

std::shared_ptr<compute::Source> LoadedRack::take(std::span<const Slot> taken, const Slot& wanted, bool keep,
                                                  const compute::OpenOptions& options, Lane& lane, std::stop_token stop) {
    for (const Slot& slot : taken)
        if (slot.source && slot.key == wanted.key) return slot.source->fork();
    if (keep)
        for (const Slot& slot : m_slots)
            if (slot.source && slot.key == wanted.key) return slot.source;
    if (stop.stop_requested()) return nullptr;
    const bool script = compute::runsCode(wanted.path);
    if (script) m_opened.push_back({wanted.path, true});  // opening it runs the code, whatever comes of it
    auto source = lane.inSource(wanted.path, true, [&] { return m_opener(wanted.path, options, stop); });
    if (source && !script) m_opened.push_back({wanted.path, source->info().kind == "torchscript"});
    return source;
}

Outcome LoadedRack::load(const LoadRequest& request, Lane& lane, std::stop_token stop) {
    return namingTheSession(request.session, [&] { return open(request, lane, stop); });
}

Outcome LoadedRack::open(const LoadRequest& request, Lane& lane, std::stop_token stop) {
    const Session& session = request.session;
    const bool keep = m_options.device == request.options.device && m_options.dtype == request.options.dtype &&
                      m_options.threads == request.options.threads && m_options.cache == request.options.cache;
    std::vector<Slot> slots(session.sourceCount());
    std::vector<std::string> notices;
    std::vector<compute::EnsembleMember> members;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const SourceEntry& entry = session.source(i);
        Slot& slot = slots[i];
        slot.path = session.resolve(entry.path).string();
        slot.key = session.sourceKey(i);
        if (request.onlyUsed && !records(session, i)) continue;
        compute::OpenOptions options = request.options;
        options.sourceInFile = entry.sourceInFile;
        options.tokenizer = entry.tokenizer.empty() ? std::string() : session.resolve(entry.tokenizer).string();
        options.progress = [&](double fraction, std::string_view what) {
            lane.push(Progress{"Loading " + entry.name, fraction, {}});
            if (request.options.progress) request.options.progress(fraction, what);
        };
        lane.push(Progress{"Loading " + entry.name, -1, {}});
        try {
            slot.source = take(std::span(slots).first(i), slot, keep, options, lane, stop);
            if (!slot.source) return Outcome::Cancelled;
            if (i > 0) compute::requireComposable(session.base.name, *slots[0].source, entry.name, *slot.source);
            if (records(session, i) && !slot.source->info().routers) requireNoRouting(entry, *slot.source);
        } catch (const Error& e) {
            if (records(session, i)) throw;
            slot.source.reset();
            notices.push_back("Source '" + entry.name + "' is switched off and could not be loaded: " + e.sentence());
            continue;
        }
        tellWithoutMeaning(session, entry, slot.source->info().kind, notices);
        slot.member = static_cast<int>(members.size());
        members.push_back({.name = entry.name,
                           .source = std::make_unique<BorrowedSource>(slot.source, slot.path, lane),
                           .temperature = entry.temperature,
                           .prefix = {},
                           .used = records(session, i)});
        const auto tokenizer = slot.source->tokenizer();
        compute::SourceInfo info = slot.source->info();
        info.path = slot.path;
        lane.push(SourceLoaded{i, entry.name, slot.key, std::move(info), tokenizer ? tokenizer->fingerprint() : std::string()});
    }
    if (stop.stop_requested()) return Outcome::Cancelled;
    readBanks(session, true, lane);
    // From here the old ensemble no longer knows what its sources hold.
    m_whole = false;
    for (const Slot& slot : slots)
        if (slot.source) slot.source->rewind(0);
    m_ensemble.emplace(std::move(members));
    m_slots = std::move(slots);
    m_session = session;
    m_options = request.options;
    m_options.progress = {};
    m_onlyUsed = request.onlyUsed;
    m_prepared.reset();
    m_whole = true;
    notices.insert(notices.begin(), m_ensemble->notices().begin(), m_ensemble->notices().end());
    Session withBanks = session;
    fillBanks(withBanks, [this](const std::string& path) { return m_banks.contains(path) ? m_banks[path].bank : nullptr; });
    m_priors = priorSetOf(withBanks, tokenizer().get(), vocabulary(), m_priors.get());
    for (std::string& sentence : bankNotices(withBanks, *m_priors)) notices.push_back(std::move(sentence));
    lane.push(Loaded{session, session.sourceNames(), std::move(notices), statedStopIds(session), tokenizer(), m_priors});
    return Outcome::Done;
}

Outcome LoadedRack::require(const Session& session, bool onlyUsed, Lane& lane, std::stop_token stop) {
    bool open = m_whole && sameSources(m_session, session) && (onlyUsed || !m_onlyUsed);
    for (std::size_t i = 0; open && i < m_slots.size(); ++i) open = m_slots[i].source != nullptr || !records(session, i);
    if (open) {
        readBanks(session, false, lane);
        return Outcome::Done;
    }
    return load({session, m_options, onlyUsed}, lane, stop);
}

std::vector<std::optional<compute::RouterInfo>> LoadedRack::routers() const {
    std::vector<std::optional<compute::RouterInfo>> routers;
    for (const Slot& slot : m_slots)
        routers.push_back(slot.source ? slot.source->info().routers : std::optional<compute::RouterInfo>());
    return routers;
}

std::shared_ptr<const compute::Tokenizer> LoadedRack::tokenizer() const { return m_slots.front().source->tokenizer(); }

std::vector<TokenId> LoadedRack::statedStopIds(const Session& session) const {
    std::set<TokenId> ids;
    for (std::size_t i = 0; i < m_slots.size(); ++i)
        if (m_slots[i].source && session.uses(i))
            ids.insert(m_slots[i].source->info().stopIds.begin(), m_slots[i].source->info().stopIds.end());
    return {ids.begin(), ids.end()};
}

Position LoadedRack::maxPositions(const Session& session) const {
    Position tightest = 0;
    for (std::size_t i = 0; i < m_slots.size(); ++i) {
        if (!m_slots[i].source || !session.uses(i) || m_slots[i].source->info().maxPositions == 0) continue;
        const Position limit = std::max<Position>(1, m_slots[i].source->info().maxPositions - m_slots[i].prefixLength);
        tightest = tightest == 0 ? limit : std::min(tightest, limit);
    }
    return tightest;
}

std::vector<TokenId> LoadedRack::recordedTokens(const Session& session) const {
    std::span<const TokenId> shortest;
    for (std::size_t i = 0; i < m_slots.size(); ++i) {
        if (!m_slots[i].source || !session.uses(i)) continue;
        const std::span<const TokenId> tokens = m_slots[i].source->recorded();
        if (!tokens.empty() && (shortest.empty() || tokens.size() < shortest.size())) shortest = tokens;
    }
    return {shortest.begin(), shortest.end()};
}

void LoadedRack::requireRoom(const Session& session, Position length) const {
    for (std::size_t i = 0; i < m_slots.size(); ++i) {
        const Slot& slot = m_slots[i];
        if (!slot.source || !session.uses(i)) continue;
        const Position limit = slot.source->info().maxPositions;
        if (limit == 0 || length + slot.prefixLength <= limit) continue;
        const std::string name = "source '" + session.source(i).name + "'", longest = "at most " + std::to_string(limit) + " tokens";
        if (slot.prefixLength == 0)
            throw Error({.where = "prompt",
                         .what = "it is longer than " + name + " can read",
                         .expected = longest,
                         .found = std::to_string(length),
                         .advice = "shorten it",
                         .details = {}});
        throw Error({.where = name + ", \"prefix\"",
                     .what = "prefix and prompt together are longer than it can read",
                     .expected = longest,
                     .found = std::to_string(slot.prefixLength) + " and " + std::to_string(length),
                     .advice = slot.prefixLength >= length ? "shorten the prefix" : "shorten the prompt",
                     .details = {}});
    }
}

void LoadedRack::prepare(const Session& session, bool feedAll) {
    const auto base = tokenizer();
    for (std::size_t i = 0; i < m_slots.size(); ++i) {
        Slot& slot = m_slots[i];
        if (slot.member < 0) continue;
        const SourceEntry& entry = session.source(i);
        std::vector<TokenId> prefix;
        if (!entry.prefix.empty()) {
            if (!base)
                throw Error({.where = "source '" + entry.name + "'",
                             .what = "a prefix needs a tokenizer, and the base has none",
                             .expected = {},
                             .found = {},
                             .advice = "remove the prefix",
                             .details = {}});
            prefix = base->encode(entry.prefix);
        }
        slot.prefixLength = static_cast<std::int64_t>(prefix.size());
        const auto member = static_cast<std::size_t>(slot.member);
        m_ensemble->setMember(member, entry.temperature, std::move(prefix), feedAll || records(session, i));
        // A source without routers is asked too where it has a say, so that settings that cannot act are refused.
        slot.bySentences = false;
        if (!records(session, i) && !slot.source->info().routers) continue;
        const std::string where = "source '" + entry.name + "', \"routing\"";
        slot.routing = sourceRouting(entry.routing, where);
        slot.bySentences = bySentences(entry.routing);
        if (const auto& routers = slot.source->info().routers) slot.routing = fitted(slot.routing, *routers, where);
        if (slot.bySentences && !base)
            throw Error({.where = where + ", \"groups\"",
                         .what = "sentences need a tokenizer, and the base has none",
                         .expected = {},
                         .found = {},
                         .advice = "group by windows, or by a list of first positions",
                         .details = {}});
        if (!slot.bySentences) m_ensemble->setRouting(member, slot.routing);
    }
    m_prepared = session;
}

void LoadedRack::placeSentences(std::span<const TokenId> ids) {
    if (std::none_of(m_slots.begin(), m_slots.end(), [](const Slot& slot) { return slot.bySentences; })) return;
    std::vector<std::string> bytes;
    for (const TokenId id : ids) bytes.emplace_back(tokenizer()->bytes(id));
    const compute::Grouping groups = compute::groupsFrom(sentenceStarts(bytes));
    for (Slot& slot : m_slots) {
        if (slot.member < 0 || !slot.bySentences) continue;
        slot.routing.noise.coupling.groups = groups;
        m_ensemble->setRouting(static_cast<std::size_t>(slot.member), slot.routing);
    }
}

Outcome LoadedRack::forward(std::span<const TokenId> ids, Position firstRow, std::vector<compute::RawRows>& out,
                            std::stop_token stop) {
    // A source without a say must not end the text of the others: past its own limit it is no longer fed.
    for (std::size_t i = 0; i < m_slots.size(); ++i) {
        const Slot& slot = m_slots[i];
        if (slot.member < 0 || m_prepared->uses(i)) continue;
        const auto& member = m_ensemble->member(static_cast<std::size_t>(slot.member));
        const Position limit = slot.source->info().maxPositions;
        if (member.used && limit > 0 && static_cast<Position>(ids.size()) + slot.prefixLength > limit)
            m_ensemble->setMember(static_cast<std::size_t>(slot.member), member.temperature, member.prefix, false);
    }
    placeSentences(ids);
    std::vector<compute::RawRows> rows;
    if (m_ensemble->forward(ids, firstRow, rows, stop) == Outcome::Cancelled) return Outcome::Cancelled;
    for (compute::RawRows& r : rows) {
        compute::RawRows whole{.position = r.position,
                               .rows = std::vector<std::vector<float>>(m_slots.size()),
                               .routing = std::vector<compute::RoutingRow>(m_slots.size())};
        for (std::size_t i = 0; i < m_slots.size(); ++i) {
            if (m_slots[i].member < 0) continue;
            const auto member = static_cast<std::size_t>(m_slots[i].member);
            whole.rows[i] = std::move(r.rows[member]);
            whole.routing[i] = std::move(r.routing[member]);
        }
        out.push_back(std::move(whole));
    }
    return Outcome::Done;
}

bool records(const Session& session, std::size_t i) {
    return i == 0 || session.source(i).enabled ||
           std::any_of(session.specialists.begin(), session.specialists.end(),
                       [&](const SourceEntry& s) { return s.enabled && session.referenceIndex(s) == static_cast<int>(i); });
}

std::vector<TokenId> promptTokens(const Session& session, const compute::Tokenizer* tokenizer, std::int64_t vocabulary) {
    const auto fail = [](const std::string& what, const std::string& advice, const std::string& where = "prompt") {
        throw Error({.where = where, .what = what, .expected = {}, .found = {}, .advice = advice, .details = {}});
    };
    std::vector<TokenId> ids;
    if (session.promptIds) {
        ids = *session.promptIds;
        for (const TokenId id : ids)
            if (id < 0 || id >= vocabulary)
                fail("prompt_ids holds " + std::to_string(id) + ", but the tokenizer has " + std::to_string(vocabulary) + " ids", {});
    } else if (tokenizer == nullptr) {
        fail("the base has no tokenizer, so text cannot be read",
             "put its tokenizer beside it, or open a session that names one (\"tokenizer\") or gives \"prompt_ids\"",
             session.resolve(session.base.path).string());
    } else {
        ids = tokenizer->encode(session.prompt);
        const AddBos rule = session.decoding.addBos;
        const auto bos = tokenizer->bos();
        if (rule == AddBos::True && !bos) fail("add_bos is true, but the tokenizer has no start token", "set it to \"auto\"");
        if (rule == AddBos::True || (rule == AddBos::Auto && tokenizer->addsBos())) {
            // A template may put more than one token before a text (GLM's [gMASK] <sop>).
            const auto before = tokenizer->before();
            if (rule == AddBos::Auto && !before.empty())
                ids.insert(ids.begin(), before.begin(), before.end());
            else if (bos)
                ids.insert(ids.begin(), *bos);
        }
    }
    if (ids.empty() && session.promptIds)
        fail("prompt_ids is an empty list, so there is no token to go on from", "give at least one id, or null to read the prompt's text");
    if (ids.empty()) fail("it is empty and the tokenizer adds no start token", "write at least one word");
    return ids;
}

void requireStopIds(const Session& session, std::int64_t vocabulary) {
    if (!session.decoding.stopIds) return;
    for (const TokenId id : *session.decoding.stopIds)
        if (id < 0 || id >= vocabulary)
            throw Error({.where = "decoding, \"stop_ids\"",
                         .what = "there is no token of that id",
                         .expected = "0 to " + std::to_string(vocabulary - 1),
                         .found = std::to_string(id),
                         .advice = {},
                         .details = {}});
}

}  // namespace counterpoint::model
