#include "compute/network/train/corpus.h"

#include <algorithm>
#include <numeric>

#include "compute/error.h"
#include "compute/files/atomicfile.h"

namespace counterpoint::network::train {

namespace {

constexpr std::string_view kSeparator = "<|endoftext|>";

std::string_view trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(" \n\r\t");
    return first == std::string_view::npos ? std::string_view{}
                                           : s.substr(first, s.find_last_not_of(" \n\r\t") - first + 1);
}

// The standard distributions differ between libraries; this one does not.
std::size_t below(std::mt19937_64& random, std::size_t n) {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(random()) * n) >> 64);
}

}  // namespace

Corpus readCorpus(const std::filesystem::path& text, std::size_t heldOut) {
    const std::string all = compute::readFile(text);
    std::vector<std::string> stories;
    std::string_view rest = all;
    for (auto at = rest.find(kSeparator); at != std::string_view::npos; at = rest.find(kSeparator)) {
        if (const auto story = trimmed(rest.substr(0, at)); !story.empty()) stories.emplace_back(story);
        rest.remove_prefix(at + kSeparator.size());
    }
    if (stories.size() < 2 * heldOut || stories.empty())
        throw compute::Error({.where = text.string(),
                              .what = "too few stories to train on",
                              .expected = "at least " + std::to_string(2 * heldOut) + " stories, each ended by " +
                                          std::string(kSeparator),
                              .found = std::to_string(stories.size())});
    Corpus corpus;
    const auto cut = stories.end() - static_cast<std::ptrdiff_t>(heldOut);
    corpus.train.assign(stories.begin(), cut);
    corpus.heldOut.assign(cut, stories.end());
    return corpus;
}

std::vector<std::vector<TokenId>> encodeStories(std::span<const std::string> stories, const Tokenizer& tokenizer) {
    std::vector<std::vector<TokenId>> out;
    out.reserve(stories.size());
    for (const auto& story : stories) {
        std::vector<TokenId> ids{tokenizer.bos().value()};
        const auto body = tokenizer.encode(story);
        ids.insert(ids.end(), body.begin(), body.end());
        ids.push_back(tokenizer.eos().value());
        out.push_back(std::move(ids));
    }
    return out;
}

WindowStream::WindowStream(std::span<const std::vector<TokenId>> stories, std::span<const double> weight,
                           std::uint64_t seed)
    : m_stories(stories), m_random(seed) {
    for (const double w : weight) m_weight.push_back(static_cast<float>(w * static_cast<double>(weight.size())));
}

void WindowStream::refill() {
    const auto used = static_cast<std::ptrdiff_t>(m_at);
    m_tokens.erase(m_tokens.begin(), m_tokens.begin() + used);
    if (!m_weight.empty()) m_tokenWeight.erase(m_tokenWeight.begin(), m_tokenWeight.begin() + used);
    m_at = 0;
    std::vector<std::size_t> order(m_stories.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(m_random, i)]);
    for (const auto i : order) {
        m_tokens.insert(m_tokens.end(), m_stories[i].begin(), m_stories[i].end());
        if (!m_weight.empty()) m_tokenWeight.insert(m_tokenWeight.end(), m_stories[i].size(), m_weight[i]);
    }
    m_epochs += 1;
}

Batch WindowStream::next(std::int64_t rows, std::int64_t window) {
    Batch batch{.rows = rows, .window = window, .input = {}, .target = {}, .weight = {}};
    for (std::int64_t r = 0; r < rows; ++r) {
        while (m_tokens.size() < m_at + static_cast<std::size_t>(window) + 1) refill();
        const auto at = static_cast<std::ptrdiff_t>(m_at);
        const auto from = m_tokens.begin() + at;
        batch.input.insert(batch.input.end(), from, from + window);
        batch.target.insert(batch.target.end(), from + 1, from + window + 1);
        if (!m_weight.empty()) {
            const auto first = m_tokenWeight.begin() + at + 1;
            batch.weight.insert(batch.weight.end(), first, first + window);
        }
        m_at += static_cast<std::size_t>(window);
    }
    return batch;
}

}  // namespace counterpoint::network::train
