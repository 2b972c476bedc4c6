#include "compute/sources/recording.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "compute/error.h"
#include "compute/files/posix.h"
#include "compute/oneline.h"
#include "compute/printable.h"
#include "compute/sources/filekind.h"
#include "compute/sources/stopset.h"
#include "compute/text/gguftokenizer.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "counterpoint.recording/1";
constexpr std::string_view kLogits = "logits.", kRouter = "router_logits.";
constexpr std::int64_t kLastLayer = (std::int64_t{1} << 30) - 1;  ///< of a noise's address (R11)

[[noreturn]] void fail(const fs::path& file, std::string what, std::string expected = {}, std::string found = {}) {
    throw Error({.where = file.string(),
                 .what = std::move(what),
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .advice = "record it again"});
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + "]";
}

bool isFloat(DType dtype) {
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
}

/// The file's metadata, each entry said by its name when it is wrong.
class Metadata {
  public:
    explicit Metadata(const Safetensors& file) : m_file(file.files().front()), m_entries(file.metadata()) {}
    std::string text(const char* key) const {
        const auto found = m_entries.find(key);
        return found == m_entries.end() ? std::string() : found->second;
    }
    std::int64_t whole(const char* key, std::string_view text) const {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value < 0)
            wrong(key, "a whole number from 0", text);
        return value;
    }
    std::vector<std::int64_t> list(const char* key) const {
        std::vector<std::int64_t> numbers;
        const std::string all = text(key);
        for (std::string_view rest = all; !rest.empty();) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            numbers.push_back(whole(key, rest.substr(0, comma)));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
        return numbers;
    }
    bool boolean(const char* key) const {
        const std::string value = text(key);
        if (value != "true" && value != "false") wrong(key, "true or false", value);
        return value == "true";
    }

  private:
    [[noreturn]] void wrong(const char* key, const char* expected, std::string_view found) const {
        fail(m_file, std::string("its metadata entry '") + key + "' cannot be read", expected,
             found.empty() ? "nothing" : "'" + std::string(found) + "'");
    }
    const fs::path& m_file;
    const std::map<std::string, std::string>& m_entries;
};

std::vector<TokenId> tokensOf(const fs::path& file, const Safetensors& tensors) {
    const TensorView* tensor = tensors.find("tokens");
    if (tensor == nullptr) fail(file, "tensor 'tokens' is missing");
    if (tensor->dtype != DType::I64 || tensor->shape.size() != 1 || tensor->shape[0] < 1)
        fail(file, "tensor 'tokens' is not a list of ids", "int64 [T], T of 1 or more",
             std::string(dtypeName(tensor->dtype)) + " " + shapeText(tensor->shape));
    std::vector<std::int64_t> wide(static_cast<std::size_t>(tensor->shape[0]));
    std::memcpy(wide.data(), tensor->bytes.data(), tensor->bytes.size());
    std::vector<TokenId> tokens;
    for (const std::int64_t id : wide) {
        if (id < 0 || id > std::numeric_limits<TokenId>::max())
            fail(file, "tensor 'tokens' holds a number that is no id", {}, std::to_string(id));
        tokens.push_back(static_cast<TokenId>(id));
    }
    return tokens;
}

RecordedRouting routingOf(const fs::path& file, const Metadata& metadata, const TensorView& tensor, std::int64_t T) {
    RecordedRouting routing{tensor, metadata.list("router_layers"),
                            metadata.whole("experts_per_token", metadata.text("experts_per_token")),
                            metadata.boolean("norm_topk_prob")};
    const auto L = static_cast<std::int64_t>(routing.layers.size());
    const std::set<std::int64_t> distinct(routing.layers.begin(), routing.layers.end());
    if (distinct.empty() || distinct.size() < routing.layers.size() || *distinct.rbegin() > kLastLayer)
        fail(file, "its metadata entry 'router_layers' does not name the layers of tensor '" + tensor.name + "'",
             "numbers such as 0,2,4, each once and at most " + std::to_string(kLastLayer),
             L == 0 ? "none" : "'" + metadata.text("router_layers") + "'");
    if (!isFloat(tensor.dtype) || tensor.shape.size() != 3 || tensor.shape[0] != L || tensor.shape[1] != T)
        fail(file, "tensor '" + tensor.name + "' is not one row of router logits for each layer and token",
             "float [" + std::to_string(L) + ", " + std::to_string(T) + ", E], since router_layers names " +
                 std::to_string(L),
             std::string(dtypeName(tensor.dtype)) + " " + shapeText(tensor.shape));
    if (routing.expertsPerToken < 1 || routing.expertsPerToken > tensor.shape[2])
        fail(file, "its metadata entry 'experts_per_token' does not fit tensor '" + tensor.name + "'",
             "1 to " + std::to_string(tensor.shape[2]), std::to_string(routing.expertsPerToken));
    return routing;
}

float fromHalf(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
    // Shifted into a float's place the exponent is 112 too small; the product mends it, also for what is not normal.
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::uint32_t bits =
        magnitude >= 0x7C00u ? 0x7F800000u | (magnitude << 13) : std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>(bits | sign);
}

template <class In, class Convert>
void widen(const std::byte* from, std::size_t n, float* out, const Convert& convert) {
    for (std::size_t i = 0; i < n; ++i) {
        In element;
        std::memcpy(&element, from + i * sizeof(In), sizeof(In));
        out[i] = convert(element);
    }
}

void toFloats(DType dtype, const std::byte* from, std::size_t n, float* out) {
    switch (dtype) {
        case DType::F16:
            return widen<std::uint16_t>(from, n, out, fromHalf);
        case DType::BF16:
            return widen<std::uint16_t>(from, n, out, [](std::uint16_t b) {
                return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
            });
        case DType::F64:
            return widen<double>(from, n, out, [](double x) { return static_cast<float>(x); });
        default:
            std::memcpy(out, from, n * sizeof(float));
    }
}

class RecordingSource : public Source {
  public:
    RecordingSource(std::shared_ptr<const Recording> recording, std::size_t source, SourceInfo info,
                    std::shared_ptr<const Tokenizer> tokenizer)
        : m_recording(std::move(recording)),
          m_source(source),
          m_info(std::move(info)),
          m_tokenizer(std::move(tokenizer)) {}

    const SourceInfo& info() const override { return m_info; }
    std::shared_ptr<const Tokenizer> tokenizer() const override { return m_tokenizer; }
    std::span<const TokenId> recorded() const override { return m_recording->tokens; }
    Position length() const override { return static_cast<Position>(m_length); }
    void rewind(Position length) override { m_length = std::min(m_length, static_cast<std::size_t>(length)); }
    std::unique_ptr<Source> fork() const override {
        return std::make_unique<RecordingSource>(m_recording, m_source, m_info, m_tokenizer);
    }

    std::span<const RoutingRow> routing() const override { return m_routing; }
    void setRouting(const SourceRouting& routing) override {
        if (!m_info.routers) return Source::setRouting(routing);
        if (!asPublished(routing))
            throw Error({.where = m_info.path,
                         .what = "a recording was routed when it was made, and decodes no other way",
                         .expected = "mode deterministic, and no expert off or biased",
                         .advice = "open the model itself; estimates on the recorded router logits need no decode"});
    }

    Outcome forward(std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits,
                    std::stop_token stop) override {
        if (stop.stop_requested()) return Outcome::Cancelled;
        const TensorView& tensor = m_recording->sources[m_source].logits;
        tensor.file->requireUnchanged();
        for (std::size_t i = 0; i < ids.size(); ++i) requireRecorded(m_length + i, ids[i]);
        const auto width = static_cast<std::size_t>(tensor.shape[1]);
        const std::size_t stride = width * dtypeSize(tensor.dtype), last = m_length + ids.size();
        for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
            if (stop.stop_requested()) return Outcome::Cancelled;
            const std::size_t row = last - static_cast<std::size_t>(rows) + r;
            toFloats(tensor.dtype, tensor.bytes.data() + row * stride, width, logits.data() + r * width);
        }
        m_routing.clear();
        for (std::size_t t = m_length; m_info.routers && t < last; ++t) m_routing.push_back(routingOf(t));
        m_length = last;
        return Outcome::Done;
    }

  private:
    /// The recorded router logits of a token, and whom they choose without noise: what chose when they were recorded is
    /// not in the file. Without entries where they choose nobody, a NaN among them or too few experts left.
    RoutingRow routingOf(std::size_t t) const {
        const TensorView& tensor = m_recording->sources[m_source].routing->logits;
        const auto E = static_cast<std::size_t>(tensor.shape[2]), T = static_cast<std::size_t>(tensor.shape[1]);
        const RouterLaw law{.chosen = static_cast<int>(m_info.routers->chosen),
                            .normTopkProb = m_info.routers->normTopkProb,
                            .bias = {}};
        const std::size_t L = m_info.routers->layers.size();
        RoutingRow row{std::vector<float>(L * E), {}, {}};
        RouteMemory memory;
        Routed routed;
        for (std::size_t l = 0; l < L; ++l) {
            const std::span<float> of(row.logits.data() + l * E, E);
            toFloats(tensor.dtype, tensor.bytes.data() + (l * T + t) * E * dtypeSize(tensor.dtype), E, of.data());
            const auto usable = [](float x) { return x < std::numeric_limits<float>::infinity(); };
            const auto left = std::count_if(of.begin(), of.end(), [](float x) { return std::isfinite(x); });
            if (!std::all_of(of.begin(), of.end(), usable) || left < law.chosen) return {};
            route(law, of, {}, {static_cast<std::uint32_t>(l), static_cast<Position>(t)}, memory, routed);
            row.experts.insert(row.experts.end(), routed.experts.begin(), routed.experts.end());
            for (const double w : routed.weights) row.weights.push_back(static_cast<float>(w));
        }
        return row;
    }

    void requireRecorded(std::size_t index, TokenId id) const {
        const std::vector<TokenId>& tokens = m_recording->tokens;
        if (index < tokens.size() && tokens[index] == id) return;
        const auto shown = [&](TokenId token) {
            std::string text = "id " + std::to_string(token);
            if (m_tokenizer && m_tokenizer->isToken(token)) text += " '" + m_tokenizer->piece(token) + "'";
            return text;
        };
        throw Error({.where = m_info.path,
                     .what = index < tokens.size()
                                 ? "a recording answers for its own text only, and this is another one"
                                 : "the recording ends here, and a recording cannot go on",
                     .expected = index < tokens.size() ? shown(tokens[index]) + " as token " + std::to_string(index)
                                                       : "at most " + std::to_string(tokens.size()) + " tokens",
                     .found = index < tokens.size() ? shown(id) : "",
                     .advice = "open the model itself to decode other tokens"});
    }

    std::shared_ptr<const Recording> m_recording;
    std::size_t m_source;
    SourceInfo m_info;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::size_t m_length = 0;
    std::vector<RoutingRow> m_routing;  ///< of the last forward()
};

/// The tokenizer of the session's entry must be there; what only the recording names may have stayed elsewhere. In a
/// folder's place may stand the GGUF file that holds it.
std::shared_ptr<const Tokenizer> tokenizerOf(const Recording& recording, const std::string& given, SourceInfo& info) {
    const fs::path folder = given.empty() ? recording.tokenizer : fs::path(given);
    if (folder.empty()) return nullptr;
    std::error_code error;
    if (given.empty() && !fs::exists(folder, error)) {
        info.notices.push_back("the recording's tokenizer " + folder.string() +
                               (error ? " cannot be read (" + posix::reason(error.value()) + ")" : " is not there") +
                               ", so its tokens are shown as ids");
        return nullptr;
    }
    if (fs::is_regular_file(folder, error) && fileKind(folder) == FileKind::Gguf) {
        const auto gguf = Gguf::open(folder);
        std::shared_ptr<const Tokenizer> tokenizer = openGgufTokenizer(*gguf);
        info.stopIds = ggufStopIds(*gguf, *tokenizer, info.notices);
        return tokenizer;
    }
    std::shared_ptr<const Tokenizer> tokenizer = openTokenizer(folder);
    info.stopIds = statedStopIds(folder, *tokenizer, info.notices);
    return tokenizer;
}

}  // namespace

const RecordedSource* Recording::find(const std::string& name) const {
    const auto found = std::find_if(sources.begin(), sources.end(), [&](const auto& s) { return s.name == name; });
    return found == sources.end() ? nullptr : &*found;
}

bool isRecording(const Safetensors& file) {
    const auto format = file.metadata().find("format");
    return format != file.metadata().end() && format->second.starts_with("counterpoint.recording/");
}

Recording readRecording(const fs::path& path) {
    const Safetensors file = Safetensors::openFile(path);
    const Metadata metadata(file);
    if (metadata.text("format") != kFormat)
        fail(path, isRecording(file) ? "this recording is of another version" : "this is not a recording",
             "the metadata entry format = " + std::string(kFormat),
             metadata.text("format").empty() ? "none" : metadata.text("format"));
    Recording recording;
    recording.file = path;
    recording.tokens = tokensOf(path, file);
    const auto T = static_cast<std::int64_t>(recording.tokens.size());
    for (const auto& [name, tensor] : file.tensors()) {
        if (name.starts_with(kRouter) && file.find(name.substr(kRouter.size() - kLogits.size())) == nullptr)
            fail(path, "tensor '" + name + "' belongs to no source of the recording",
                 "a tensor '" + name.substr(kRouter.size() - kLogits.size()) + "' beside it");
        if (!name.starts_with(kLogits)) continue;
        if (!isOneLine(name))
            fail(path, "the name of tensor '" + name + "' holds a line end or another control character");
        if (!isFloat(tensor.dtype) || tensor.shape.size() != 2 || tensor.shape[0] != T || tensor.shape[1] < 1)
            fail(path, "tensor '" + name + "' is not one row of logits for each token",
                 "float [" + std::to_string(T) + ", V]",
                 std::string(dtypeName(tensor.dtype)) + " " + shapeText(tensor.shape));
        RecordedSource source{name.substr(kLogits.size()), tensor, {}};
        if (const TensorView* router = file.find(std::string(kRouter) + source.name))
            source.routing = routingOf(path, metadata, *router, T);
        recording.sources.push_back(std::move(source));
    }
    const std::string base = metadata.text("base");
    if (base.empty()) fail(path, "the metadata entry 'base' is missing", "the name of a source with logits in it");
    const auto first = std::find_if(recording.sources.begin(), recording.sources.end(),
                                    [&](const auto& source) { return source.name == base; });
    if (first == recording.sources.end())
        fail(path, "its base '" + base + "' has no logits in it", "a tensor '" + std::string(kLogits) + base + "'");
    std::rotate(recording.sources.begin(), first, first + 1);
    for (const RecordedSource& source : recording.sources)
        if (source.logits.shape[1] != recording.width())
            fail(path, "tensor '" + source.logits.name + "' has another width than the base's",
                 std::to_string(recording.width()), std::to_string(source.logits.shape[1]));
    for (const TokenId id : recording.tokens)
        if (id >= recording.width())
            fail(path, "tensor 'tokens' holds an id without a logit", "ids below " + std::to_string(recording.width()),
                 std::to_string(id));
    const std::string folder = metadata.text("tokenizer");
    if (folder.find('\0') != std::string::npos)
        fail(path, "there is a NUL character in the metadata entry tokenizer, which no folder's name can have",
             "a folder", printable(folder));
    if (!folder.empty()) recording.tokenizer = (fs::absolute(path).parent_path() / folder).lexically_normal();
    return recording;
}

std::vector<float> readRouterLogits(const Recording& recording, const RecordedSource& source) {
    const RecordedRouting& routing = source.routing.value();
    const TensorView& tensor = routing.logits;
    tensor.file->requireUnchanged();
    const auto T = static_cast<std::size_t>(tensor.shape[1]), E = static_cast<std::size_t>(tensor.shape[2]);
    std::vector<float> logits(routing.layers.size() * T * E);
    toFloats(tensor.dtype, tensor.bytes.data(), logits.size(), logits.data());
    for (std::size_t row = 0; row < routing.layers.size() * T; ++row) {
        const auto place = [&] {
            return " at layer " + std::to_string(routing.layers[row / T]) + ", position " + std::to_string(row % T);
        };
        std::int64_t left = 0;
        for (std::size_t e = 0; e < E; ++e) {
            const float x = logits[row * E + e];
            if (std::isnan(x) || (std::isinf(x) && x > 0))
                fail(recording.file, "tensor '" + tensor.name + "' holds a router logit that is no number",
                     "a finite number, or -infinity for an expert that is off",
                     (std::isnan(x) ? "NaN" : "+infinity") + place() + ", expert " + std::to_string(e));
            left += !std::isinf(x);
        }
        if (left < routing.expertsPerToken)
            fail(recording.file, "tensor '" + tensor.name + "' leaves too few experts to choose from",
                 std::to_string(routing.expertsPerToken) + " or more above -infinity", std::to_string(left) + place());
    }
    return logits;
}

std::unique_ptr<Source> openRecording(const fs::path& path, const OpenOptions& options) {
    auto recording = std::make_shared<const Recording>(readRecording(path));
    const std::string& name = options.sourceInFile.empty() ? recording->sources.front().name : options.sourceInFile;
    const RecordedSource* source = recording->find(name);
    if (source == nullptr) {
        std::string names;
        for (const RecordedSource& s : recording->sources) names += (names.empty() ? "'" : ", '") + s.name + "'";
        throw Error({.where = path.string(),
                     .what = "the recording has no source '" + name + "'",
                     .expected = names,
                     .advice = "name one of them under \"source\""});
    }
    SourceInfo info;
    info.path = path.string();
    info.kind = "recording";
    info.architecture = "recording of '" + name + "'";
    info.dtype = dtypeName(source->logits.dtype);
    info.device = "cpu";
    info.logitWidth = source->logits.shape[1];
    info.maxPositions = static_cast<Position>(recording->tokens.size());
    if (source->routing)
        info.routers = RouterInfo{.layers = source->routing->layers,
                                  .experts = source->routing->logits.shape[2],
                                  .chosen = source->routing->expertsPerToken,
                                  .normTopkProb = source->routing->normTopkProb};
    std::shared_ptr<const Tokenizer> tokenizer = tokenizerOf(*recording, options.tokenizer, info);
    const auto index = static_cast<std::size_t>(source - recording->sources.data());
    return std::make_unique<RecordingSource>(std::move(recording), index, std::move(info), std::move(tokenizer));
}

}  // namespace counterpoint::compute
