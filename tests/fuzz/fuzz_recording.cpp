// A recording: read, opened as a source, and fed its own tokens.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compute/sources/recording.h"
#include "tests/fuzz/fuzz.h"

using namespace counterpoint::compute;
using namespace counterpoint::fuzz;

namespace {

bool sameBits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

std::vector<float> fed(Source& source, std::span<const TokenId> ids, std::int64_t rows) {
    std::vector<float> out(static_cast<std::size_t>(rows * source.info().logitWidth));
    require(source.forward(ids, rows, out, {}) == Outcome::Done, "nobody cancelled");
    return out;
}

/// All rows at once, one by one, after a rewind and from a fork are the same bits; another text is refused.
void checkSource(Source& source) {
    const std::vector<TokenId> tokens(source.recorded().begin(), source.recorded().end());
    const auto T = static_cast<std::int64_t>(tokens.size());
    const auto V = static_cast<std::size_t>(source.info().logitWidth);
    const std::vector<float> all = fed(source, tokens, T);
    require(source.length() == T, "a source is as long as what it was fed");
    require(!accepts([&] { fed(source, std::span(tokens).first(1), 1); }), "a recording ends");
    const std::unique_ptr<Source> fork = source.fork();
    source.rewind(0);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        const auto row = std::span(all).subspan(t * V, V);
        require(sameBits(fed(*fork, std::span(tokens).subspan(t, 1), 1), row), "a row is the same alone");
        const TokenId other = tokens[t] == 0 ? 1 : tokens[t] - 1;
        require(!accepts([&] { fed(source, std::span(&other, 1), 1); }), "another text is refused");
        require(source.length() == static_cast<Position>(t), "a refused text leaves the source as it was");
        fed(source, std::span(tokens).subspan(t, 1), 0);
    }
    source.rewind(static_cast<Position>(T / 2));
    require(
        sameBits(fed(source, std::span(tokens).subspan(static_cast<std::size_t>(T / 2)), 1), std::span(all).last(V)),
        "the last row is the same after a rewind");
}

OpenOptions named(const std::string& source) {
    OpenOptions options;
    options.sourceInFile = source;
    return options;
}

void checkRouting(const Recording& recording, const RecordedSource& source) {
    if (!source.routing) return;
    const RecordedRouting& routing = *source.routing;
    const std::vector<std::int64_t>& shape = routing.logits.shape;
    require(shape.size() == 3 && shape[0] == static_cast<std::int64_t>(routing.layers.size()) &&
                shape[1] == static_cast<std::int64_t>(recording.tokens.size()) && routing.expertsPerToken >= 1 &&
                routing.expertsPerToken <= shape[2],
            "router logits are of the text's length and have enough experts", source.name);
    std::vector<float> logits;
    if (!accepts([&] { logits = readRouterLogits(recording, source); })) return;
    const auto E = static_cast<std::ptrdiff_t>(shape[2]);
    for (auto row = logits.begin(); row != logits.end(); row += E)
        require(std::count_if(row, row + E, [](float x) { return std::isfinite(x); }) >= routing.expertsPerToken &&
                    std::none_of(row, row + E, [](float x) { return std::isnan(x); }),
                "a row of router logits has experts to choose from", source.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::filesystem::path file = folder().put("r.safetensors", asText(data, size));
    accepts([&] {
        const Recording recording = readRecording(file);
        const auto T = static_cast<std::int64_t>(recording.tokens.size());
        require(T > 0 && !recording.sources.empty(), "a recording has a text and a source");
        for (const RecordedSource& entry : recording.sources) {
            require(entry.logits.shape == std::vector{T, recording.width()}, "logits are one row a token", entry.name);
            checkRouting(recording, entry);
            accepts([&] {
                const auto source = openSource(file, named(entry.name), {});
                require(source->info().logitWidth == recording.width(), "a source is as wide as its logits");
                checkSource(*source);
            });
        }
        const std::string gone(file.string().size() + size + 1, 'x');  // longer than any name in the file
        require(!accepts([&] { openSource(file, named(gone), {}); }), "a source that is not there is refused");
    });
    return 0;
}
