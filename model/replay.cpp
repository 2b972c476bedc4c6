#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/printable.h"
#include "model/runner.h"

namespace counterpoint::model {

using compute::Position;

namespace {

constexpr double kSameDevice = 1e-4, kOtherDevice = 5e-3;

struct StoredRow {
    Position position = 0;
    std::optional<compute::TokenId> token;
    double composed = 0;
    OrderedJson json;
};

/// A run directory as it stands.
struct StoredRun {
    Session session;
    OrderedJson summary;
    std::string file, trace;
    std::vector<std::string_view> lines;  ///< of `trace`

    /// What summary.json says under `key`; empty when it says nothing.
    std::string text(const char* key) const {
        const auto found = summary.find(key);
        return found != summary.end() && found->is_string() ? found->get<std::string>() : std::string();
    }
    /// Of a source's weights, as summary.json says; empty when it says nothing.
    std::string sha256(const std::string& source) const {
        const auto all = summary.find("sha256");
        if (all == summary.end() || !all->is_object() || !all->contains(source)) return {};
        const OrderedJson& hash = all->at(source);
        return hash.is_string() ? hash.get<std::string>() : hash.dump();
    }
    /// It ended before its own end: its last row is no verdict on what would have come.
    bool cut() const { return text("stop") == "user" || text("stop") == "error"; }
};

StoredRow rowOf(OrderedJson json, const std::string& where) {
    try {
        StoredRow row;
        row.position = json.at("position").get<Position>();
        if (!json.at("token").is_null()) {
            row.token = json.at("token").get<compute::TokenId>();
            row.composed = compute::toNumber(json.at("log_probs").at("composed"), where);
        }
        row.json = std::move(json);
        return row;
    } catch (const OrderedJson::exception& e) {
        throw compute::Error({.where = where, .what = "this is not a row of a trace", .expected = "position, token and log_probs.composed",
                              .found = {}, .advice = {}, .details = e.what()});
    }
}

StoredRow rowAt(const std::vector<std::string_view>& lines, std::size_t i, const std::string& file) {
    const std::string where = file + ", line " + std::to_string(i + 1);
    try {
        return rowOf(compute::parseOrderedJson(lines[i], where), where);
    } catch (const compute::Error& error) {  // the parser counts from the line it was given
        compute::ErrorParts parts = error.parts();
        parts.where = where;
        throw compute::Error(std::move(parts));
    }
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0) lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

StoredRun readRun(const std::filesystem::path& directory) {
    StoredRun run;
    std::vector<std::string> warnings;
    run.session = readSession(directory / "session.json", warnings);
    run.summary = compute::readOrderedJson(directory / "summary.json");
    run.file = (directory / "trace.jsonl").string();
    run.trace = compute::readFile(directory / "trace.jsonl", std::uint64_t{4} << 30);
    run.lines = linesOf(run.trace);
    return run;
}

std::string shortNumber(double x) {
    std::array<char, 32> buffer{};
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::general, 3).ptr};
}

/// |a − b|, 0 where both are the same infinity.
double gapOf(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    const double gap = std::abs(a - b);
    return std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
}

/// "log_probs.math", "top 3.token": the first key in which `then` is not `now`; empty where they are equal.
std::string firstDifference(const OrderedJson& then, const OrderedJson& now, const std::string& key) {
    if (then == now) return {};
    const std::string inside = key.empty() ? key : key + ".";
    if (then.is_object() && now.is_object()) {
        for (const auto& [name, value] : now.items()) {
            const auto found = then.find(name);
            if (found == then.end()) return inside + name;
            if (const std::string inner = firstDifference(*found, value, inside + name); !inner.empty()) return inner;
        }
        for (const auto& [name, value] : then.items())
            if (!now.contains(name)) return inside + name;
    }
    if (then.is_array() && now.is_array() && then.size() == now.size())
        for (std::size_t i = 0; i < now.size(); ++i) {
            const std::string entry = key + " " + std::to_string(i + 1);
            if (const std::string inner = firstDifference(then[i], now[i], entry); !inner.empty()) return inner;
        }
    return key;
}

/// The options of a replay: where nothing was asked for, as the run was decoded. Says what cannot be as it was.
RunOptions asDecoded(const StoredRun& run, RunOptions options, std::string& remarks) {
    if (options.dtype.empty() && run.text("dtype").find(',') == std::string::npos) options.dtype = run.text("dtype");
    if (const std::string device = run.text("device"); options.device.empty() && !device.empty() && device != "cpu") {
        const std::vector<compute::DeviceInfo> here = compute::devices();
        if (std::any_of(here.begin(), here.end(), [&](const compute::DeviceInfo& d) { return d.id == device; }))
            options.device = device;
        else
            remarks += "The run was decoded on " + device + ", which is not here: the processor is used. ";
    }
    return options;
}

/// The session up to the stored rows: what a run that was cut would have gone on to is not decoded.
Session asFarAsStored(const StoredRun& run) {
    Session session = run.session;
    if (!run.cut()) return session;
    std::int64_t drawn = 0;
    for (std::size_t i = 0; i < run.lines.size(); ++i) {
        const StoredRow row = rowAt(run.lines, i, run.file);
        const auto prompt = row.json.find("prompt");
        drawn += row.token && (prompt == row.json.end() || *prompt != true) ? 1 : 0;
    }
    session.decoding.maxNewTokens = drawn;
    return session;
}

/// Weights that are no longer those the run was decoded with.
std::string changedWeights(const StoredRun& run, const RunResult& result) {
    std::string sentences;
    for (std::size_t i = 0; i < run.session.sourceCount(); ++i) {
        const SourceEntry& source = run.session.source(i);
        const auto now = result.sha256.find(source.name);
        if (now == result.sha256.end()) continue;
        // session.json and summary.json both hold it; one of them may have been changed.
        const std::string then =
            now->second == source.sha256 || source.sha256.empty() ? run.sha256(source.name) : source.sha256;
        if (then.empty() || then == now->second) continue;
        sentences += "The weights of source '" + source.name + "' in " + run.session.resolve(source.path).string() +
                     " are not those of the run (SHA-256 " + now->second.substr(0, 12) + " instead of " +
                     compute::shortened(compute::printable(then.substr(0, 12))) + "). ";
    }
    return sentences;
}

/// A dtype that is not the run's: a recording is what it is, whatever summary.json says.
std::string changedDtype(const StoredRun& run, const RunOptions& asked, const RunResult& result) {
    const std::string then = run.text("dtype");
    if (!asked.dtype.empty() || then.empty() || then == result.dtype) return {};
    return "The run was decoded in dtype '" + compute::shortened(compute::printable(then)) +
           "' as summary.json says, and its sources are in " + result.dtype + ". ";
}

ReplayVerdict diverged(Position position, double gap, const std::string& how) {
    return {ReplayVerdict::Kind::Diverged, position, gap, "Diverged at position " + std::to_string(position) + ": " + how + "."};
}

ReplayVerdict compare(const StoredRun& run, const RunResult& result) {
    const std::string text = traceJsonl(result.trace);
    const std::vector<std::string_view>& then = run.lines;
    std::vector<std::string_view> now = linesOf(text);
    if (run.cut()) now.resize(std::min(now.size(), then.size()));  // a prompt that was being read is read to its end

    const OrderedJson prompt(std::vector<compute::TokenId>(result.trace.tokens.begin(), result.trace.tokens.begin() + result.trace.promptLength));
    if (const auto stored = run.summary.find("prompt_ids"); stored != run.summary.end() && *stored != prompt) {
        std::size_t i = 0;
        while (stored->is_array() && i < std::min(prompt.size(), stored->size()) && prompt[i] == (*stored)[i]) ++i;
        return diverged(static_cast<Position>(i), 0, "the prompt's tokens differ");
    }
    ReplayVerdict verdict;
    const bool sameDevice = run.text("device") == result.device;
    const double tolerance = sameDevice ? kSameDevice : kOtherDevice;
    std::string first;  // what is stored otherwise
    for (std::size_t i = 0; i < std::max(then.size(), now.size()); ++i) {
        if (i >= now.size()) return diverged(rowAt(then, i, run.file).position, verdict.gap, "the text now ends before it");
        if (i >= then.size()) return diverged(rowAt(now, i, "replay").position, verdict.gap, "the stored text ends before it");
        if (then[i] == now[i]) continue;
        const StoredRow a = rowAt(then, i, run.file);
        const StoredRow b = rowAt(now, i, "replay");
        const std::string key = firstDifference(a.json, b.json, {});
        if (key.empty()) continue;
        const double gap = gapOf(a.composed, b.composed);
        verdict.gap = std::max(verdict.gap, gap);
        if (a.position != b.position || a.token != b.token)
            return diverged(b.position, verdict.gap, "another token stands there");
        if (gap > tolerance)
            return diverged(b.position, gap,
                            "log p of the token differs by " + shortNumber(gap) + " nats, more than " + shortNumber(tolerance));
        if (first.empty()) first = "'" + key + "' at position " + std::to_string(b.position);
    }
    const std::string reach = !run.cut()                    ? ""
                              : run.text("stop") == "error" ? " up to where the run failed"
                                                            : " up to where the run was stopped";
    if (first.empty()) {
        verdict.sentence = "Identical" + reach + ": the same tokens and the same bits in " + std::to_string(now.size()) + " rows.";
    } else {
        verdict.kind = ReplayVerdict::Kind::WithinTolerance;
        const std::string logProbs = verdict.gap == 0
                                         ? " with the same log p"
                                         : "; log p of them differs by at most " + shortNumber(verdict.gap) + " nats (allowed " +
                                               shortNumber(tolerance) + (sameDevice ? ", same device)" : ", another device)");
        verdict.sentence = "Within tolerance" + reach + ": the same tokens" + logProbs + ", and the first stored value that differs is " + first + ".";
    }
    return verdict;
}

}  // namespace

ReplayVerdict replay(const std::filesystem::path& directory, const RunOptions& options) {
    const StoredRun run = readRun(directory);
    if (run.cut() && run.lines.empty())
        throw compute::Error({.where = directory.string(),
                              .what = "there is nothing to compare, since the run ended before its first row",
                              .expected = {},
                              .found = {},
                              .advice = "run the session again",
                              .details = {}});
    std::string remarks;
    const RunResult result = runSession(asFarAsStored(run), asDecoded(run, options, remarks));
    // A run that ended in an error may end in it again; any other must not.
    if (result.failure && run.text("stop") != "error") raise(*result.failure, run.session);
    ReplayVerdict verdict = compare(run, result);
    verdict.sentence = changedWeights(run, result) + changedDtype(run, options, result) + remarks + verdict.sentence;
    return verdict;
}

}  // namespace counterpoint::model
