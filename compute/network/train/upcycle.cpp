#include "compute/network/train/upcycle.h"

namespace counterpoint::network::train {

Llama upcycled(const Llama& dense, std::int64_t experts, std::int64_t chosen, std::int64_t width, std::uint64_t seed) {
    ModelShape shape = dense.shape;
    shape.experts = experts;
    shape.chosen = chosen;
    shape.hidden = width;
    Llama model = initialise(shape, seed);  // the routers stay as they are here
    const c10::NoGradGuard noGrad;
    model.embedding.copy_(dense.embedding);
    model.finalNorm.copy_(dense.finalNorm);
    const double scale = static_cast<double>(dense.shape.hidden) / static_cast<double>(width);
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        Layer& to = model.layers[i];
        const Layer& from = dense.layers[i];
        for (at::Tensor Layer::*part :
             {&Layer::norm, &Layer::query, &Layer::key, &Layer::value, &Layer::output, &Layer::mlpNorm})
            (to.*part).copy_(from.*part);
        const Expert& whole = from.experts.front();
        for (Expert& expert : to.experts) {
            const auto channels = at::randperm(dense.shape.hidden, at::kLong).narrow(0, 0, width);
            expert.gate.copy_(whole.gate.index_select(0, channels));
            expert.up.copy_(whole.up.index_select(0, channels));
            expert.down.copy_(whole.down.index_select(1, channels) * scale);
        }
    }
    return model;
}

}  // namespace counterpoint::network::train
