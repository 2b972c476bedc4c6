#pragma once
// The keys and values of the positions read so far, in pages of kPage positions that are allocated as they are reached
// and kept by a rewind. Within a page, for each layer and key/value head: keys [D][kPage], then values [D][kPage], so
// that 16 neighbouring positions are one vector. Float32. Thread: one owner.

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/network/kernels/kernels.h"
#include "compute/network/weights.h"

namespace counterpoint::network {

class KvCache {
  public:
    explicit KvCache(const Shape& shape);
    /// Makes room for positions 0..count-1; throws std::bad_alloc.
    void reserve(std::int64_t count);
    /// keys, values [G·D] of one position of one layer.
    void write(std::int64_t layer, std::int64_t position, const float* keys, const float* values);
    const float* const* pages() const { return m_addresses.data(); }
    /// Where a layer's and head's keys begin within every page.
    std::int64_t offset(std::int64_t layer, std::int64_t head) const {
        return (layer * m_heads + head) * 2 * m_headDim * kPage;
    }

  private:
    std::int64_t m_layers, m_heads, m_headDim;
    std::vector<std::unique_ptr<float[]>> m_pages;
    std::vector<const float*> m_addresses;
};

}  // namespace counterpoint::network
