#include "model/bankfigures.h"

#include "compute/error.h"
#include "compute/priors/hierarchy.h"
#include "compute/priors/onebit.h"
#include "model/bankcompress.h"
#include "model/bankrows.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace counterpoint::model {

using compute::Bank;
using compute::OneBitDrift;
using compute::Position;
using compute::Prior;
using compute::PriorSet;

namespace {

constexpr const char* kNoBank = "The session has no bank of priors.";

Series curve(std::string name, int colour, SeriesKind kind = SeriesKind::Line) {
    Series s;
    s.name = std::move(name);
    s.colour = colour;
    s.kind = kind;
    return s;
}

void add(Series& s, double x, double y) {
    s.x.push_back(x);
    s.y.push_back(y);
}

/// Points in the order of x, as a figure's file has them.
void sortPoints(Series& s) {
    std::vector<std::size_t> order(s.x.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return s.x[a] < s.x[b]; });
    Series sorted = curve(s.name, s.colour, s.kind);
    for (const std::size_t i : order) add(sorted, s.x[i], s.y[i]);
    s = std::move(sorted);
}

compute::IdSpace idsOf(const Trace& trace, const Bank& bank) {
    return idsFor(bank, trace.tokenizer.get(), trace.store ? trace.store->vocabulary() : -1);
}

const PriorSet* setOf(const Trace& trace) { return trace.priors && !trace.priors->members().empty() ? trace.priors.get() : nullptr; }

PlotData eta(const Trace& trace, const std::stop_token&) {
    PlotData plot;
    plot.x.title = "Quality q";
    plot.y.title = "η";
    const PriorSet* set = setOf(trace);
    if (set == nullptr) {
        plot.empty = kNoBank;
        return plot;
    }
    Series law = curve("log q/(1−q), clamped", -1), points = curve("priors", -2, SeriesKind::Points), capped = curve("η at the cap", 1, SeriesKind::Points);
    for (int i = 0; i <= 200; ++i) {
        Prior prior;
        prior.quality = 0.3 + 0.6999 * i / 200;
        add(law, prior.quality, compute::etaOf(prior).eta);
    }
    for (const auto& m : set->members()) {
        if (m.prior->unusable) continue;
        add(m.eta.capped ? capped : points, m.prior->quality, m.eta.eta);
    }
    sortPoints(points);
    sortPoints(capped);
    plot.series = {std::move(law), std::move(points)};
    if (!capped.x.empty()) plot.series.push_back(std::move(capped));
    plot.note = "q < 0.5 switches a prior off; the cap is log(0.99/0.01)";
    return plot;
}

/// Every prior of the session's banks under R9.
std::vector<PriorOneBit> allOneBit(const Trace& trace) {
    std::vector<PriorOneBit> all;
    for (const BankEntry& entry : trace.session.priors) {
        if (!entry.content) continue;
        std::ranges::move(oneBitOfPriors(*entry.content, idsOf(trace, *entry.content)), std::back_inserter(all));
    }
    return all;
}

PlotData oneBitError(const Trace& trace, const std::stop_token&) {
    PlotData plot;
    plot.x.title = "Mean Δ of promoted ÷ mean |Δ| of demoted";
    plot.y.title = "Squared error ÷ ‖Δ‖²";
    if (setOf(trace) == nullptr) {
        plot.empty = kNoBank;
        return plot;
    }
    Series law = curve("as many of each", -1), points = curve("priors with both", -2, SeriesKind::Points);
    for (int i = 5; i <= 200; ++i) {
        const double ratio = i / 50.0;
        const std::array<double, 2> delta{ratio, -1};
        add(law, ratio, compute::oneBit(delta).squaredError / (ratio * ratio + 1));
    }
    for (const PriorOneBit& one : allOneBit(trace))
        if (one.plus > 0 && one.minus > 0) add(points, one.plus / one.minus, one.share());
    sortPoints(points);
    plot.series = {std::move(law), std::move(points)};
    plot.note = "One bit is exact where all magnitudes are equal";
    return plot;
}

PlotData ratio(const Trace& trace, const std::stop_token&) {
    PlotData plot;
    plot.x.title = "Support n (tokens)";
    plot.y.title = "Ratio";
    if (setOf(trace) == nullptr) {
        plot.empty = kNoBank;
        return plot;
    }
    Series paper = curve("paper: 32n/(n+32), no ids", -1), disk = curve("priors: bytes on disk", -2, SeriesKind::Points);
    std::size_t largest = 1;
    for (const PriorOneBit& one : allOneBit(trace)) {
        if (one.support == 0 || one.bytes == 0) continue;
        largest = std::max(largest, one.support);
        add(disk, static_cast<double>(one.support), static_cast<double>(one.exactBytes) / static_cast<double>(one.bytes));
    }
    for (std::size_t n = 1; n <= std::max<std::size_t>(200, largest); ++n) add(paper, static_cast<double>(n), compute::paperRatio(n));
    sortPoints(disk);
    plot.series = {std::move(paper), std::move(disk)};
    plot.note = "Bytes on disk count ids, names and contexts; the paper counts signs and one scale";
    return plot;
}

PlotData klBounds(const Trace& trace, const std::stop_token& stop) {
    PlotData plot;
    plot.x.title = "Position";
    plot.y.title = "KL(exact‖one-bit) (nats)";
    plot.y.logarithmic = true;
    plot.cursorIsPosition = true;
    if (setOf(trace) == nullptr) {
        plot.empty = kNoBank;
        return plot;
    }
    Series kl = curve("measured", -2), norm = curve("¼‖d‖²", 1), range = curve("(max d − min d)²/8", 2);
    forEachRow(trace, trace.priors.get(), stop, [&](Position p, const auto&, const PriorsAt& priors, const auto& stages, const compute::Recipe& recipe) {
        const OneBitDrift drift = compute::oneBitDrift<float>(priors.terms, recipe.temperature, stages.temperature);
        const auto x = static_cast<double>(p);
        add(kl, x, drift.kl);
        add(norm, x, drift.normBound);
        add(range, x, drift.rangeBound);
    });
    plot.series = {std::move(kl), std::move(norm), std::move(range)};
    return plot;
}

PlotData levels(const Trace& trace, const std::stop_token& stop) {
    const auto enabled = std::find_if(trace.session.priors.begin(), trace.session.priors.end(),
                                      [](const BankEntry& e) { return e.enabled && e.content; });
    if (enabled == trace.session.priors.end()) {
        PlotData plot;
        plot.x.title = "Bytes on disk";
        plot.y.title = "Mean KL (nats)";
        plot.empty = "No bank of the session acts.";
        return plot;
    }
    const auto bank = static_cast<std::size_t>(enabled - trace.session.priors.begin());
    const auto report = compressionReport(compressionInput(trace.session, bank, &trace, trace.tokenizer), {}, stop);
    return report ? levelsPlot(*report) : PlotData();
}

PlotData merging(const Trace& trace, const std::stop_token& stop) {
    PlotData plot;
    plot.x.title = "Priors before";
    plot.y.title = "Priors after merging";
    Series same = curve("nothing merged", -1), third = curve("M/3, as the seed says", 3), points = curve("banks of the session", -2, SeriesKind::Points);
    double most = 0;
    for (const BankEntry& entry : trace.session.priors) {
        if (!entry.content || stop.stop_requested()) continue;
        const BankPtr bank = withOverrides(entry);
        const compute::Compressed small =
            compute::compress(std::span(bank.get(), 1), idsOf(trace, *bank),
                              {.level = 2, .goOn = [&](int, double) { return !stop.stop_requested(); }});
        if (small.levels.empty()) break;
        most = std::max(most, static_cast<double>(small.levels.front().priors));
        add(points, static_cast<double>(small.levels.front().priors), static_cast<double>(small.levels.back().priors));
    }
    if (points.x.empty()) {
        plot.empty = kNoBank;
        return plot;
    }
    for (const double x : {0.0, most}) {
        add(same, x, x);
        add(third, x, x / 3);
    }
    sortPoints(points);
    plot.series = {std::move(same), std::move(third), std::move(points)};
    return plot;
}

constexpr std::array kRows = {
    BankFigureRow{"bank_eta", "η against quality", "η = log(q/(1−q)), clamped to [0, log(0.99/0.01)]", "R8", eta},
    BankFigureRow{"bank_onebit_error", "One-bit error", "Σ(Δ − α sign Δ)²/Σ Δ², α = mean |Δ|", "R9", oneBitError},
    BankFigureRow{"bank_kl_bounds", "KL of one bit and its bounds", "KL(p̂‖p̂ one-bit) ≤ ¼‖d‖², ≤ (max d − min d)²/8", "R9", klBounds},
    BankFigureRow{"bank_ratio", "Compression against support", "32n/(n+32); bytes exact ÷ bytes one-bit", "R9", ratio},
    BankFigureRow{"bank_levels", "KL against bytes", "mean KL(p̂‖p̂ at the level) over the steps", "R10", levels},
    BankFigureRow{"bank_merging", "Merging", "one-bit cosine > 0.9 within a context and task", "R10", merging},
};

}  // namespace

std::span<const BankFigureRow> bankFigures() { return kRows; }

PlotData makeBankFigure(const BankFigureRow& row, const Trace& trace, const std::stop_token& stop) {
    PlotData plot;
    try {
        plot = row.make(trace, stop);
    } catch (const compute::Error& error) {  // a bank of another tokenizer; the run and its other figures stay
        plot.empty = error.sentence();
    }
    plot.id = row.id;
    plot.title = row.title;
    return plot;
}

}  // namespace counterpoint::model
