#include "model/rundumps.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <ranges>

#include "compute/error.h"
#include "compute/files/safetensors.h"
#include "compute/sources/filekind.h"
#include "compute/sources/recording.h"
#include "model/bankrows.h"
#include "model/loadedrack.h"

namespace counterpoint::model {

using compute::Position;
using compute::TokenId;

std::vector<Column> columnsOf(const Trace& trace) {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < trace.sources.size(); ++i)
        if (i >= trace.session.sourceCount() || records(trace.session, i)) columns.push_back({i, trace.sources[i]});
    return columns;
}

bool fed(const Trace& trace, Position position, std::size_t source) {
    return trace.store == nullptr || !trace.store->row(position, source).empty();
}

namespace {

/// Hands over rows of floats one by one: a run may be larger than the memory.
using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// log_prob [T,V]: stage temperature of every row of the trace, composed again from the store.
std::string writeLogProb(const Trace& trace, const std::filesystem::path& file) {
    const compute::TensorToWrite tensor{
        .name = "log_prob",
        .dtype = compute::DType::F32,
        .shape = {static_cast<std::int64_t>(trace.steps.size()), trace.store->vocabulary()},
        .bytes = {},
        .produce = [&](const WriteBytes& write) {
            forEachRow(trace, trace.priors.get(), {},
                       [&](Position, const compute::ContextText&, const PriorsAt&, const compute::Stages<float>& stages,
                           const compute::Recipe&) { write(std::as_bytes(std::span(stages.temperature))); });
        }};
    compute::writeSafetensors(file, {&tensor, 1}, {{"format", "counterpoint.log_prob/1"}});
    return {};
}

/// Rows 1..count of one source at its own temperature 1.
void writeRows(const LogitStore& store, std::size_t source, Position count, float temperature,
               const WriteBytes& write) {
    std::vector<float> scaled;
    for (Position p = 1; p <= count; ++p) {
        const std::span<const float> row = store.row(p, source);
        if (temperature == 1.0f) {
            write(std::as_bytes(row));
            continue;
        }
        scaled.assign(row.begin(), row.end());
        for (float& x : scaled) x *= temperature;
        write(std::as_bytes(std::span(scaled)));
    }
}

/// [L][T][E] of one source, before bias, temperature and noise.
void writeRouterLogits(const LogitStore& store, std::size_t source, Position count, const compute::RouterInfo& routers,
                       const WriteBytes& write) {
    const auto E = static_cast<std::size_t>(routers.experts);
    for (std::size_t l = 0; l < routers.layers.size(); ++l)
        for (Position p = 1; p <= count; ++p)
            write(std::as_bytes(std::span(store.routing(p, source)->logits).subspan(l * E, E)));
}

/// Where the base's tokenizer lies, as the recording names it: from its own folder, where the session's path is
/// relative. A folder or a GGUF file brings its own.
std::string tokenizerPlace(const Session& session, const std::filesystem::path& file) {
    const Session moved = rebased(session, file);
    const std::filesystem::path path = session.resolve(session.base.path);
    if (!std::filesystem::is_regular_file(path)) return moved.base.path;
    const compute::FileKind kind = compute::fileKind(path);
    if (kind == compute::FileKind::Gguf) return moved.base.path;
    if (!moved.base.tokenizer.empty()) return moved.base.tokenizer;
    if (kind == compute::FileKind::TorchScript) {  // it lies beside the file
        const std::string beside = std::filesystem::path(moved.base.path).parent_path().generic_string();
        return beside.empty() ? "." : beside;
    }
    const std::filesystem::path folder = compute::readRecording(path).tokenizer;
    return std::filesystem::path(session.base.path).is_absolute()
               ? folder.string()
               : folder.lexically_relative(moved.file.parent_path()).generic_string();
}

/// Router logits of the sources whose routers are alike, since a recording states one set of layers for all. What is
/// left out, said.
std::string addRouters(const Trace& trace, Position count, const std::filesystem::path& file,
                       std::vector<compute::TensorToWrite>& tensors, std::map<std::string, std::string>& metadata) {
    const LogitStore& store = *trace.store;
    const auto alike = [](const compute::RouterInfo& a, const compute::RouterInfo& b) {
        return a.layers == b.layers && a.chosen == b.chosen && a.normTopkProb == b.normTopkProb;
    };
    const compute::RouterInfo* stated = nullptr;
    std::string leftOut;
    for (const Column& c : columnsOf(trace)) {
        if (c.source >= trace.routers.size() || !trace.routers[c.source] || !fed(trace, count, c.source)) continue;
        const auto leave = [&](const char* why) {
            leftOut.append(leftOut.empty() ? "" : " ").append(file.filename().string());
            leftOut.append(" leaves out the router logits of '").append(c.name).append("', ").append(why);
        };
        const auto routed = [&](Position p) { return store.routing(p, c.source) != nullptr; };
        if (!std::ranges::all_of(std::views::iota(Position{1}, count + 1), routed)) {
            leave("which are not known of every position.");
            continue;
        }
        const compute::RouterInfo& routers = *trace.routers[c.source];
        if (stated != nullptr && !alike(*stated, routers)) {
            leave("since a recording states one set of routed layers for all its sources.");
            continue;
        }
        if (stated == nullptr) {
            stated = &routers;
            std::string layers;
            for (const std::int64_t layer : routers.layers)
                layers.append(layers.empty() ? "" : ",").append(std::to_string(layer));
            metadata["router_layers"] = layers;
            metadata["experts_per_token"] = std::to_string(routers.chosen);
            metadata["norm_topk_prob"] = routers.normTopkProb ? "true" : "false";
        }
        tensors.push_back({.name = "router_logits." + c.name,
                           .dtype = compute::DType::F32,
                           .shape = {static_cast<std::int64_t>(routers.layers.size()), count, routers.experts},
                           .bytes = {},
                           .produce = [&store, source = c.source, count, &routers](const WriteBytes& write) {
                               writeRouterLogits(store, source, count, routers, write);
                           }});
    }
    return leftOut;
}

/// A recording: row t of every source is about token t + 1. Rows are given at the source's own temperature 1.
std::string writeSources(const Trace& trace, const std::filesystem::path& file) {
    const LogitStore& store = *trace.store;
    const Position count = std::min(static_cast<Position>(trace.tokens.size()), store.end() - 1);
    if (store.first() > 1 || count < 1)
        throw compute::Error({.where = file.string(),
                              .what = "a recording needs the rows about every token",
                              .expected = "rows from position 1",
                              .found = "rows from position " + std::to_string(store.first()),
                              .advice = "decode with the dump asked for",
                              .details = {}});
    const std::vector<std::int64_t> tokens(trace.tokens.begin(), trace.tokens.begin() + count);
    std::vector<compute::TensorToWrite> tensors{
        {.name = "tokens", .dtype = compute::DType::I64, .shape = {count}, .bytes = std::as_bytes(std::span(tokens))}};
    std::string leftOut;
    for (const Column& c : columnsOf(trace)) {
        if (!fed(trace, count, c.source)) {
            leftOut.append(leftOut.empty() ? "" : " ").append(file.filename().string());
            leftOut.append(" leaves out source '").append(c.name).append("', whose positions ended before the text.");
            continue;
        }
        const auto temperature = static_cast<float>(trace.session.source(c.source).temperature);
        tensors.push_back({.name = "logits." + c.name,
                           .dtype = compute::DType::F32,
                           .shape = {count, store.vocabulary()},
                           .bytes = {},
                           .produce = [&store, source = c.source, count, temperature](const WriteBytes& write) {
                               writeRows(store, source, count, temperature, write);
                           }});
    }
    std::map<std::string, std::string> metadata{{"format", "counterpoint.recording/1"},
                                                {"base", trace.sources.front()}};
    if (const std::string routers = addRouters(trace, count, file, tensors, metadata); !routers.empty())
        leftOut.append(leftOut.empty() ? "" : " ").append(routers);
    if (trace.tokenizer) metadata["tokenizer"] = tokenizerPlace(trace.session, file);
    compute::writeSafetensors(file, tensors, metadata);
    return leftOut;
}

constexpr std::array kDumps = {Dump{"log_prob", writeLogProb}, Dump{"sources", writeSources}};

}  // namespace

std::span<const Dump> runDumps() { return kDumps; }

}  // namespace counterpoint::model
