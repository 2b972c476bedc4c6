#pragma once
// R1, R2 and R5 written plainly in float64, token by token from SPEC.md's sentences and sharing nothing with the
// library: what the library is compared with on random rows. Slow on purpose.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compute/composition/recipe.h"
#include "tests/support/priors.h"

namespace counterpoint::tests::naive {

using Row = std::vector<double>;
constexpr double kOut = -INFINITY;

struct Result {
    Row composed, priors, temperature;
    std::vector<bool> kept;
    compute::Diagnostics d;
};

inline Row softmaxLog(const Row& score, double tau) {
    double top = kOut;
    for (double s : score) top = std::max(top, s);
    double sum = 0;
    for (double s : score)
        if (s != kOut) sum += std::exp((s - top) / tau);
    Row out(score.size(), kOut);
    for (std::size_t v = 0; v < score.size(); ++v)
        if (score[v] != kOut) out[v] = (score[v] - top) / tau - std::log(sum);
    return out;
}

inline double klOf(const Row& p, const Row& q) {
    double sum = 0;
    for (std::size_t v = 0; v < p.size(); ++v) {
        if (p[v] == kOut) continue;
        if (q[v] == kOut) return INFINITY;
        sum += std::exp(p[v]) * (p[v] - q[v]);
    }
    return sum;
}

/// Ids by probability, descending, ties to the lower id; excluded ones left out.
inline std::vector<std::size_t> ranking(const Row& p) {
    std::vector<std::size_t> ids;
    for (std::size_t v = 0; v < p.size(); ++v)
        if (p[v] != kOut) ids.push_back(v);
    std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
    return ids;
}

inline std::vector<std::size_t> topP(const Row& p, std::vector<std::size_t> ids, double share) {
    if (share >= 1) return ids;
    double all = 0, sum = 0;
    for (std::size_t v : ids) all += std::exp(p[v]);
    for (std::size_t j = 0; j < ids.size(); ++j) {
        sum += std::exp(p[ids[j]]);
        if (sum / all >= share - 1e-12) {
            ids.resize(j + 1);
            break;
        }
    }
    return ids;
}

inline bool inMask(const compute::Mask& m, compute::Position t, int v) {
    bool tokens = !m.tokens, positions = !m.positions;
    if (m.tokens)
        for (int id : *m.tokens) tokens = tokens || id == v;
    if (m.positions)
        for (const auto& i : *m.positions) positions = positions || (t >= i.from && t < i.to);
    return tokens && positions;
}

/// D(v) clause by clause for weights times `scale`; only specialists in `who` (empty: all).
inline Row score(const compute::Recipe& r, const std::vector<Row>& rows, compute::Position t, double scale, bool extras,
                 std::vector<int> who, std::int64_t* noSay) {
    using namespace compute;
    const Row& base = rows[0];
    const int size = int(base.size());
    Row s(base.size(), kOut);
    const bool all = who.empty();
    if (all)
        for (int i = 0; i < int(r.specialists.size()); ++i) who.push_back(i);
    // the most active specialist
    int mostActive = -1;
    double most = r.activeEpsilon;
    for (int i = 0; i < int(r.specialists.size()); ++i) {
        const auto& x = r.specialists[i];
        if (!x.enabled || x.weight == 0) continue;
        const double a = klOf(rows[x.source], rows[x.reference < 0 ? 0 : x.reference]);
        if (a > most) most = a, mostActive = i;
    }
    std::vector<std::size_t> ranked = ranking(base), nucleus;
    if (r.plausibility && r.plausibility->kind == PlausibilityKind::TopP)
        nucleus = topP(base, ranked, r.plausibility->value);
    if (noSay) *noSay = 0;
    for (int v = 0; v < size; ++v) {
        if (base[v] == kOut) continue;
        bool out = false;
        double sum = 0, weights = 0, low = INFINITY, high = -INFINITY;
        int k = 0, n = 0;
        std::vector<double> terms(r.specialists.size(), 0.0);
        for (int i : who) {
            const auto& x = r.specialists[i];
            const double w = x.weight * scale;
            if (!x.enabled || w == 0) continue;
            ++n;
            if (!inMask(x.mask, t, v)) continue;
            const double own = rows[x.source][v], ref = x.reference < 0 ? 0.0 : rows[x.reference][v];
            double delta = 0;
            if (ref == kOut || (own == kOut && w < 0)) {
                if (noSay) ++*noSay;
            } else if (own == kOut) {
                out = true;
            } else {
                delta = own - ref;
            }
            if (w > 0) low = std::min(low, delta), high = std::max(high, delta), weights += w, ++k;
            if (w < 0) delta = std::max(delta, -r.floor);
            terms[i] = w * delta;
            sum += terms[i];
        }
        double d = sum;
        const bool stop = std::find(r.stopIds.begin(), r.stopIds.end(), v) != r.stopIds.end();
        if (extras && stop && r.eosPolicy != EosPolicy::Sum) {
            double largest = -INFINITY;
            for (int i : who)
                if (r.specialists[i].enabled && r.specialists[i].weight * scale != 0)
                    largest = std::max(largest, terms[i]);
            if (r.eosPolicy == EosPolicy::Mean) d = n ? sum / n : 0;
            if (r.eosPolicy == EosPolicy::Max) d = n ? largest : 0;
            if (r.eosPolicy == EosPolicy::Base) d = 0;
            if (r.eosPolicy == EosPolicy::Active) d = mostActive < 0 ? 0 : terms[mostActive];
        } else if (extras && r.commonShift && k > 1) {
            const double m = low > 0 ? low : high < 0 ? high : 0;
            d -= (k - 1) * (weights / k) * m;
        }
        if (extras && r.plausibility) {
            if (r.plausibility->kind == PlausibilityKind::Relative)
                out = out || base[v] < base[ranked[0]] + std::log(r.plausibility->value) - 1e-12;
            else
                out = out || std::find(nucleus.begin(), nucleus.end(), std::size_t(v)) == nucleus.end();
        }
        if (!out) s[v] = base[v] + d;
    }
    return s;
}

inline Result compose(const compute::Recipe& r, const Priors& priors,
                      const std::vector<Row>& rows, compute::Position t) {
    using namespace compute;
    Result x;
    const Row& base = rows[0];
    double scale = 1;
    Row s = score(r, rows, t, 1, true, {}, &x.d.noSay);
    if (r.klBudget && klOf(softmaxLog(s, 1), base) > *r.klBudget) {
        double lo = 0, hi = 1;
        for (int i = 0; i < 60; ++i) {
            const double mid = (lo + hi) / 2;
            (klOf(softmaxLog(score(r, rows, t, mid, true, {}, nullptr), 1), base) <= *r.klBudget ? lo : hi) = mid;
        }
        scale = lo < 1e-15 ? 0 : lo;
        s = score(r, rows, t, scale, true, {}, &x.d.noSay);
    }
    x.d.scale = scale;
    x.composed = softmaxLog(s, 1);
    for (const auto& p : priors)
        for (std::size_t j = 0; j < p.tokens.size(); ++j) s[p.tokens[j]] += p.eta * p.delta[j];
    x.priors = softmaxLog(s, 1);
    x.temperature = r.temperature == 0 ? x.priors : softmaxLog(s, r.temperature);

    const Row& p = x.temperature;
    std::vector<std::size_t> ids = ranking(p);
    if (r.topK > 0 && std::size_t(r.topK) < ids.size()) ids.resize(r.topK);
    ids = topP(p, ids, r.topP);
    x.kept.assign(p.size(), false);
    Row drawn(p.size(), kOut);
    double mass = 0;
    for (std::size_t v : ids)
        if (std::exp(p[v]) >= r.minP * std::exp(p[ids[0]]) * (1 - 1e-12)) x.kept[v] = true, mass += std::exp(p[v]);
    for (std::size_t v = 0; v < p.size(); ++v)
        if (x.kept[v]) drawn[v] = p[v] - std::log(mass);

    Diagnostics& d = x.d;
    d.drift = klOf(p, base);
    d.klFromBase = klOf(base, p);
    d.driftComposed = klOf(x.priors, base);
    d.driftDrawn = klOf(drawn, base);
    for (std::size_t v = 0; v < p.size(); ++v) {
        const double a = std::exp(p[v]), b = std::exp(base[v]), m = (a + b) / 2;
        d.tv += std::abs(a - b) / 2;
        if (a > 0) d.js += a / 2 * std::log(a / m), d.entropy -= a * p[v];
        if (b > 0) d.js += b / 2 * std::log(b / m);
    }
    d.activity.assign(rows.size(), 0);
    d.eos.assign(rows.size(), 0);
    for (const auto& q : r.specialists)
        d.activity[q.source] = klOf(rows[q.source], rows[q.reference < 0 ? 0 : q.reference]);
    for (int id : r.stopIds) {
        for (std::size_t i = 0; i < rows.size(); ++i) d.eos[i] += std::exp(rows[i][id]);
        d.eosComposed += std::exp(p[id]);
    }
    const auto logZ = [&](std::vector<int> who) {
        double z = 0;
        for (double e : score(r, rows, t, scale, false, std::move(who), nullptr)) z += std::exp(e);
        return std::log(z);
    };
    int speaking = 0;
    for (int i = 0; i < int(r.specialists.size()); ++i) {
        if (!r.specialists[i].enabled || r.specialists[i].weight * scale == 0) continue;
        d.interference -= logZ({i});
        ++speaking;
    }
    if (speaking > 0) d.interference += logZ({});
    const std::size_t best = ids[0], bestBase = ranking(base)[0];
    std::vector<int> agreeing;
    for (const auto& q : r.specialists)
        if (q.enabled && q.weight != 0 && ranking(rows[q.source])[0] == best) agreeing.push_back(q.source);
    d.winner = best == bestBase       ? WinnerKind::Base
               : agreeing.empty()     ? WinnerKind::Nobody
               : agreeing.size() == 1 ? WinnerKind::Specialist
                                      : WinnerKind::Several;
    if (d.winner == WinnerKind::Specialist) d.winnerSource = agreeing[0];
    return x;
}

}  // namespace counterpoint::tests::naive
