// The run directory of SPEC.md 2. Nothing here depends on threads, locale or the clock but summary.json's own figures.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/sha256.h"
#include "compute/text/utf8stream.h"
#include "model/bankfigures.h"
#include "model/banks.h"
#include "model/diagnostics.h"
#include "model/rundumps.h"
#include "model/runner.h"
#include "model/sourcerouting.h"

namespace counterpoint::model {

using compute::Diagnostics;
using compute::number;
using compute::Position;
using compute::Step;
using compute::TokenId;

namespace {

constexpr std::array kOwnFiles = {"trace.jsonl", "summary.json", "session.json", "log_prob.safetensors",
                                  "sources.safetensors"};

/// What a run that was ended at once leaves of a file it was writing (compute/files/atomicfile).
bool isLeftover(const std::string& name) { return name.starts_with(".counterpoint-") && name.ends_with(".part"); }

/// A float as the shortest decimal that reads back to it.
OrderedJson real(float x) {
    if (!std::isfinite(x)) return number(static_cast<double>(x));
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
    double shortest = 0;
    std::from_chars(text.data(), end, shortest);
    return shortest;
}

std::string winnerName(const Diagnostics& d, const Trace& trace) {
    switch (d.winner) {
        case compute::WinnerKind::Base:
            return "base";
        case compute::WinnerKind::Specialist:
            return trace.sources.at(static_cast<std::size_t>(d.winnerSource));
        case compute::WinnerKind::Several:
            return "several";
        case compute::WinnerKind::Nobody:
            break;
    }
    return "nobody";
}

std::string tokenText(const compute::Tokenizer* tokenizer, TokenId id) {
    if (tokenizer == nullptr) return {};
    const std::string_view bytes = tokenizer->bytes(id);
    return bytes.empty() ? tokenizer->piece(id) : compute::toValidUtf8(bytes);
}

/// R5's scalars under their names in files, one table for rows, means and sums.
struct Scalar {
    const char* key;
    double Diagnostics::*value;
};
constexpr std::array kScalars = {Scalar{"drift_composed", &Diagnostics::driftComposed},
                                 Scalar{"drift_drawn", &Diagnostics::driftDrawn},
                                 Scalar{"kl_from_base", &Diagnostics::klFromBase},
                                 Scalar{"js", &Diagnostics::js},
                                 Scalar{"tv", &Diagnostics::tv},
                                 Scalar{"entropy", &Diagnostics::entropy},
                                 Scalar{"interference", &Diagnostics::interference}};

/// A mixture has no interference: null, as NaN reaches no file (R1).
OrderedJson ifDefined(double value) { return std::isnan(value) ? OrderedJson() : number(value); }

/// Where input position `position` − 1 went, a layer of a source each.
OrderedJson routingJson(const Step& step, const Trace& trace, const std::vector<Column>& columns) {
    OrderedJson list = OrderedJson::array();
    for (const Column& c : columns) {
        if (c.source >= step.routing.size() || c.source >= trace.routers.size() || !trace.routers[c.source]) continue;
        if (step.routing[c.source] == nullptr) continue;
        const compute::RoutingRow& row = *step.routing[c.source];
        const compute::RouterInfo& routers = *trace.routers[c.source];
        const auto K = static_cast<std::ptrdiff_t>(routers.chosen);
        for (std::size_t l = 0; l < routers.layers.size(); ++l) {
            const auto from = static_cast<std::ptrdiff_t>(l) * K;
            OrderedJson weights = OrderedJson::array();
            for (std::ptrdiff_t k = 0; k < K; ++k)
                weights.push_back(real(row.weights[static_cast<std::size_t>(from + k)]));
            list.push_back({{"source", c.name},
                            {"layer", routers.layers[l]},
                            {"experts", std::vector<compute::ExpertId>(row.experts.begin() + from,
                                                                       row.experts.begin() + from + K)},
                            {"weights", std::move(weights)}});
        }
    }
    return list;
}

OrderedJson topJson(const Step& step, const Trace& trace, const std::vector<Column>& columns) {
    OrderedJson list = OrderedJson::array();
    for (const compute::TopToken& t : step.top) {
        OrderedJson logProbs = OrderedJson::object();
        for (const Column& c : columns)
            if (c.source < t.source.size()) logProbs[c.name] = real(t.source[c.source]);
        logProbs["composed"] = real(t.composed);
        logProbs["temperature"] = real(t.temperature);
        list.push_back({{"token", t.token},
                        {"text", tokenText(trace.tokenizer.get(), t.token)},
                        {"kept", t.kept},
                        {"log_probs", std::move(logProbs)}});
    }
    return list;
}

OrderedJson rowJson(const Step& step, const Trace& trace, const std::vector<Column>& columns, std::string text,
                    double driftSum) {
    const Diagnostics& d = step.diagnostics;
    const bool token = step.token != compute::kNoToken;
    OrderedJson logProbs, eos = OrderedJson::object(), activity = OrderedJson::object();
    for (const Column& c : columns) {
        if (!fed(trace, step.position, c.source)) {  // past its own limit, without a say in the text
            if (token) logProbs[c.name] = eos[c.name] = activity[c.name] = OrderedJson();
            continue;
        }
        if (token) logProbs[c.name] = real(step.logProbs.at(c.source));
        if (c.source < d.eos.size()) eos[c.name] = number(d.eos[c.source]);
        if (c.source > 0 && c.source < d.activity.size()) activity[c.name] = number(d.activity[c.source]);
    }
    if (token) logProbs["composed"] = real(step.composedLogProb);
    eos["composed"] = number(d.eosComposed);

    OrderedJson row{{"position", step.position}, {"prompt", step.prompt}};
    row["token"] = token ? OrderedJson(step.token) : OrderedJson();
    row["text"] = token ? OrderedJson(std::move(text)) : OrderedJson();
    row["bytes"] = token ? OrderedJson(compute::base64(step.bytes)) : OrderedJson();
    row["forced"] = step.forced;
    if (step.greedy) row["greedy"] = true;
    row["log_prob"] = token ? real(step.logProb) : OrderedJson();
    row["log_probs"] = std::move(logProbs);
    row["drift"] = number(d.drift);
    row["drift_sum"] = number(driftSum);
    for (const Scalar& s : kScalars) row[s.key] = ifDefined(d.*(s.value));
    row["log_normaliser"] = number(d.logNormaliser);
    row["winner"] = winnerName(d, trace);
    row["eos"] = std::move(eos);
    row["activity"] = std::move(activity);
    row["scale"] = number(d.scale);
    row["no_say"] = d.noSay;
    row["priors"] = OrderedJson::array();
    for (const compute::PriorName& prior : step.matchedPriors) row["priors"].push_back(prior.name);
    row["top"] = topJson(step, trace, columns);
    row["routing"] = routingJson(step, trace, columns);
    return row;
}

OrderedJson summaryJson(const RunResult& result) {
    const Trace& trace = result.trace;
    const auto n = static_cast<double>(trace.steps.size());
    OrderedJson mean = OrderedJson::object(), sum = OrderedJson::object();
    const auto add = [&](const char* key, double Diagnostics::*value) {
        double total = 0;
        for (const StepPtr& s : trace.steps) total += s->diagnostics.*value;
        sum[key] = ifDefined(total);
        mean[key] = trace.steps.empty() ? OrderedJson() : ifDefined(total / n);
    };
    add("drift", &Diagnostics::drift);
    for (const Scalar& s : kScalars) add(s.key, s.value);
    OrderedJson versions = OrderedJson::object(), hashes = OrderedJson::object();
    for (const auto& [name, version] : result.versions) versions[name] = version;
    for (const std::string& name : trace.sources)
        if (const auto found = result.sha256.find(name); found != result.sha256.end()) hashes[name] = found->second;
    return {{"steps", trace.steps.size()},
            {"prompt_ids", std::vector<TokenId>(trace.tokens.begin(), trace.tokens.begin() + trace.promptLength)},
            {"stop", trace.stop},
            {"stop_id", trace.stopId ? OrderedJson(*trace.stopId) : OrderedJson()},
            {"mean", std::move(mean)},
            {"sum", std::move(sum)},
            {"tokens_per_second", number(trace.tokensPerSecond)},
            {"device", result.device},
            {"dtype", result.dtype},
            {"threads", result.threads},
            {"law", lawOf(trace.session)},
            {"versions", std::move(versions)},
            {"sha256", std::move(hashes)}};
}

/// Dumps and figures that would not belong to the new trace; what a person put there stays.
void removeEarlierRun(const std::filesystem::path& directory) {
    std::filesystem::remove(directory / "summary.json");  // written last: without it a run is no whole one
    std::filesystem::remove(directory / "trace.jsonl");
    for (const Dump& dump : runDumps()) std::filesystem::remove(directory / (std::string(dump.name) + ".safetensors"));
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(directory))
        if (isLeftover(entry.path().filename().string())) std::filesystem::remove(entry.path());
    const std::filesystem::path figures = directory / "figures";
    std::error_code kept;
    if (!std::filesystem::is_directory(figures, kept)) return;
    for (const DiagnosticRow& row : diagnostics())
        for (const char* ending : {".pdf", ".svg", ".png", ".csv", ".json"})
            std::filesystem::remove(figures / (std::string(row.id) + ending));
    for (const BankFigureRow& row : bankFigures())
        for (const char* ending : {".pdf", ".svg", ".png", ".csv", ".json"})
            std::filesystem::remove(figures / (std::string(row.id) + ending));
    std::filesystem::remove(figures, kept);
}

}  // namespace

std::string traceJsonl(const Trace& trace) {
    const std::vector<Column> columns = columnsOf(trace);
    compute::Utf8Stream stream;
    std::size_t streamed = 0;
    double driftSum = 0;
    std::string lines;
    for (const StepPtr& step : trace.steps) {
        const auto p = static_cast<std::size_t>(step->position);
        for (; streamed < std::min(p, trace.tokenBytes.size()); ++streamed)
            (void)stream.push(trace.tokenBytes[streamed]);
        std::string text;
        if (streamed == p && p < trace.tokenBytes.size()) {
            text = stream.push(trace.tokenBytes[streamed++]);
            if (streamed == trace.tokenBytes.size()) text += stream.finish();
        }
        driftSum += step->diagnostics.drift;
        lines += rowJson(*step, trace, columns, std::move(text), driftSum).dump() + "\n";
    }
    return lines;
}

void requireRunDirectory(const std::filesystem::path& directory) {
    namespace fs = std::filesystem;
    const auto refuse = [&](const std::string& what, const std::string& advice) {
        throw compute::Error({.where = directory.string(),
                              .what = what,
                              .expected = "a new, an empty or an earlier run's folder",
                              .found = {},
                              .advice = advice,
                              .details = {}});
    };
    std::error_code error;
    if (!fs::exists(directory, error)) return;
    if (!fs::is_directory(directory, error)) refuse("it is not a folder", "give another --out");
    if (fs::exists(directory / "trace.jsonl") && fs::exists(directory / "summary.json") &&
        fs::exists(directory / "session.json"))
        return;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        if (!isLeftover(name) && std::find(kOwnFiles.begin(), kOwnFiles.end(), name) == kOwnFiles.end())
            refuse("it holds other files", "give another --out or empty it");
    }
}

void requireSourcesOutside(const Session& session, const std::filesystem::path& directory) {
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        for (const char* name : kOwnFiles) {
            std::error_code none;  // what is not there is not read from there
            const std::filesystem::path file = directory / name;
            if (std::filesystem::equivalent(session.resolve(session.source(i).path), file, none))
                throw compute::Error(
                    {.where = file.string(),
                     .what = "source '" + session.source(i).name + "' is read from there, and the run would replace it",
                     .expected = {},
                     .found = {},
                     .advice = "give another --out",
                     .details = {}});
        }
}

std::vector<std::string> writeRun(const RunResult& result, const std::filesystem::path& directory,
                                  const std::set<std::string>& dumps, const std::function<void()>& more) {
    requireRunDirectory(directory);
    requireSourcesOutside(result.trace.session, directory);
    std::filesystem::create_directories(directory);
    removeEarlierRun(directory);
    const Trace& trace = result.trace;
    writeSession(trace.session, directory / "session.json");
    compute::writeFile(directory / "trace.jsonl", traceJsonl(trace));
    std::vector<std::string> leftOut;
    for (const Dump& dump : runDumps()) {
        if (!dumps.contains(dump.name)) continue;
        const std::string file = std::string(dump.name) + ".safetensors";
        if (trace.store == nullptr || trace.store->end() == 0)
            leftOut.push_back(file + " is left out: no row was decoded.");
        else if (std::string sentence = dump.write(trace, directory / file); !sentence.empty())
            leftOut.push_back(std::move(sentence));
    }
    if (more) more();
    compute::writeFile(directory / "summary.json", summaryJson(result).dump(2) + "\n");
    return leftOut;
}

}  // namespace counterpoint::model
