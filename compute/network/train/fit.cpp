#include "compute/network/train/fit.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "compute/error.h"

namespace counterpoint::network::train {

namespace {

double rateAt(const FitOptions& o, std::int64_t step) {
    if (step < o.warmUp) return o.peakRate * static_cast<double>(step + 1) / static_cast<double>(o.warmUp);
    const double progress =
        static_cast<double>(step - o.warmUp) / static_cast<double>(std::max<std::int64_t>(1, o.steps - o.warmUp));
    return o.finalRate + (o.peakRate - o.finalRate) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

std::vector<at::Tensor> copyOf(Llama& model) {
    const c10::NoGradGuard noGrad;
    std::vector<at::Tensor> out;
    for (const auto& [name, p] : model.parameters()) out.push_back(p->detach().clone());
    return out;
}

}  // namespace

FitResult fit(Llama& model, WindowStream& stream, const std::vector<std::vector<TokenId>>& heldOut, const FitOptions& o,
              const std::function<void(const FitPoint&)>& progress) {
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    at::manual_seed(o.seed);
    Optimiser optimiser(model, o.optimiser);
    FitResult result;
    result.kept.heldOutLoss = std::numeric_limits<double>::infinity();
    std::vector<at::Tensor> best;
    double sum = 0, balanceSum = 0;
    std::int64_t counted = 0;
    const std::int64_t steps = o.stopAfter > 0 ? std::min(o.stopAfter, o.steps) : o.steps;
    for (std::int64_t step = 0; step < steps; ++step) {
        const std::int64_t window = step % 8 == 7 ? model.shape.maxPositions : model.shape.maxPositions / 2;
        const Batch batch = stream.next(std::max<std::int64_t>(1, o.tokensPerStep / window), window);
        const auto tensor = [&](const std::vector<std::int64_t>& ids) {
            return at::tensor(ids, at::kLong).view({batch.rows, batch.window});
        };
        const auto weights =
            batch.weight.empty() ? at::Tensor() : at::tensor(batch.weight, at::kFloat).view({batch.rows, batch.window});
        std::vector<at::Tensor> balance;
        const Pass pass{
            .dropout = o.dropout,
            .noise = {.mode = o.routing, .coupling = {}, .seed = (o.seed << 32) + static_cast<std::uint64_t>(step)},
            .balance = &balance};
        const auto nats = crossEntropy(model, tensor(batch.input), tensor(batch.target), pass, weights);
        const auto loss = withBalance(nats, balance, o.balance);
        const double value = nats.item<double>();
        if (!std::isfinite(value))
            throw compute::Error({.where = "training, step " + std::to_string(step),
                                  .what = "the loss is not finite",
                                  .advice = "lower the learning rate"});
        loss.backward();
        optimiser.step(rateAt(o, step));
        sum += value;
        if (!balance.empty()) balanceSum += at::stack(balance).mean().item<double>();
        ++counted;
        if ((step + 1) % o.evaluateEvery != 0 && step + 1 != steps) continue;
        const auto mean = [&](double total) { return total / static_cast<double>(counted); };
        const FitPoint point{step + 1, mean(sum), mean(balanceSum), heldOutLoss(model, heldOut).first, seconds()};
        sum = balanceSum = 0;
        counted = 0;
        if (!o.keepBest || point.heldOutLoss < result.kept.heldOutLoss) {
            result.kept = point;
            best = copyOf(model);
        }
        result.points.push_back(point);
        if (progress) progress(point);
    }
    const c10::NoGradGuard noGrad;
    const auto parameters = model.parameters();
    for (std::size_t i = 0; i < best.size(); ++i) parameters[i].second->copy_(best[i]);
    result.epochs = stream.epochs();
    result.seconds = seconds();
    return result;
}

}  // namespace counterpoint::network::train
