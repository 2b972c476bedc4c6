#include "compute/network/train/optimiser.h"

#include <algorithm>
#include <cmath>

namespace counterpoint::network::train {

at::Tensor orthogonalised(const at::Tensor& g) {
    const bool tall = g.size(0) > g.size(1);
    at::Tensor x = (tall ? g.t() : g) / (g.norm() + 1e-12);
    for (int i = 0; i < 5; ++i) {
        const at::Tensor a = x.mm(x.t());
        x = at::addmm(x, at::addmm(a, a, a, -4.7750, 2.0315), x, 3.4445, 1);
    }
    return tall ? x.t() : x;
}

Optimiser::Optimiser(Llama& model, const OptimiserOptions& options) : m_options(options) {
    for (const auto& [name, p] : model.parameters()) {
        const bool matrix = p->dim() == 2 && p != &model.embedding;
        m_slots.push_back({p, matrix, at::zeros_like(*p), matrix ? at::Tensor{} : at::zeros_like(*p)});
    }
}

void Optimiser::step(double rate) {
    const c10::NoGradGuard noGrad;
    const OptimiserOptions& o = m_options;
    double norm = 0;
    for (const Slot& s : m_slots) norm += s.parameter->grad().pow(2).sum().item<double>();
    const double scale = std::min(1.0, o.clip / (std::sqrt(norm) + 1e-12));
    ++m_count;
    const double correct1 = 1 - std::pow(o.beta1, m_count), correct2 = 1 - std::pow(o.beta2, m_count);
    for (Slot& s : m_slots) {
        at::Tensor& p = *s.parameter;
        const auto g = p.grad() * scale;
        if (p.dim() > 1) p.mul_(1 - rate * o.weightDecay);
        if (s.matrix) {
            s.moment.mul_(o.momentum).add_(g);
            const double size = static_cast<double>(std::max(p.size(0), p.size(1)));
            p.add_(orthogonalised(g + s.moment * o.momentum), -rate * 0.2 * std::sqrt(size));
        } else {
            s.moment.mul_(o.beta1).add_(g, 1 - o.beta1);
            s.square.mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
            p.addcdiv_(s.moment, (s.square / correct2).sqrt_().add_(1e-8), -rate / correct1);
        }
        p.mutable_grad().zero_();
    }
}

}  // namespace counterpoint::network::train
