#include "compute/network/train/routed.h"

#include <algorithm>

namespace counterpoint::network::train {

namespace {

/// The choices of N positions, and their rows expert after expert.
struct Sent {
    at::Tensor experts;                ///< int64 [N,K]
    at::Tensor rows;                   ///< int64 [N·K]: which n·K + k stands in each row
    at::Tensor places;                 ///< int64 [N·K]: in which row each n·K + k stands
    std::vector<std::int64_t> counts;  ///< [E] rows of each expert
};

Sent send(const at::Tensor& logits, std::int64_t chosen, std::int64_t layer, const compute::RoutingSettings& noise) {
    const auto n = logits.size(0), e = logits.size(1);
    const at::Tensor values = logits.detach().to(at::kFloat).contiguous();
    const compute::RouterLaw law{.chosen = static_cast<int>(chosen), .bias = {}};
    Sent s{.experts = at::empty({n, chosen}, at::kLong),
           .rows = at::empty({n * chosen}, at::kLong),
           .places = at::empty({n * chosen}, at::kLong),
           .counts = std::vector<std::int64_t>(static_cast<std::size_t>(e))};
    auto* experts = s.experts.data_ptr<std::int64_t>();
    compute::RouteMemory memory;
    compute::Routed routed;
    for (std::int64_t i = 0; i < n; ++i) {
        const std::span row(values.data_ptr<float>() + i * e, static_cast<std::size_t>(e));
        compute::routePosition(noise, law, row, {static_cast<std::uint32_t>(layer), i}, memory, routed);
        for (const compute::ExpertId id : routed.experts) *experts++ = id, ++s.counts[static_cast<std::size_t>(id)];
    }
    std::vector<std::int64_t> next(s.counts.size());
    for (std::size_t i = 1; i < next.size(); ++i) next[i] = next[i - 1] + s.counts[i - 1];
    for (std::int64_t i = 0; i < n * chosen; ++i) {
        const std::int64_t at = next[static_cast<std::size_t>(s.experts.data_ptr<std::int64_t>()[i])]++;
        s.rows.data_ptr<std::int64_t>()[at] = i;
        s.places.data_ptr<std::int64_t>()[i] = at;
    }
    return s;
}

// gather, not index_select: the gradient of that one adds row by row in libtorch 1.13, each as an operation of its own.
at::Tensor rowsOf(const at::Tensor& x, const at::Tensor& index) {
    return x.gather(0, index.unsqueeze(1).expand({-1, x.size(1)}));
}

at::Tensor balanceOf(const at::Tensor& logits, const Sent& sent) {
    const auto share = at::tensor(sent.counts, at::kLong).to(logits.scalar_type()) / sent.rows.numel();
    return static_cast<double>(sent.counts.size()) * (share * at::softmax(logits, -1).mean(0)).sum();
}

}  // namespace

at::Tensor feedForward(const Expert& expert, const at::Tensor& x) {
    return at::linear(at::silu(at::linear(x, expert.gate)) * at::linear(x, expert.up), expert.down);
}

at::Tensor routed(const at::Tensor& x, const at::Tensor& router, const std::vector<Expert>& experts,
                  std::int64_t chosen, std::int64_t layer, const Pass& pass) {
    const auto flat = x.reshape({-1, x.size(-1)});
    const auto logits = at::linear(flat, router);
    const Sent sent = send(logits, chosen, layer, pass.noise);
    if (pass.balance != nullptr) pass.balance->push_back(balanceOf(logits, sent));
    const auto parts = rowsOf(flat, sent.rows.div(chosen, "floor")).split_with_sizes(sent.counts);
    std::vector<at::Tensor> said;
    for (std::size_t e = 0; e < experts.size(); ++e) said.push_back(feedForward(experts[e], parts[e]));
    const auto weights = at::softmax(logits.gather(1, sent.experts), -1);
    const auto back = rowsOf(at::cat(said), sent.places).view({-1, chosen, x.size(-1)});
    return (back * weights.unsqueeze(-1)).sum(1).view(x.sizes());
}

at::Tensor withBalance(const at::Tensor& loss, const std::vector<at::Tensor>& balance, double coefficient) {
    return balance.empty() ? loss : loss + coefficient * at::stack(balance).mean();
}

}  // namespace counterpoint::network::train
