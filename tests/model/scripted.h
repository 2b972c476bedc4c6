#pragma once
// Sources without a network: a byte tokenizer and logits by a function of what has been read. Torch-free.

#include "compute/sources/source.h"
#include "model/engine.h"

#include <cmath>
#include <map>
#include <numeric>

namespace counterpoint::tests {

using compute::Outcome;
using compute::Position;
using compute::TokenId;

/// 0 <unk>, 1 <s>, 2 </s>, then the 256 bytes, then "w<id>".
class ByteTokenizer : public compute::Tokenizer {
  public:
    explicit ByteTokenizer(std::int64_t size, bool addsBos = true) : m_addsBos(addsBos) {
        for (std::int64_t id = 0; id < size; ++id)
            m_bytes.push_back(id < 3 ? std::string() : id < 259 ? std::string(1, static_cast<char>(id - 3)) : named('w', id));
    }
    std::int64_t size() const override { return static_cast<std::int64_t>(m_bytes.size()); }
    std::vector<TokenId> encode(std::string_view text, compute::EncodeOptions) const override {
        std::vector<TokenId> ids;
        for (const char c : text) ids.push_back(3 + static_cast<unsigned char>(c));
        return ids;
    }
    std::string_view bytes(TokenId id) const override { return m_bytes[static_cast<std::size_t>(id)]; }
    std::string piece(TokenId id) const override { return id < 3 ? named('c', id) : std::string(bytes(id)); }
    bool isToken(TokenId) const override { return true; }
    bool isControl(TokenId id) const override { return id < 3; }
    bool dropsLeadingSpace() const override { return false; }
    std::optional<TokenId> bos() const override { return 1; }
    std::optional<TokenId> eos() const override { return 2; }
    bool addsBos() const override { return m_addsBos; }
    std::span<const compute::AddedToken> addedTokens() const override { return {}; }
    std::string fingerprint() const override { return "bytes" + std::to_string(size()); }

  private:
    static std::string named(char kind, std::int64_t id) { return std::to_string(id).insert(0, 1, kind); }
    std::vector<std::string> m_bytes;
    bool m_addsBos;
};

struct Script {
    std::int64_t vocabulary = 300;
    Position maxPositions = 0;
    std::vector<TokenId> stopIds{2};
    bool addsBos = true;
    std::string kind = "scripted";
    bool routed = false;  ///< a layer of one expert for each id, of which a position chooses its own
    /// Logits of the row after `read`; `out` comes in as zeros.
    std::function<void(std::span<const TokenId> read, std::span<float> out)> logits;
    /// Called before every forward; may throw, wait or count.
    std::function<void(std::span<const TokenId> ids)> onForward;
    std::function<void(const compute::SourceRouting& routing)> onRouting;  ///< of a source that is routed
};

class ScriptedSource : public compute::Source {
  public:
    ScriptedSource(Script script, const std::string& path) : m_script(std::move(script)) {
        m_tokenizer = std::make_shared<ByteTokenizer>(m_script.vocabulary, m_script.addsBos);
        m_info.path = path;
        m_info.kind = m_script.kind;
        m_info.device = "cpu";
        m_info.dtype = "float32";
        m_info.logitWidth = m_script.vocabulary;
        m_info.maxPositions = m_script.maxPositions;
        m_info.stopIds = m_script.stopIds;
        if (m_script.routed) m_info.routers = {.layers = {0}, .experts = m_script.vocabulary, .chosen = 1, .normTopkProb = true};
    }
    const compute::SourceInfo& info() const override { return m_info; }
    std::shared_ptr<const compute::Tokenizer> tokenizer() const override { return m_tokenizer; }
    Outcome forward(std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits, std::stop_token stop) override {
        if (stop.stop_requested()) return Outcome::Cancelled;
        if (m_script.onForward) m_script.onForward(ids);
        if (stop.stop_requested()) return Outcome::Cancelled;
        const auto width = static_cast<std::size_t>(m_info.logitWidth);
        const std::size_t first = ids.size() - static_cast<std::size_t>(rows);
        m_routing.clear();
        for (const TokenId id : ids)
            if (m_script.routed)
                m_routing.push_back({.logits = std::vector<float>(static_cast<std::size_t>(m_script.vocabulary)),
                                     .experts = {id},
                                     .weights = {1.0f}});
        for (std::size_t i = 0; i < ids.size(); ++i) {
            m_read.push_back(ids[i]);
            if (i < first) continue;
            const auto out = logits.subspan((i - first) * width, width);
            std::fill(out.begin(), out.end(), 0.0f);
            m_script.logits(m_read, out);
        }
        return Outcome::Done;
    }
    Position length() const override { return static_cast<Position>(m_read.size()); }
    void rewind(Position length) override { m_read.resize(static_cast<std::size_t>(length)); }
    void setRouting(const compute::SourceRouting& routing) override {
        if (!m_script.routed) return Source::setRouting(routing);
        if (m_script.onRouting) m_script.onRouting(routing);
    }
    std::span<const compute::RoutingRow> routing() const override { return m_routing; }
    std::unique_ptr<compute::Source> fork() const override { return std::make_unique<ScriptedSource>(*this); }

  private:
    Script m_script;
    compute::SourceInfo m_info;
    std::shared_ptr<const compute::Tokenizer> m_tokenizer;
    std::vector<TokenId> m_read;
    std::vector<compute::RoutingRow> m_routing;
};

/// A smooth, text-dependent row; `key` makes sources differ. The three control tokens are never likely.
inline std::function<void(std::span<const TokenId>, std::span<float>)> mixing(int key) {
    return [key](std::span<const TokenId> read, std::span<float> out) {
        std::uint64_t state = static_cast<std::uint64_t>(key) * 7919 + read.size();
        for (const TokenId id : read) state = state * 31 + static_cast<std::uint64_t>(id);
        state %= 1000003;
        const auto phase = static_cast<float>(state);
        for (std::size_t v = 3; v < out.size(); ++v) out[v] = 3.0f * std::sin(0.7f * static_cast<float>(v) + phase);
        out[0] = out[1] = out[2] = -20.0f;
    };
}

/// The row that makes `id` nearly certain.
inline void certain(std::span<float> out, TokenId id) { out[static_cast<std::size_t>(id)] = 50.0f; }

/// Opens scripts by the last part of the path; anything else is an Error.
inline model::SourceOpener opener(std::map<std::string, Script> scripts) {
    return [scripts = std::move(scripts)](const std::filesystem::path& path, const compute::OpenOptions&,
                                          std::stop_token stop) -> std::unique_ptr<compute::Source> {
        if (stop.stop_requested()) return nullptr;
        const auto found = scripts.find(path.filename().string());
        if (found == scripts.end())
            throw compute::Error({.where = path.string(), .what = "there is no such model", .expected = {}, .found = {}, .advice = {}, .details = {}});
        return std::make_unique<ScriptedSource>(found->second, path.string());
    };
}

/// base + one specialist a name, all weights 1.
inline model::Session sessionOf(const std::vector<std::string>& names) {
    model::Session session;
    session.file = "/scripted/s.session.json";
    session.base.path = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) {
        model::SourceEntry entry;
        entry.name = entry.path = names[i];
        session.specialists.push_back(entry);
    }
    session.prompt = "ab";
    return session;
}

/// base and two specialists whose rows differ.
inline std::map<std::string, Script> three() {
    std::map<std::string, Script> scripts;
    int key = 1;
    for (const char* name : {"model", "math", "poetry"}) scripts[name].logits = mixing(key++);
    return scripts;
}
inline model::Session threeSession(std::int64_t newTokens = 24) {
    model::Session s = sessionOf({"model", "math", "poetry"});
    s.decoding.maxNewTokens = newTokens;
    return s;
}

/// The first specialist's weight changed.
inline model::Session weighted(model::Session s, double weight) {
    s.specialists[0].weight = weight;
    return s;
}

}  // namespace counterpoint::tests
