#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "model/runner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace counterpoint::model {

using compute::Position;

namespace {

constexpr double kSameDevice = 1e-4, kOtherDevice = 5e-3;

struct StoredRow {
    Position position = 0;
    std::optional<compute::TokenId> token;
    double composed = 0;
};

StoredRow storedRow(std::string_view line, const std::string& where) {
    const OrderedJson json = compute::parseOrderedJson(line, where);
    try {
        StoredRow row;
        row.position = json.at("position").get<Position>();
        if (!json.at("token").is_null()) {
            row.token = json.at("token").get<compute::TokenId>();
            row.composed = compute::toNumber(json.at("log_probs").at("composed"), where);
        }
        return row;
    } catch (const OrderedJson::exception& e) {
        throw compute::Error({.where = where, .what = "this is not a row of a trace", .expected = "position, token and log_probs.composed",
                              .found = {}, .advice = {}, .details = e.what()});
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

ReplayVerdict diverged(Position position, double gap, const std::string& how) {
    return {ReplayVerdict::Kind::Diverged, position, gap, "Diverged at position " + std::to_string(position) + ": " + how + "."};
}

}  // namespace

ReplayVerdict replay(const std::filesystem::path& directory, const RunOptions& options) {
    std::vector<std::string> warnings;
    const Session session = readSession(directory / "session.json", warnings);
    const OrderedJson summary = compute::readOrderedJson(directory / "summary.json");
    const std::string stored = compute::readFile(directory / "trace.jsonl", std::uint64_t{4} << 30);
    const std::vector<std::string_view> then = linesOf(stored);

    const RunResult result = runSession(session, options);
    // A run that ended in an error may end in it again; any other must not.
    if (result.failure && summary.value("stop", std::string()) != "error") raise(*result.failure);
    const std::string text = traceJsonl(result.trace);
    const std::vector<std::string_view> now = linesOf(text);

    const OrderedJson prompt(std::vector<compute::TokenId>(result.trace.tokens.begin(), result.trace.tokens.begin() + result.trace.promptLength));
    if (const auto storedPrompt = summary.find("prompt_ids"); storedPrompt != summary.end() && *storedPrompt != prompt) {
        std::size_t i = 0;
        while (i < std::min(prompt.size(), storedPrompt->size()) && prompt[i] == (*storedPrompt)[i]) ++i;
        return diverged(static_cast<Position>(i), 0, "the prompt's tokens differ");
    }
    ReplayVerdict verdict;
    const bool sameDevice = summary.value("device", std::string()) == result.device;
    const double tolerance = sameDevice ? kSameDevice : kOtherDevice;
    bool identical = then.size() == now.size();
    for (std::size_t i = 0; i < std::max(then.size(), now.size()); ++i) {
        const auto where = [&] { return (directory / "trace.jsonl").string() + ", line " + std::to_string(i + 1); };
        if (i >= now.size()) return diverged(storedRow(then[i], where()).position, verdict.gap, "the text now ends before it");
        if (i >= then.size()) return diverged(storedRow(now[i], "replay").position, verdict.gap, "the stored text ends before it");
        if (then[i] == now[i]) continue;
        identical = false;
        const StoredRow a = storedRow(then[i], where());
        const StoredRow b = storedRow(now[i], "replay");
        const double gap = gapOf(a.composed, b.composed);
        verdict.gap = std::max(verdict.gap, gap);
        if (a.position != b.position || a.token != b.token)
            return diverged(b.position, verdict.gap, "another token stands there");
        if (gap > tolerance)
            return diverged(b.position, gap,
                            "log p of the token differs by " + shortNumber(gap) + " nats, more than " + shortNumber(tolerance));
    }
    if (identical) {
        verdict.sentence = "Identical: the same tokens and the same bits in " + std::to_string(now.size()) + " rows.";
    } else {
        verdict.kind = ReplayVerdict::Kind::WithinTolerance;
        verdict.sentence = "Within tolerance: the same tokens; log p differs by at most " + shortNumber(verdict.gap) + " nats (allowed " +
                           shortNumber(tolerance) + (sameDevice ? ", same device)." : ", another device).");
    }
    return verdict;
}

}  // namespace counterpoint::model
