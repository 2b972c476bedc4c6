#pragma once
// A scripted source and a small tokenizer for tests without a model: n ids, id i is one letter; logits are a fixed
// function of the ids before a row, so that any two ways of feeding the same ids must agree. Padded columns are biased
// highest, so that forgetting to cut them shows. Faults on request: throw, or become NaN, at the n-th id ever fed; stop
// inside a chunk.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "compute/sources/source.h"

namespace counterpoint::tests {

class FakeTokenizer : public compute::Tokenizer {
  public:
    explicit FakeTokenizer(std::int64_t size, std::optional<compute::TokenId> bos = {},
                           std::optional<compute::TokenId> eos = {})
        : m_bos(bos), m_eos(eos) {
        for (std::int64_t i = 0; i < size; ++i) m_bytes.push_back(std::string(1, static_cast<char>('a' + i % 26)));
    }
    std::int64_t size() const override { return static_cast<std::int64_t>(m_bytes.size()); }
    std::vector<compute::TokenId> encode(std::string_view utf8, compute::EncodeOptions = {}) const override {
        std::vector<compute::TokenId> ids;
        for (const char c : utf8) ids.push_back(static_cast<compute::TokenId>((c - 'a' + 26) % 26 % size()));
        return ids;
    }
    std::string_view bytes(compute::TokenId id) const override {
        return isControl(id) || !isToken(id) ? std::string_view() : m_bytes[static_cast<std::size_t>(id)];
    }
    std::string piece(compute::TokenId id) const override {
        return isToken(id) ? m_bytes[static_cast<std::size_t>(id)] : "[id " + std::to_string(id) + "]";
    }
    bool isToken(compute::TokenId id) const override { return id >= 0 && id < size(); }
    bool isControl(compute::TokenId id) const override { return id == m_bos || id == m_eos; }
    bool dropsLeadingSpace() const override { return false; }
    std::optional<compute::TokenId> bos() const override { return m_bos; }
    std::optional<compute::TokenId> eos() const override { return m_eos; }
    bool addsBos() const override { return m_bos.has_value(); }
    std::span<const compute::AddedToken> addedTokens() const override { return {}; }
    std::string fingerprint() const override { return "fake " + std::to_string(size()); }

  private:
    std::vector<std::string> m_bytes;
    std::optional<compute::TokenId> m_bos, m_eos;
};

struct FakeScript {
    std::uint32_t voice = 1;         ///< another number, another model
    std::int64_t paddedColumns = 0;  ///< beyond the tokenizer, biased to +50
    float sharpness = 3;             ///< scale of the logits
    std::vector<float> bias = {};    ///< [V], added to every row (−∞ = excluded); empty: none
    compute::Position maxPositions = 0;
    std::vector<compute::TokenId> stopIds = {};
    std::int64_t throwAtId = -1;  ///< throws Error when this many ids have been fed in all
    std::int64_t nanAtId = -1;    ///< the row after that many ids holds a NaN
};

class FakeSource : public compute::Source {
  public:
    FakeSource(std::shared_ptr<const compute::Tokenizer> tokenizer, FakeScript script)
        : m_tokenizer(std::move(tokenizer)), m_script(std::move(script)) {
        m_info.path = "fake/" + std::to_string(m_script.voice);
        m_info.kind = "model";
        m_info.architecture = "FakeForTests";
        m_info.dtype = "float32";
        m_info.device = "cpu";
        m_info.logitWidth = m_tokenizer->size() + m_script.paddedColumns;
        m_info.maxPositions = m_script.maxPositions;
        m_info.stopIds = m_script.stopIds;
    }
    const compute::SourceInfo& info() const override { return m_info; }
    std::shared_ptr<const compute::Tokenizer> tokenizer() const override { return m_tokenizer; }
    compute::Position length() const override { return static_cast<compute::Position>(m_ids.size()); }
    void rewind(compute::Position length) override { m_ids.resize(static_cast<std::size_t>(length)); }
    std::unique_ptr<compute::Source> fork() const override { return std::make_unique<FakeSource>(*this); }

    compute::Outcome forward(std::span<const compute::TokenId> ids, std::int64_t rows, std::span<float> logits,
                             std::stop_token stop) override {
        ++calls;
        if (onForward) onForward(*this);
        if (stop.stop_requested()) return compute::Outcome::Cancelled;
        const auto width = static_cast<std::size_t>(m_info.logitWidth);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            m_ids.push_back(ids[j]);
            if (++fed == m_script.throwAtId)
                throw compute::Error({.where = m_info.path, .what = "the script fails here"});
            const std::int64_t row = static_cast<std::int64_t>(j) - (static_cast<std::int64_t>(ids.size()) - rows);
            if (row >= 0) fill(logits.subspan(static_cast<std::size_t>(row) * width, width));
            if (row >= 0 && fed == m_script.nanAtId)
                logits[static_cast<std::size_t>(row) * width] = std::numeric_limits<float>::quiet_NaN();
        }
        return compute::Outcome::Done;
    }
    const std::vector<compute::TokenId>& ids() const { return m_ids; }
    std::int64_t calls = 0, fed = 0;
    std::function<void(FakeSource&)> onForward;  ///< called at the start of every forward

  private:
    /// Smooth in the voice, different for every history.
    void fill(std::span<float> row) const {
        std::uint32_t history = 2166136261u ^ m_script.voice;
        for (const compute::TokenId id : m_ids) history = (history ^ static_cast<std::uint32_t>(id + 1)) * 16777619u;
        for (std::size_t v = 0; v < row.size(); ++v) {
            std::uint32_t h = (history + static_cast<std::uint32_t>(v)) * 2654435761u;
            h = (h ^ (h >> 15)) * 2246822519u;
            h ^= h >> 13;
            row[v] = m_script.sharpness * (static_cast<float>(h) / 4294967296.0f * 2 - 1);
            if (v < m_script.bias.size()) row[v] += m_script.bias[v];
            if (v >= static_cast<std::size_t>(m_tokenizer->size())) row[v] = 50;
        }
    }

    std::shared_ptr<const compute::Tokenizer> m_tokenizer;
    FakeScript m_script;
    compute::SourceInfo m_info;
    std::vector<compute::TokenId> m_ids;
};

}  // namespace counterpoint::tests
