#pragma once
// One decoding state over shared weights: tokens in, raw logits out, on the CPU in float32 (weights widened as they are
// read); weights.h states the formula. A prompt goes through in chunks; the stop token is read before every layer of
// every chunk. One token, a chunk or a whole recomputation give the same bits (kernels.h), with any number of threads.
// Shapes: ids [n]; logits [rows][V]. Errors: std::bad_alloc; the caller has checked ids and positions. Thread: one
// owner.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "compute/network/engine.h"
#include "compute/network/mixture.h"

namespace counterpoint::network {

class Decoder final : public Engine {
  public:
    Decoder(std::shared_ptr<const Weights> weights, int threads);
    /// Reads ids at positions first, first+1, …; everything before must have been read. Cancelled: logits are not to be
    /// used.
    compute::Outcome forward(std::int64_t first, std::span<const compute::TokenId> ids, std::int64_t rows,
                             std::span<float> logits, const std::stop_token& stop) override;
    Router* router() override { return m_router ? &*m_router : nullptr; }
    /// Of the weights that mixtures of experts have read since this state began.
    std::int64_t mixtureBytesRead() const { return m_mixture.bytesRead; }

  private:
    void embed(std::span<const compute::TokenId> ids, std::int64_t first);
    void layer(std::int64_t index, std::int64_t first, std::int64_t T);
    void project(const Layer& layer, std::int64_t T);
    void dense(const Layer& layer, std::int64_t T);

    std::shared_ptr<const Weights> m_weights;
    int m_threads;
    KvCache m_cache;
    std::vector<Angles> m_angles;  ///< one for each of the shape's rotaries
    AttentionScratch m_attention;
    std::optional<Router> m_router;
    MixtureScratch m_mixture;
    std::vector<float> m_x, m_normed, m_fused, m_q, m_k, m_v, m_mixed, m_gate, m_up, m_delta;  ///< [T][…] of one chunk
};

}  // namespace counterpoint::network
