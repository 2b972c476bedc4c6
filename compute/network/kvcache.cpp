#include "compute/network/kvcache.h"

namespace counterpoint::network {

KvCache::KvCache(const Shape& shape) : m_layers(shape.layers), m_heads(shape.keyValueHeads), m_headDim(shape.headDim) {}

void KvCache::reserve(std::int64_t count) {
    while (static_cast<std::int64_t>(m_pages.size()) * kPage < count) {
        auto page = std::make_unique<float[]>(static_cast<std::size_t>(offset(m_layers, 0)));
        m_addresses.reserve(m_pages.size() + 1);
        m_pages.push_back(std::move(page));
        m_addresses.push_back(m_pages.back().get());
    }
}

void KvCache::write(std::int64_t layer, std::int64_t position, const float* keys, const float* values) {
    float* page = m_pages[static_cast<std::size_t>(position / kPage)].get();
    for (std::int64_t head = 0; head < m_heads; ++head) {
        float* slot = page + offset(layer, head) + position % kPage;
        for (std::int64_t d = 0; d < m_headDim; ++d) {
            slot[d * kPage] = keys[head * m_headDim + d];
            slot[(m_headDim + d) * kPage] = values[head * m_headDim + d];
        }
    }
}

}  // namespace counterpoint::network
