#include "compute/network/train/check.h"

#include <algorithm>
#include <cmath>

#include "compute/network/train/llama.h"

namespace counterpoint::network::train {

GradientGap checkGradient(std::uint64_t seed, std::int64_t experts) {
    Llama model = initialise({.vocabulary = 24,
                              .dim = 16,
                              .hidden = 24,
                              .layers = 2,
                              .heads = 4,
                              .keyValueHeads = 2,
                              .maxPositions = 16,
                              .experts = experts},
                             seed);
    for (const auto& [name, p] : model.parameters()) {
        const c10::NoGradGuard noGrad;
        // Weights of order 0.3, norms off one: nothing is near the place where a term would vanish.
        *p = (at::randn(p->sizes(), at::kDouble) * 0.3 + (p->dim() == 1 ? 1.0 : 0.0)).set_requires_grad(true);
    }
    const auto ids = at::randint(0, 24, {2, 9}, at::kLong), targets = at::randint(0, 24, {2, 9}, at::kLong);
    const auto loss = [&] {
        std::vector<at::Tensor> balance;
        const Pass pass{.noise = {.mode = compute::RoutingMode::Independent, .coupling = {}, .seed = seed},
                        .balance = &balance};
        const auto nats = crossEntropy(model, ids, targets, pass);
        return withBalance(nats, balance, 0.5);
    };
    loss().backward();
    GradientGap gap;
    const c10::NoGradGuard noGrad;
    for (const auto& [name, p] : model.parameters()) {
        const auto value = p->view(-1), gradient = p->grad().reshape(-1);
        for (std::int64_t k = 0; k < 6; ++k) {
            const std::int64_t i = (k * 7919 + 3) % value.numel();
            constexpr double h = 1e-5;
            const double at = value[i].item<double>();
            const auto lossAt = [&](double x) {
                value[i].fill_(x);
                return loss().item<double>();
            };
            const double difference = (lossAt(at + h) - lossAt(at - h)) / (2 * h);
            value[i].fill_(at);
            const double g = gradient[i].item<double>(), relative = std::abs(g - difference) / (1e-6 + std::abs(g));
            ++gap.tried;
            if (relative > gap.largest) gap.largest = relative, gap.tensor = name;
        }
    }
    return gap;
}

}  // namespace counterpoint::network::train
