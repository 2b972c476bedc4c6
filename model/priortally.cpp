#include "model/priortally.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace counterpoint::model {
namespace {

/// Δ of a token, 0 off the support.
double deltaOf(const compute::Factor& factor, compute::TokenId token) {
    const auto at = std::lower_bound(factor.tokens.begin(), factor.tokens.end(), token);
    return at != factor.tokens.end() && *at == token
               ? factor.delta[static_cast<std::size_t>(at - factor.tokens.begin())]
               : 0.0;
}

}  // namespace

double PriorTally::Of::effect() const {
    return hits == 0 ? std::numeric_limits<double>::quiet_NaN() : moved / static_cast<double>(hits);
}

bool PriorTally::wouldRecount(const Trace* trace) const {
    if (trace == nullptr) return m_trace != -1;
    return trace->id != m_trace || trace->priors != m_set || trace->steps.size() < m_counted.size() ||
           !std::equal(m_counted.begin(), m_counted.end(), trace->steps.begin());
}

bool PriorTally::follow(const Trace* trace) {
    if (wouldRecount(trace)) {
        m_trace = trace == nullptr ? -1 : trace->id;
        m_counted.clear();
        m_of.clear();
        m_set = trace == nullptr ? nullptr : trace->priors;
    } else if (trace == nullptr || trace->steps.size() == m_counted.size()) {
        return false;
    }
    if (trace == nullptr) return true;
    for (std::size_t i = m_counted.size(); i < trace->steps.size(); ++i) count(*trace, *trace->steps[i]);
    m_counted = trace->steps;
    return true;
}

void PriorTally::count(const Trace& trace, const compute::Step& step) {
    const double tau = trace.session.decoding.temperature;
    const auto counted = [this](const compute::PriorName& prior) -> Of& {
        if (m_of.size() <= prior.bank) m_of.resize(prior.bank + 1);
        return m_of[prior.bank][prior.name];
    };
    for (const compute::PriorName& prior : step.boundedPriors) ++counted(prior).bounded;
    for (const compute::PriorName& prior : step.matchedPriors) {
        Of& of = counted(prior);
        ++of.hits;
        if (!m_set || step.token == compute::kNoToken) continue;
        bool weighed = false;
        for (const compute::PriorSet::Member* m : m_set->named(prior.name)) {
            if (m->bank != prior.bank) continue;
            const double delta = m->acts ? deltaOf(*m->factor, step.token) : 0.0;
            of.moved += std::abs(m->weight * delta) / (tau > 0 ? tau : 1);
            weighed = weighed || delta != 0;
        }
        if (weighed) ++of.tokens[step.token];
    }
}

const PriorTally::Of& PriorTally::of(std::size_t bank, const std::string& prior) const {
    static const Of kNone;
    if (bank >= m_of.size()) return kNone;
    const auto at = m_of[bank].find(prior);
    return at == m_of[bank].end() ? kNone : at->second;
}

}  // namespace counterpoint::model
