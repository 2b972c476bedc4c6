#include "model/bankcompress.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>
#include <tuple>

#include "compute/error.h"
#include "compute/printable.h"
#include "compute/priors/onebit.h"
#include "model/bankrows.h"
#include "model/shownnumber.h"

namespace counterpoint::model {

using compute::Bank;
using compute::Prior;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kShownMerges = 500, kShownNames = 20;

void add(MeanAndMost& to, double value) {
    to.mean += value;
    if (std::isnan(value) || value > to.most) to.most = value;  // what is not a number stays
}

/// Tells progress, with a rate, often enough that what waits for the lane can pass.
class Teller {
  public:
    Teller(const std::function<void(const Progress&)>& progress, std::string what, std::string unit, double all)
        : m_progress(progress), m_what(std::move(what)), m_unit(std::move(unit)), m_all(all) {
        if (m_progress) m_progress({m_what, 0, {}});
    }
    void tell(double share) {
        const auto now = Clock::now();
        if (!m_progress || now - m_told < std::chrono::milliseconds(20)) return;
        m_told = now;
        const double seconds = std::chrono::duration<double>(now - m_since).count();
        m_progress({m_what, share, shownNumber(share * m_all / seconds, 0) + " " + m_unit + "/s"});
    }

  private:
    const std::function<void(const Progress&)>& m_progress;
    std::string m_what, m_unit;
    double m_all;
    Clock::time_point m_since = Clock::now(), m_told = m_since;
};

/// Every level's KL in one pass over the trace's rows.
void measure(const CompressionInput& input, CompressionReport& report,
             const std::function<void(const Progress&)>& progress, const std::stop_token& stop) {
    const Trace& trace = *input.trace;
    const auto setOf = [&](const BankEntry& entry) {
        Session session = trace.session;
        session.priors.at(input.bank) = entry;
        return priorSetOf(session, trace.tokenizer.get(), trace.store->vocabulary());
    };
    const PriorSetPtr exact = setOf(input.entry);
    std::vector<PriorSetPtr> others;
    for (std::size_t level = 1; level < report.levels.size(); ++level) {
        if (stop.stop_requested()) return;
        BankEntry entry = input.entry;
        entry.content = report.levels[level].bank;
        entry.overrides = OrderedJson::object();
        others.push_back(setOf(entry));
    }
    report.levels.front().onTrace.emplace();
    Teller teller(progress, "KL on the trace", "positions", static_cast<double>(trace.steps.size()));
    std::vector<LevelKl> sums(others.size());
    PriorsAt at;
    forEachRow(trace, exact.get(), stop,
               [&](compute::Position p, const compute::ContextText& text, const PriorsAt& priors, const auto& stages,
                   const compute::Recipe& recipe) {
                   const auto ofBank = [&](std::size_t m) { return exact->members()[m].bank == input.bank; };
                   report.matched += std::ranges::any_of(priors.matching, ofBank);
                   for (std::size_t i = 0; i < others.size(); ++i) {
                       at.look(others[i].get(), text, p);
                       const compute::OneBitDrift drift =
                           compute::driftBetween<float>(priors.terms, at.terms, recipe.temperature, stages.temperature);
                       add(sums[i].kl, drift.kl);
                       add(sums[i].normBound, drift.normBound);
                       add(sums[i].rangeBound, drift.rangeBound);
                   }
                   ++report.positions;
                   teller.tell(static_cast<double>(report.positions) / static_cast<double>(trace.steps.size()));
               });
    const auto n = static_cast<double>(std::max<std::int64_t>(report.positions, 1));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        for (MeanAndMost* of : {&sums[i].kl, &sums[i].normBound, &sums[i].rangeBound}) of->mean /= n;
        report.levels[i + 1].onTrace = sums[i];
    }
}

}  // namespace

std::vector<PriorOneBit> oneBitOfPriors(const Bank& bank, const compute::IdSpace& ids) {
    const compute::BankBytes exact = compute::bytesOf(bank, ids, true), small = compute::bytesOf(bank, ids, false);
    compute::Contexts contexts;
    std::vector<PriorOneBit> all;
    for (std::size_t i = 0; i < bank.priors.size(); ++i) {
        const Prior& prior = *bank.priors[i];
        const compute::Factor factor = compute::resolve(prior, ids);
        const compute::OneBit bit = compute::oneBit(factor.delta);
        PriorOneBit& one = all.emplace_back();
        one.name = prior.name;
        one.support = factor.delta.size();
        one.unread = static_cast<std::size_t>(
            std::ranges::count(factor.entries, compute::kNoToken, &compute::Became::token));
        for (const double d : factor.delta) {
            one.squares += d * d;
            one.promoted += d > 0;
            (d > 0 ? one.plus : one.minus) += std::abs(d);
        }
        if (one.promoted > 0) one.plus /= static_cast<double>(one.promoted);
        if (one.promoted < one.support) one.minus /= static_cast<double>(one.support - one.promoted);
        one.alpha = bit.alpha;
        one.squaredError = bit.squaredError;
        one.bytes = small.prior[i];
        one.exactBytes = exact.prior[i];
        one.problems = prior.problems;
        one.problems.insert(one.problems.end(), factor.problems.begin(), factor.problems.end());
        const std::string& context = contexts.problem(contexts.add(prior.when, bank.features));
        if (!context.empty()) one.problems.push_back(context);
        one.acts = compute::acts(prior, factor, context);
    }
    return all;
}

namespace {

/// All but the trace; `aligned`: the session that it is measured with.
CompressionInput asked(const Session& session, std::size_t bank, const Trace* trace,
                       std::shared_ptr<const compute::Tokenizer> tokenizer, std::optional<Session>& aligned) {
    CompressionInput input;
    input.entry = session.priors.at(bank);
    input.bank = bank;
    input.tokenizer = trace != nullptr && trace->tokenizer ? trace->tokenizer : std::move(tokenizer);
    input.vocabulary = trace != nullptr && trace->store ? trace->store->vocabulary() : -1;
    if (trace == nullptr || trace->steps.empty())
        input.unmeasured = "KL is measured on a trace, and there is none yet: press Generate.";
    else if (aligned = alignedTo(session, trace->sources); !aligned)
        input.unmeasured = "KL is not measured: the rack has changed since the trace was decoded; generate a new one.";
    else if (!input.entry.enabled || input.entry.weight == 0)
        input.unmeasured = "KL is not measured: the bank is off in this session; switch it on and give it a weight.";
    if (!input.unmeasured.empty()) aligned.reset();
    return input;
}

/// What of the dials KL on stored rows depends on.
Decoding ofRows(const Session& session) {
    Decoding decoding = storedDials(session.decoding);
    decoding.seed = 0;
    decoding.stream = 0;
    return decoding;
}

}  // namespace

CompressionInput compressionInput(const Session& session, std::size_t bank, const Trace* trace,
                                  std::shared_ptr<const compute::Tokenizer> tokenizer) {
    std::optional<Session> aligned;
    CompressionInput input = asked(session, bank, trace, std::move(tokenizer), aligned);
    if (aligned) {
        auto copy = std::make_shared<Trace>(*trace);
        copy->session = *std::move(aligned);
        input.trace = std::move(copy);
    }
    return input;
}

bool isStillOf(const CompressionInput& input, const Session& session, std::size_t bank, const Trace* trace,
               std::shared_ptr<const compute::Tokenizer> tokenizer, const compute::CompressOptions& options) {
    std::optional<Session> aligned;
    CompressionInput now = asked(session, bank, trace, std::move(tokenizer), aligned);
    now.options = options;
    const auto all = [](const CompressionInput& x) {
        return std::tuple(x.options.level, x.options.threshold, x.options.keep, x.vocabulary, x.tokenizer, x.bank,
                          x.unmeasured);
    };
    if (all(input) != all(now) || input.entry != now.entry || (input.trace != nullptr) != aligned.has_value())
        return false;
    if (!aligned) return true;
    const Trace& then = *input.trace;
    return then.id == trace->id && then.steps.size() == trace->steps.size() && then.tokens == trace->tokens &&
           then.store == trace->store && then.session.rule == aligned->rule &&
           ofRows(then.session) == ofRows(*aligned) && then.session.specialists == aligned->specialists &&
           then.session.priors == aligned->priors;
}

std::optional<CompressionReport> compressionReport(const CompressionInput& input,
                                                   const std::function<void(const Progress&)>& progress,
                                                   const std::stop_token& stop) {
    if (!input.entry.content)
        throw compute::Error({.where = "bank '" + input.entry.bank + "'",
                              .what = "it was not read, so there is nothing to compress",
                              .expected = {},
                              .found = {},
                              .advice = {},
                              .details = {}});
    const BankPtr acting = withOverrides(input.entry);
    const compute::IdSpace ids = idsFor(*acting, input.tokenizer.get(), input.vocabulary);
    compute::CompressOptions options = input.options;
    std::optional<Teller> teller;
    int telling = 0;
    options.goOn = [&](int level, double share) {
        if (level != telling)
            teller.emplace(progress, "Level " + std::to_string(level), "priors",
                           static_cast<double>(acting->priors.size()));
        telling = level;
        teller->tell(share);
        return !stop.stop_requested();
    };
    compute::Compressed made = compute::compress(std::span(acting.get(), 1), ids, options);
    if (made.levels.empty()) return std::nullopt;
    CompressionReport report;
    report.name = acting->name;
    report.unmeasured = input.unmeasured;
    report.priors = oneBitOfPriors(*acting, ids);
    double whole = 0;
    for (const PriorOneBit& one : report.priors) whole += one.acts ? one.squares : 0;
    made.before.push_back(std::move(made.bank));
    for (std::size_t level = 0; level < made.levels.size(); ++level) {
        CompressionLevel& one = report.levels.emplace_back();
        one.report = std::move(made.levels[level]);
        one.bank = std::make_shared<const Bank>(std::move(made.before[level]));
        const bool errs = one.report.squaredError != 0;  // NaN at levels 2 and 3
        one.errorShare = errs ? one.report.squaredError / whole : 0;
    }
    if (input.trace) measure(input, report, progress, stop);
    if (stop.stop_requested()) return std::nullopt;
    return report;
}

PlotData levelsPlot(const CompressionReport& report) {
    PlotData plot;
    plot.id = "bank_levels";
    plot.title = "KL against bytes";
    plot.x.title = "Bytes on disk";
    plot.y.title = "Mean KL (nats)";
    plot.empty = report.unmeasured;
    if (!plot.empty.empty()) return plot;
    constexpr std::array kNames{"as it is", "one bit", "merged", "aggregated"};
    std::string counts;
    for (const CompressionLevel& level : report.levels) {
        Series point;
        point.name = kNames.at(static_cast<std::size_t>(level.report.level));
        point.colour = level.report.level;
        point.kind = SeriesKind::Points;
        point.x.push_back(static_cast<double>(level.report.bytes));
        point.y.push_back(level.onTrace->kl.mean);
        plot.series.push_back(std::move(point));
        counts += (counts.empty() ? "" : ", ") + std::to_string(level.report.priors);
    }
    plot.note = "Bank '" + compute::printable(report.name) + "'; priors at each level: " + counts;
    return plot;
}

std::string mergesText(const CompressionReport& report) {
    std::string text;
    for (const CompressionLevel& level : report.levels) {
        const compute::LevelReport& made = level.report;
        if (made.level < 2) continue;
        const std::size_t before = report.levels[static_cast<std::size_t>(made.level - 1)].report.priors;
        text += (text.empty() ? "" : "\n") + std::string("Level ") + std::to_string(made.level) + ": " +
                std::to_string(before) + " priors became " + std::to_string(made.priors) + ".\n";
        if (made.merged.empty()) text += "• Nothing was joined.\n";
        for (std::size_t i = 0; i < std::min(made.merged.size(), kShownMerges); ++i) {
            const auto& names = made.merged[i];
            text += "• Joined: ";
            for (std::size_t n = 0; n < std::min(names.size(), kShownNames); ++n)
                text += (n > 0 ? ", '" : "'") + compute::printable(names[n]) + "'";
            if (names.size() > kShownNames) text += " and " + std::to_string(names.size() - kShownNames) + " more";
            text += ".\n";
        }
        if (made.merged.size() > kShownMerges)
            text += "• " + std::to_string(made.merged.size() - kShownMerges) + " more groups were joined.\n";
        for (const std::string& apart : made.apart) text += "• " + apart + "\n";
    }
    return text;
}

Session withCompressed(Session session, std::size_t bank, BankPtr level, const std::string& file) {
    BankEntry& entry = session.priors.at(bank);
    entry.bank = file;
    entry.content = std::move(level);
    entry.overrides = OrderedJson::object();
    return session;
}

std::string levelFile(const Session& session, std::size_t bank, int level) {
    const std::filesystem::path own = session.priors.at(bank).bank;
    std::string stem = own.filename().string();
    for (const char* end : {".safetensors", ".json", ".bank"})
        if (stem.ends_with(end)) stem.resize(stem.size() - std::string_view(end).size());
    stem += ".level" + std::to_string(level);
    std::set<std::filesystem::path> taken;
    for (const BankEntry& entry : session.priors) taken.insert(session.resolve(entry.bank));
    std::error_code none;
    for (int n = 1;; ++n) {
        std::filesystem::path file = own;
        file.replace_filename(stem + (n > 1 ? "." + std::to_string(n) : "") + ".bank.safetensors");
        const std::filesystem::path resolved = session.resolve(file.string());
        if (!taken.contains(resolved) && !std::filesystem::exists(resolved, none)) return file.string();
    }
}

}  // namespace counterpoint::model
