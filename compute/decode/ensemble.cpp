#include "compute/decode/ensemble.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "compute/composition/compose.h"
#include "compute/files/nonfinite.h"
#include "compute/sources/notfinite.h"

namespace counterpoint::compute {
namespace {

/// Ids fed at once: the stop token and progress are looked at between chunks.
constexpr std::size_t kChunk = 64;

struct Held {
    EnsembleMember member;
    std::vector<TokenId> ids;  ///< what its cache holds, prefix included
    SourceRouting routing = {};
    SourceRouting fed = {};  ///< what they were routed by
};

/// What one source has to do to hold `wanted`, with logits from index `firstRow` on.
struct Plan {
    std::vector<TokenId> wanted;
    std::size_t keep = 0, firstRow = 0;
    SourceRouting routing = {};
};

std::size_t commonPrefix(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

std::string where(const EnsembleMember& member, Position position) {
    return "source '" + member.name + "', position " + std::to_string(position);
}

/// Adds source and position to what a source says about its files; what is about one row names them already.
[[noreturn]] void rethrowNamed(const EnsembleMember& member, Position position, const Error& error) {
    ErrorParts parts = error.parts();
    if (!parts.where.starts_with("source '" + member.name + "', position "))
        parts.where = where(member, position) + (parts.where.empty() ? "" : " (" + parts.where + ")");
    throw Error(std::move(parts));
}

/// "tensor 'NAME' in FILE" of the first that holds a NaN or an infinity; empty: none does, or no one waits for it.
std::string spoiltTensor(const SourceInfo& info, const std::stop_token& stop) {
    const auto named = [](const auto& tensor, const std::string& file) {
        return "tensor '" + tensor.name + "' in " + file;
    };
    try {
        if (info.kind == "gguf") {
            const std::shared_ptr<const Gguf> gguf = Gguf::open(info.path);
            const GgufTensor* tensor = firstNonFinite(*gguf, stop);
            return tensor != nullptr ? named(*tensor, gguf->where()) : "";
        }
        if (info.kind == "model") {
            const Safetensors files = Safetensors::openDirectory(info.path);
            const TensorView* tensor = firstNonFinite(files, stop);
            return tensor != nullptr ? named(*tensor, tensor->file->path().string()) : "";
        }
    } catch (const Error&) {  // files that are gone by now hold no answer
    }
    return {};
}

/// Why a source's logits are no numbers: what was recorded is none, its weights hold one that is none, or the
/// arithmetic left its range.
ErrorParts withCause(ErrorParts parts, const EnsembleMember& member, Position position, const std::stop_token& stop) {
    const SourceInfo& info = member.source->info();
    if (info.kind == "recording") {
        // A recording's row t is about its token t + 1, prefix included.
        const std::size_t row = static_cast<std::size_t>(position) - 1 + member.prefix.size();
        parts.where += " (" + info.path + ", row " + std::to_string(row) + ", which is about token " +
                       std::to_string(row + 1) + ")";
        parts.advice = "record it again";
    }
    if (!info.libtorch) return parts;
    if (info.dtype == "float16")
        parts.advice = "its arithmetic overflowed in float16: try --dtype float32 or bfloat16";
    else
        parts.advice = "its arithmetic left " + info.dtype + ": check that " +
                       (info.kind == "gguf" ? "its tensors and its metadata" : "weights and config.json") +
                       " belong together";
    if (info.kind == "torchscript") parts.advice = "this is what its script gives in " + info.dtype;
    if (const std::string tensor = spoiltTensor(info, stop); !tensor.empty()) {
        parts.what += ", since " + tensor + " holds a NaN or an infinity";
        parts.advice = "copy or download the weights again";
    }
    return parts;
}

}  // namespace

struct Ensemble::State {
    std::vector<Held> held;
    std::int64_t vocabulary = 0;
    std::vector<TokenId> holes;  ///< ids below the vocabulary's size without a token (HAZARDS A7)
    std::vector<std::string> notices;
    std::vector<float> logits;  ///< of one chunk

    /// Ids of the shared sequence that stand before a member's prefix.
    std::size_t leadOf(const EnsembleMember& member, std::span<const TokenId> ids) const {
        const auto tokenizer = held[0].member.source->tokenizer();
        const auto bos = tokenizer != nullptr ? tokenizer->bos() : std::nullopt;
        return !member.prefix.empty() && !ids.empty() && bos && ids[0] == *bos ? 1 : 0;
    }

    /// [BOS if the shared sequence begins with one] + prefix + the rest of the shared sequence.
    std::vector<TokenId> sequenceFor(const EnsembleMember& member, std::span<const TokenId> ids) const {
        const std::size_t lead = leadOf(member, ids);
        std::vector<TokenId> sequence(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(lead));
        sequence.insert(sequence.end(), member.prefix.begin(), member.prefix.end());
        sequence.insert(sequence.end(), ids.begin() + static_cast<std::ptrdiff_t>(lead), ids.end());
        return sequence;
    }

    /// One raw row, cut or widened to the vocabulary, ids without a token excluded, then log-softmax.
    void toRow(const EnsembleMember& member, std::span<const float> raw, Position position, std::vector<float>& row,
               const std::stop_token& stop) const {
        row.assign(static_cast<std::size_t>(vocabulary), kExcluded);
        std::copy_n(raw.begin(), std::min(raw.size(), row.size()), row.begin());
        for (const TokenId hole : holes) row[static_cast<std::size_t>(hole)] = kExcluded;
        try {
            logSoftmax(row, member.temperature, row, member.name.c_str(), position);
        } catch (const Error& error) {
            const auto number = [](float x) { return x < std::numeric_limits<float>::infinity(); };
            const bool improper = !std::all_of(row.begin(), row.end(), number);
            const bool empty = std::all_of(row.begin(), row.end(), [](float x) { return x == kExcluded; });
            const bool recorded = member.source->info().kind == "recording";
            if (!improper && !(empty && recorded)) throw;
            throw Error(withCause(error.parts(), member, position, stop));
        }
    }
};

Ensemble::Ensemble(std::vector<EnsembleMember> members) : m_state(std::make_unique<State>()) {
    if (members.empty()) throw Error({.where = "the rack", .what = "there is no base model to decode with"});
    const auto tokenizer = members[0].source->tokenizer();
    m_state->vocabulary = tokenizer != nullptr ? tokenizer->size() : members[0].source->info().logitWidth;
    for (TokenId id = 0; tokenizer != nullptr && id < static_cast<TokenId>(tokenizer->size()); ++id)
        if (!tokenizer->isToken(id)) m_state->holes.push_back(id);
    std::set<std::pair<std::string, std::string>> toldOf;
    for (EnsembleMember& member : members) {
        const SourceInfo& info = member.source->info();
        const auto tell = [&](const std::string& own) { m_state->notices.push_back("'" + member.name + "': " + own); };
        for (const std::string& own : info.notices)  // what one file says of itself is said once
            if (toldOf.emplace(info.path, own).second) tell(own);
        // Here rows are cut, so here it is told, once and in these words, whatever kind of source it is.
        if (const std::int64_t padding = info.logitWidth - m_state->vocabulary; padding > 0)
            tell(std::to_string(padding) + " rows of logits beyond the tokenizer's " +
                 std::to_string(m_state->vocabulary) + " tokens are padding and left out");
        if (&member != &members[0]) {
            const auto gate = requireComposable(members[0].name, *members[0].source, member.name, *member.source);
            m_state->notices.insert(m_state->notices.end(), gate.begin(), gate.end());
        }
    }
    for (EnsembleMember& member : members) {
        member.source->rewind(0);
        member.source->setRouting({});
        m_state->held.emplace_back().member = std::move(member);
    }
}

Ensemble::~Ensemble() = default;
Ensemble::Ensemble(Ensemble&&) noexcept = default;
Ensemble& Ensemble::operator=(Ensemble&&) noexcept = default;

std::int64_t Ensemble::vocabulary() const { return m_state->vocabulary; }
std::size_t Ensemble::size() const { return m_state->held.size(); }
const EnsembleMember& Ensemble::member(std::size_t i) const { return m_state->held.at(i).member; }
const std::vector<std::string>& Ensemble::notices() const { return m_state->notices; }

Position Ensemble::maxPositions() const {
    Position tightest = 0;
    for (const Held& h : m_state->held) {
        const Position limit = h.member.source->info().maxPositions;
        if (!h.member.used || limit == 0) continue;
        const Position shared = std::max<Position>(limit - static_cast<Position>(h.member.prefix.size()), 1);
        tightest = tightest == 0 ? shared : std::min(tightest, shared);
    }
    return tightest;
}

std::vector<TokenId> Ensemble::stopIds() const {
    std::vector<TokenId> ids;
    for (const Held& h : m_state->held) {
        const auto& own = h.member.source->info().stopIds;
        ids.insert(ids.end(), own.begin(), own.end());
    }
    std::erase_if(ids, [this](TokenId id) { return id < 0 || id >= m_state->vocabulary; });
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

void Ensemble::setMember(std::size_t i, double temperature, std::vector<TokenId> prefix, bool used) {
    EnsembleMember& member = m_state->held.at(i).member;
    member.temperature = temperature;
    member.prefix = std::move(prefix);
    member.used = used || i == 0;
}

void Ensemble::setRouting(std::size_t i, const SourceRouting& routing) {
    Held& h = m_state->held.at(i);
    if (routing == h.routing) return;
    try {
        h.member.source->setRouting(routing);
    } catch (const Error& error) {
        ErrorParts parts = error.parts();
        parts.where = "source '" + h.member.name + "' (" + parts.where + ")";
        throw Error(std::move(parts));
    }
    SourceRouting placed = routing;  // where the prefix stands is forward()'s
    placed.prefixFirst = h.fed.prefixFirst;
    placed.prefixLength = h.fed.prefixLength;
    h.routing = routing;
    const auto kept = static_cast<std::size_t>(differFrom(h.fed, placed).value_or(h.member.source->length()));
    if (h.ids.size() <= kept) return;
    h.member.source->rewind(static_cast<Position>(kept));
    h.ids.resize(kept);
}

Outcome Ensemble::forward(std::span<const TokenId> ids, Position firstRow, std::vector<RawRows>& out,
                          std::stop_token stop, const std::function<void(std::int64_t, std::int64_t)>& progress) {
    State& state = *m_state;
    const auto length = static_cast<Position>(ids.size());
    if (firstRow < 1 || firstRow > length)
        throw Error({.where = "position " + std::to_string(firstRow),
                     .what = "a row of logits needs at least one token before it",
                     .expected = "1 to " + std::to_string(length),
                     .found = std::to_string(firstRow),
                     .advice = "start from a prompt or a BOS token"});

    std::vector<Plan> plans(state.held.size());
    std::int64_t total = 0, done = 0;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        const Held& h = state.held[i];
        if (!h.member.used) continue;
        Plan& plan = plans[i];
        plan.wanted = state.sequenceFor(h.member, ids);
        plan.firstRow = static_cast<std::size_t>(firstRow) - 1 + h.member.prefix.size();
        plan.keep = std::min(commonPrefix(h.ids, plan.wanted), plan.firstRow);
        plan.routing = h.routing;
        plan.routing.prefixFirst = static_cast<Position>(state.leadOf(h.member, ids));
        plan.routing.prefixLength = static_cast<Position>(h.member.prefix.size());
        // Other places of the prefix are other noise.
        if (h.routing.noise.mode != RoutingMode::Deterministic)
            if (const auto from = differFrom(plan.routing, h.fed))
                plan.keep = std::min(plan.keep, static_cast<std::size_t>(*from));
        total += static_cast<std::int64_t>(plan.wanted.size() - plan.keep);
        const Position limit = h.member.source->info().maxPositions;
        if (limit > 0 && static_cast<Position>(plan.wanted.size()) > limit)
            throw Error({.where = where(h.member, length),
                         .what = "the text is longer than the model's positions",
                         .expected = "at most " + std::to_string(limit) + " tokens",
                         .found = std::to_string(plan.wanted.size()),
                         .advice = "shorten the prompt or its prefix"});
    }

    // What each source held: after Cancelled or Error it holds that again, as far as the new ids have not replaced it.
    std::vector<std::vector<TokenId>> before;
    for (const Held& h : state.held) before.push_back(h.ids);
    const auto restore = [&] {
        for (std::size_t i = 0; i < state.held.size(); ++i) {
            Held& h = state.held[i];
            const std::size_t good =
                std::min(commonPrefix(before[i], h.ids), static_cast<std::size_t>(h.member.source->length()));
            if (h.member.source->length() > static_cast<Position>(good))
                h.member.source->rewind(static_cast<Position>(good));
            h.ids.resize(good);
        }
    };

    std::vector<RawRows> rows(static_cast<std::size_t>(length - firstRow + 1));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        rows[r].position = firstRow + static_cast<Position>(r);
        rows[r].rows.resize(state.held.size());
        rows[r].routing.resize(state.held.size());
    }
    for (std::size_t i = 0; i < plans.size(); ++i) {
        Held& h = state.held[i];
        const Plan& plan = plans[i];
        if (!h.member.used) continue;
        Source& source = *h.member.source;
        const auto width = static_cast<std::size_t>(source.info().logitWidth);
        const auto positionOf = [&](std::size_t index) {
            return static_cast<Position>(index + 1 - h.member.prefix.size());
        };
        std::size_t at = plan.keep;
        try {
            if (source.length() > static_cast<Position>(plan.keep)) source.rewind(static_cast<Position>(plan.keep));
            h.ids.resize(plan.keep);
            if (source.info().routers) source.setRouting(plan.routing);
            h.fed = plan.routing;
            while (at < plan.wanted.size()) {
                const std::size_t end = std::min(at + kChunk, plan.wanted.size());
                const std::size_t first = std::max(at, plan.firstRow);  // first index of this chunk whose row is wanted
                const std::size_t wantedRows = end > first ? end - first : 0;
                if (state.logits.size() < wantedRows * width) state.logits.resize(wantedRows * width);
                const std::span<float> logits(state.logits.data(), wantedRows * width);
                const std::span<const TokenId> chunk(plan.wanted.data() + at, end - at);
                if (stop.stop_requested() ||
                    source.forward(chunk, static_cast<std::int64_t>(wantedRows), logits, stop) == Outcome::Cancelled) {
                    restore();
                    return Outcome::Cancelled;
                }
                h.ids.insert(h.ids.end(), chunk.begin(), chunk.end());
                const std::span<const RoutingRow> routing = source.routing();
                for (std::size_t r = 0; r < wantedRows; ++r) {
                    RawRows& row = rows[first + r - plan.firstRow];
                    state.toRow(h.member, logits.subspan(r * width, width), positionOf(first + r), row.rows[i], stop);
                    if (!routing.empty()) row.routing[i] = routing[first + r - at];
                }
                done += static_cast<std::int64_t>(end - at);
                at = end;
                if (progress) progress(done, total);
            }
        } catch (const NotFinite& error) {
            restore();
            const Position position = positionOf(std::max(at, plan.firstRow));
            rethrowNamed(h.member, position, Error(withCause(error.parts(), h.member, position, stop)));
        } catch (const Error& error) {
            restore();
            rethrowNamed(h.member, positionOf(std::max(at, plan.firstRow)), error);
        } catch (...) {
            restore();
            throw;
        }
    }
    out = std::move(rows);
    return Outcome::Done;
}

}  // namespace counterpoint::compute
