#include "compute/network/checkpoint.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <set>
#include <tuple>

#include "compute/network/convert.h"

namespace counterpoint::network {
namespace {

using compute::DType;
using compute::Error;
using compute::TensorView;

std::optional<WeightType> usable(DType dtype) {
    switch (dtype) {
        case DType::F32:
            return WeightType::Float32;
        case DType::BF16:
            return WeightType::BFloat16;
        case DType::F16:
            return WeightType::Float16;
        default:
            return {};
    }
}

std::string shown(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
    return text + "]";
}

/// Its first "{}" as that number.
std::string numbered(std::string_view pattern, std::int64_t number) {
    std::string name(pattern);
    name.replace(name.find("{}"), 2, std::to_string(number));
    return name;
}

/// Reads tensors by name and keeps the account of what was used and converted.
class Loader {
  public:
    Loader(const Origin& origin, const TensorTable& tensors, const Architecture& architecture, const std::string& dtype)
        : m_origin(origin),
          m_tensors(tensors),
          m_architecture(architecture),
          m_asked(weightType(dtype, origin.path.string())) {
        const std::string norm = std::string(architecture.names.norm) + ".weight";
        m_bare = find(norm) == nullptr && find(norm.substr(architecture.prefix.size())) != nullptr;
    }

    /// nullptr when absent or written as an empty entry.
    const TensorView* find(const std::string& name) const {
        const auto tensor = m_tensors.find(inFile(name));
        return tensor == m_tensors.end() || tensor->second.bytes.empty() ? nullptr : &tensor->second;
    }

    const TensorView& require(const std::string& name, const std::vector<std::int64_t>& shape,
                              const std::string& advice = {}) {
        const TensorView* tensor = find(name);
        if (tensor == nullptr)
            throw Error(
                {.where = (m_origin.index.empty() ? m_origin.path : m_origin.index).string(),
                 .what = "tensor '" + told(name) +
                         (m_origin.index.empty() ? "' is missing" : "' is missing, this index does not list it"),
                 .expected = "a tensor of shape " + shown(shape),
                 .found = {},
                 .advice = advice.empty() ? m_origin.advice : advice,
                 .details = {}});
        if (tensor->shape != shape)
            throw Error({.where = tensor->file->path().string(),
                         .what = "tensor '" + tensor->name + "' has another shape than the configuration says",
                         .expected = shown(shape),
                         .found = shown(tensor->shape),
                         .advice = {},
                         .details = {}});
        if (!usable(tensor->dtype))
            throw Error({.where = tensor->file->path().string(),
                         .what = "the dtype of tensor '" + tensor->name + "' is not supported for weights",
                         .expected = "float32, bfloat16 or float16",
                         .found = std::string(compute::dtypeName(tensor->dtype)),
                         .advice = {},
                         .details = {}});
        m_used.insert(inFile(name));
        return *tensor;
    }

    Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t columns, bool transposed = false,
                  const std::string& advice = {}) {
        const TensorView& tensor =
            transposed ? require(name, {columns, rows}, advice) : require(name, {rows, columns}, advice);
        const WeightType stored = *usable(tensor.dtype), type = m_asked.value_or(stored);
        Matrix m{tensor.bytes.data(), type, rows, columns, tensor.file, transposed};
        const bool aligned = reinterpret_cast<std::uintptr_t>(m.data) % static_cast<std::size_t>(typeSize(stored)) == 0;
        if (type != stored || !aligned) m.owner = copy(tensor, stored, type);
        if (m.owner.get() != tensor.file.get()) m.data = m.owner.get();
        account(rows * columns, type);
        if (std::ranges::find(m_types, type) == m_types.end()) m_types.push_back(type);
        return m;
    }

    std::vector<float> vector(const std::string& name, std::int64_t n) {
        const TensorView& tensor = require(name, {n});
        std::vector<float> values(static_cast<std::size_t>(n));
        convert(tensor.bytes.data(), *usable(tensor.dtype), n, WeightType::Float32, values.data());
        account(n, WeightType::Float32);
        return values;
    }

    Linear linear(const std::string& name, std::int64_t rows, std::int64_t columns, bool bias) {
        Linear l{matrix(name + ".weight", rows, columns, m_architecture.transposed), {}};
        if (bias) l.bias = vector(name + ".bias", rows);
        return l;
    }

    /// Without a name: an empty one.
    Norm norm(const std::string& name, std::int64_t n, const Shape& shape) {
        Norm result;
        if (name.empty()) return result;
        result.weight = vector(name + ".weight", n);
        if (shape.normPlusOne)
            for (float& w : result.weight) w += 1.0f;
        if (shape.norm == NormKind::Layer) result.bias = vector(name + ".bias", n);
        return result;
    }

    void alsoUsed(const std::string& name) { m_used.insert(inFile(name)); }

    void finish(Checkpoint& result) const {
        result.parameters = m_parameters;
        result.bytes = m_bytes;
        result.types = m_types;
        if (m_converted > 0)
            result.notices.push_back(std::to_string(m_converted) + " matrices were converted to " +
                                     std::string(typeName(*m_asked)) + " (the files hold " + m_convertedFrom + ")");
        std::set<std::string> computedWith;
        for (const std::string& used : m_used) computedWith.insert(used.substr(0, used.rfind('.')));
        std::vector<std::string> unused;
        for (const auto& [name, tensor] : m_tensors) {
            if (m_used.contains(name) || isConstant(name)) continue;
            if (!standsApart(name, result.weights.shape.layers, computedWith))
                throw Error({.where = tensor.file->path().string(),
                             .what = "tensor '" + tensor.name +
                                     "' would change what the model computes, and this architecture, as it is "
                                     "configured, has no such tensor",
                             .expected = {},
                             .found = {},
                             .advice = "the weights are of another model or in need of another program",
                             .details = {}});
            unused.push_back(tensor.name);
        }
        if (!unused.empty())
            result.notices.push_back("not used, since this architecture has no such tensor: " + unused.front() +
                                     (unused.size() > 1 ? " and " + std::to_string(unused.size() - 1) + " more" : ""));
    }

  private:
    /// A file saved without the head has the names of the inner model.
    std::string inFile(const std::string& name) const {
        const std::string_view prefix = m_architecture.prefix;
        return m_bare && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    }

    /// What is missing, as the file would call it.
    std::string told(const std::string& name) const {
        const std::size_t dot = name.rfind('.');
        const auto other = m_origin.names.find(name.substr(0, dot));
        return other == m_origin.names.end() ? name : other->second + name.substr(dot);
    }

    bool isConstant(const std::string& name) const {
        const auto ends = [&](std::string_view ending) { return !ending.empty() && name.ends_with(ending); };
        return ends("rotary_emb.inv_freq") || std::ranges::any_of(m_architecture.names.masks, ends);
    }

    /// Of a part beside the language model (a tower of its own, layers beyond the last), and not of what is computed.
    bool standsApart(const std::string& name, std::int64_t layers, const std::set<std::string>& computedWith) const {
        const std::string_view prefix = m_architecture.prefix, pattern = m_architecture.names.attentionNorm;
        for (const std::string_view stem : {std::string_view("blk."), pattern.substr(0, pattern.find('{')),
                                            pattern.substr(0, pattern.find('{')).substr(prefix.size())})
            if (name.starts_with(stem)) return std::strtoll(name.c_str() + stem.size(), nullptr, 10) >= layers;
        for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
            if (computedWith.contains(name.substr(0, dot)))
                return false;  // something of a tensor that is computed with
        const bool isModels = m_bare || !m_origin.names.empty() || name.starts_with(prefix);
        if (!isModels) return true;
        const std::string_view inner = std::string_view(name).substr(name.starts_with(prefix) ? prefix.size() : 0);
        return std::ranges::count(inner, '.') > 1;
    }

    std::shared_ptr<const void> copy(const TensorView& tensor, WeightType stored, WeightType type) {
        const std::int64_t n = static_cast<std::int64_t>(tensor.bytes.size()) / typeSize(stored);
        const std::size_t bytes = (static_cast<std::size_t>(n * typeSize(type)) + 63) / 64 * 64;
        const std::shared_ptr<void> memory(std::aligned_alloc(64, bytes), std::free);
        if (memory == nullptr) throw std::bad_alloc();
        const std::int64_t overflowed = convert(tensor.bytes.data(), stored, n, type, memory.get());
        if (overflowed > 0)
            throw Error({.where = tensor.file->path().string(),
                         .what = "tensor '" + tensor.name + "' does not fit float16",
                         .expected = "values up to 65504",
                         .found = std::to_string(overflowed) + " larger ones",
                         .advice = "use bfloat16 or float32",
                         .details = {}});
        if (type != stored) {
            ++m_converted;
            m_convertedFrom = typeName(stored);
        }
        return memory;
    }

    void account(std::int64_t n, WeightType type) {
        m_parameters += n;
        m_bytes += n * typeSize(type);
    }

    const Origin& m_origin;
    const TensorTable& m_tensors;
    const Architecture& m_architecture;
    std::optional<WeightType> m_asked;
    bool m_bare = false;
    std::set<std::string> m_used;
    std::int64_t m_parameters = 0, m_bytes = 0, m_converted = 0;
    std::string m_convertedFrom;
    std::vector<WeightType> m_types;
};

bool sameBytes(const TensorView& a, const TensorView& b) {
    return a.dtype == b.dtype && a.bytes.size() == b.bytes.size() &&
           std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
}

/// HAZARDS A9: tied by the flag: whichever is there; both and different: the embedding, said. Not tied: both are
/// needed.
void loadEnds(Loader& from, const TensorNames& names, Checkpoint& result) {
    Weights& w = result.weights;
    const std::int64_t V = w.shape.vocabulary, C = w.shape.hidden;
    const std::string embedding(names.embedding), newer(names.newerHead);
    const std::string head = !newer.empty() && from.find(newer) != nullptr ? newer : std::string(names.head);
    if (!names.positions.empty()) w.positions = from.matrix(std::string(names.positions), w.shape.maxPositions, C);
    if (!w.shape.tiedHead) {
        const std::string advice =
            "if the model shares its embedding with its head, config.json must say \"tie_word_embeddings\": true";
        w.embedding = from.matrix(embedding, V, C, false, advice);
        w.head = from.matrix(head, V, C, false, advice);
        return;
    }
    const TensorView *first = from.find(embedding), *second = from.find(head);
    const bool onlyHead = first == nullptr && second != nullptr;
    w.embedding = w.head = from.matrix(onlyHead ? head : embedding, V, C);
    from.alsoUsed(head);
    if (onlyHead)
        result.notices.push_back("tied: the file has " + head + " only, and it is the embedding too");
    else if (second != nullptr && !sameBytes(*first, *second))
        result.notices.push_back("tied by config.json, but " + head + " differs from " + embedding + ": " + embedding +
                                 " is used for both");
}

/// The upper and lower rows of a matrix that holds two.
std::pair<Linear, Linear> halves(const Linear& both) {
    const Matrix& m = both.weight;
    std::pair<Linear, Linear> parts;
    Matrix &upper = parts.first.weight, &lower = parts.second.weight;
    upper = lower = m;
    upper.rows = lower.rows = m.rows / 2;
    lower.data = static_cast<const std::byte*>(m.data) + upper.rows * m.columns * typeSize(m.type);
    return parts;
}

/// The router, its experts and the shared one, as they lie in the files.
void loadMixture(Loader& from, const TensorNames& names, const Shape& s, std::int64_t i, Layer& l) {
    const Mixture& m = s.mixture;
    const auto named = [i](std::string_view pattern) { return numbered(pattern, i) + ".weight"; };
    l.router = from.matrix(named(names.router), m.experts, s.hidden);
    for (std::int64_t e = 0; e < m.experts; ++e) {
        const auto ofExpert = [&](std::string_view pattern) { return numbered(named(pattern), e); };
        l.experts.push_back({.gate = from.matrix(ofExpert(names.expertGate), m.width, s.hidden),
                             .up = from.matrix(ofExpert(names.expertUp), m.width, s.hidden),
                             .down = from.matrix(ofExpert(names.expertDown), s.hidden, m.width)});
    }
    if (m.sharedWidth == 0) return;
    l.shared = {.gate = from.matrix(named(names.sharedGate), m.sharedWidth, s.hidden),
                .up = from.matrix(named(names.sharedUp), m.sharedWidth, s.hidden),
                .down = from.matrix(named(names.sharedDown), s.hidden, m.sharedWidth)};
    l.sharedGate = from.matrix(named(names.sharedScale), 1, s.hidden);
}

void loadDense(Loader& from, const TensorNames& names, const Shape& s, std::int64_t i, Layer& l) {
    if (names.up.empty())
        std::tie(l.gate, l.up) = halves(from.linear(numbered(names.gate, i), 2 * s.intermediate, s.hidden, false));
    else if (!names.gate.empty())
        l.gate = from.linear(numbered(names.gate, i), s.intermediate, s.hidden, s.mlpBias);
    if (!names.up.empty()) l.up = from.linear(numbered(names.up, i), s.intermediate, s.hidden, s.mlpBias);
    l.down = from.linear(numbered(names.down, i), s.hidden, s.intermediate, s.mlpBias);
}

Layer loadLayer(Loader& from, const TensorNames& names, const Shape& s, std::int64_t i) {
    const std::int64_t HD = s.heads * s.headDim, GD = s.keyValueHeads * s.headDim;
    const auto named = [i](std::string_view pattern) { return pattern.empty() ? "" : numbered(pattern, i); };
    const auto norm = [&](std::string_view pattern, std::int64_t n) { return from.norm(named(pattern), n, s); };
    Layer l;
    l.attentionNorm = norm(names.attentionNorm, s.hidden);
    l.query = from.linear(named(names.query), s.fused == Fused::No ? HD : HD + 2 * GD, s.hidden, s.queryKeyValueBias);
    if (s.fused == Fused::No) {
        l.key = from.linear(named(names.key), GD, s.hidden, s.queryKeyValueBias);
        l.value = from.linear(named(names.value), GD, s.hidden, s.queryKeyValueBias);
    }
    l.queryNorm = norm(names.queryNorm, s.headNormsAsOne ? HD : s.headDim);
    l.keyNorm = norm(names.keyNorm, s.headNormsAsOne ? GD : s.headDim);
    l.output = from.linear(named(names.output), s.hidden, HD, s.outputBias);
    l.attentionPostNorm = norm(names.attentionPostNorm, s.hidden);
    l.mlpNorm = norm(names.mlpNorm, s.hidden);
    if (s.kinds[static_cast<std::size_t>(i)].routed)
        loadMixture(from, names, s, i, l);
    else
        loadDense(from, names, s, i, l);
    l.mlpPostNorm = norm(names.mlpPostNorm, s.hidden);
    return l;
}

}  // namespace

std::optional<Checkpoint> loadCheckpoint(const Origin& origin, const TensorTable& tensors, const Config& config,
                                         const std::string& dtype,
                                         const std::function<void(double, std::string_view)>& progress,
                                         const std::stop_token& stop) {
    Loader from(origin, tensors, *config.architecture, dtype);
    const TensorNames& names = config.architecture->names;
    Checkpoint result;
    result.weights.shape = config.shape;
    loadEnds(from, names, result);
    for (std::int64_t i = 0; i < config.shape.layers; ++i) {
        if (stop.stop_requested()) return {};
        if (progress) progress(static_cast<double>(i) / static_cast<double>(config.shape.layers), "reading weights");
        result.weights.layers.push_back(loadLayer(from, names, config.shape, i));
    }
    result.weights.norm = from.norm(std::string(names.norm), config.shape.hidden, config.shape);
    result.type = result.weights.embedding.type;
    from.finish(result);
    if (progress) progress(1.0, "reading weights");
    return result;
}

}  // namespace counterpoint::network
