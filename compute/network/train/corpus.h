#pragma once
// The training text: stories separated by <|endoftext|> lines, the last ones held out, and batches of windows cut from
// it.
//   stream = BOS story EOS BOS story EOS …, shuffled, every story once per epoch
// Shapes: a batch is [B, W] inputs and the tokens after them. Weights of stories become weights of their tokens in the
// loss, so that models of one seed and different weights see the same batches: what their batches do to them all
// cancels in log p_i − log p_r. Deterministic in the seed. Thread: one owner. Errors: Error when the file has too few
// stories.

#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compute/step.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::network::train {

using compute::TokenId;
using compute::Tokenizer;

struct Corpus {
    std::vector<std::string> train, heldOut;
};

/// The piece after the last separator is cut off in a sample of bytes and is dropped.
Corpus readCorpus(const std::filesystem::path& text, std::size_t heldOut);

/// Each story as [BOS] ids [EOS].
std::vector<std::vector<TokenId>> encodeStories(std::span<const std::string> stories, const Tokenizer& tokenizer);

struct Batch {
    std::int64_t rows = 0, window = 0;
    std::vector<std::int64_t> input, target;  ///< [rows·window]
    std::vector<float> weight;                ///< of each target, mean 1 over an epoch's stories; empty: all 1
};

class WindowStream {
  public:
    /// weight: of each story, sums to 1; empty: all alike.
    WindowStream(std::span<const std::vector<TokenId>> stories, std::span<const double> weight, std::uint64_t seed);
    Batch next(std::int64_t rows, std::int64_t window);
    double epochs() const { return m_epochs; }

  private:
    void refill();
    std::span<const std::vector<TokenId>> m_stories;
    std::vector<float> m_weight;
    std::mt19937_64 m_random;
    std::vector<std::int64_t> m_tokens;
    std::vector<float> m_tokenWeight;  ///< beside m_tokens where there are weights
    std::size_t m_at = 0;
    double m_epochs = 0;
};

}  // namespace counterpoint::network::train
