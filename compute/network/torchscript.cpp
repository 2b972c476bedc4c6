#include "compute/network/torchscript.h"

#include <ATen/Parallel.h>
#include <torch/script.h>
#include <torch/version.h>

#include <algorithm>
#include <new>
#include <regex>
#include <set>

#include "compute/network/convert.h"
#include "compute/network/modelsource.h"
#include "compute/network/versions.h"
#include "compute/printable.h"
#include "compute/sources/stopset.h"

namespace counterpoint::network {
namespace {

using compute::Error;
using compute::Outcome;
using compute::TokenId;
using torch::jit::IValue;

/// What went wrong, in one line. The interpreter tells the script's own trace first and the reason last.
std::string reason(const std::exception& error) {
    const auto* plain = dynamic_cast<const c10::Error*>(&error);
    const std::string text = plain != nullptr ? plain->what_without_backtrace() : error.what();
    static const std::regex named("(^|\n)[A-Za-z_.]*(Error|Exception): ([^\n]+)");
    const std::size_t first = text.find_first_not_of(" \t\r\n");  // some begin with an empty line
    std::string line =
        first == std::string::npos ? "no reason is given" : text.substr(first, text.find('\n', first) - first);
    for (std::sregex_iterator i(text.begin(), text.end(), named), end; i != end; ++i) line = (*i)[3].str();
    constexpr std::size_t kLongest = 300;
    if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
    while (line.ends_with('.') || line.ends_with(' ')) line.pop_back();
    return compute::printable(line);
}

/// Whatever libtorch or the script throws leaves as an Error: "WHERE: WHAT: the reason" (HAZARDS A6).
template <class Work>
auto called(const std::string& where, const std::string& what, const std::string& advice, Work&& work) {
    try {
        return work();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw Error({.where = where, .what = what + ": there is not enough memory", .advice = "close another model"});
    } catch (const std::exception& e) {
        throw Error({.where = where, .what = what + ": " + reason(e), .advice = advice, .details = e.what()});
    } catch (...) {
        throw Error({.where = where, .what = what, .advice = advice});
    }
}

struct Script {
    std::string where;
    torch::jit::Module module;
    at::Device device{at::kCPU};
    bool steps = false;      ///< it has prefill and step
    std::int64_t width = 0;  ///< 0: not known yet
};

std::string typeText(at::ScalarType type) {
    switch (type) {
        case at::kFloat:
            return "float32";
        case at::kDouble:
            return "float64";
        case at::kHalf:
            return "float16";
        case at::kBFloat16:
            return "bfloat16";
        default: {
            std::string name = c10::toString(type);
            std::transform(name.begin(), name.end(), name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
            return name;
        }
    }
}

std::string tensorText(const at::Tensor& tensor) {
    std::string text = typeText(tensor.scalar_type()) + " [";
    for (std::int64_t i = 0; i < tensor.dim(); ++i) text += (i > 0 ? ", " : "") + std::to_string(tensor.size(i));
    return text + "]";
}

class ScriptEngine final : public Engine {
  public:
    explicit ScriptEngine(std::shared_ptr<const Script> script) : m_script(std::move(script)) {}

    Outcome forward(std::int64_t first, std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits,
                    const std::stop_token& stop) override {
        if (stop.stop_requested()) return Outcome::Cancelled;
        m_ids.resize(static_cast<std::size_t>(first));
        m_ids.insert(m_ids.end(), ids.begin(), ids.end());
        if (rows == 0) return Outcome::Done;  // read when a row is asked for
        const auto n = static_cast<std::int64_t>(m_ids.size());
        const bool next = m_script->steps && m_cached > 0 && m_cached + 1 == n;
        const char* method = !m_script->steps ? "forward" : next ? "step" : "prefill";
        const at::Tensor out =
            called(m_script->where, "its '" + std::string(method) + "' failed on " + std::to_string(n) + " tokens", {},
                   [&] { return compute(method, next); });
        if (stop.stop_requested()) return Outcome::Cancelled;
        if (m_script->steps) m_cached = n;
        const std::int64_t V = out.size(2), from = out.size(1) - rows;
        std::copy_n(out.data_ptr<float>() + from * V, rows * V, logits.data());
        return Outcome::Done;
    }

    /// V, from two tokens tried, and one more by step.
    std::int64_t tried() {
        const std::vector<TokenId> two(2, 0);
        m_ids = two;
        m_cached = 0;
        const auto tryIt = [&](const char* method, bool next) {
            return called(m_script->where, "its '" + std::string(method) + "' cannot be used", {},
                          [&] { return compute(method, next).size(2); });
        };
        const std::int64_t width = tryIt(m_script->steps ? "prefill" : "forward", false);
        if (m_script->steps) {
            m_ids.push_back(0);
            if (const std::int64_t other = tryIt("step", true); other != width)
                throw Error({.where = m_script->where,
                             .what = "its 'step' gives other logits than its 'prefill'",
                             .expected = std::to_string(width) + " numbers",
                             .found = std::to_string(other)});
        }
        return width;
    }

  private:
    /// Logits [1,n,V] in float32 on the processor; of the last token alone where it is the next one.
    at::Tensor compute(const char* method, bool next) {
        const c10::InferenceMode inference;
        // Unoptimised plans are cheaper where every call has another length.
        const torch::jit::GraphOptimizerEnabledGuard plain(false);
        const std::span<const TokenId> read = next ? std::span(m_ids).last(1) : std::span(m_ids);
        const auto n = static_cast<std::int64_t>(read.size());
        m_cached = 0;  // what a call leaves behind when it fails is not to be used
        std::vector<IValue> arguments = {at::tensor(at::ArrayRef<std::int32_t>(read.data(), read.size()), at::kLong)
                                             .unsqueeze(0)
                                             .to(m_script->device)};
        if (next) arguments.push_back(std::move(m_cache));
        IValue result = m_script->module.get_method(method)(std::move(arguments));
        if (m_script->steps) {
            if (!result.isTuple() || result.toTupleRef().elements().size() != 2)
                refuse(method, "something else than (logits, cache)", "a tuple of two", result.tagKind());
            m_cache = result.toTupleRef().elements()[1];
            result = IValue(result.toTupleRef().elements()[0]);
        }
        const std::string expected = "float [1, " + std::to_string(n) + ", " +
                                     (m_script->width > 0 ? std::to_string(m_script->width) : "V") + "]";
        if (!result.isTensor() || !result.toTensor().defined())
            refuse(method, "something else than logits", expected, result.tagKind());
        const at::Tensor logits = result.toTensor();
        if (!logits.is_floating_point() || logits.dim() != 3 || logits.size(0) != 1 || logits.size(1) != n ||
            logits.size(2) < 1 || (m_script->width > 0 && logits.size(2) != m_script->width))
            refuse(method, "something else than logits", expected, tensorText(logits));
        return logits.to(at::kCPU, at::kFloat).contiguous();
    }

    [[noreturn]] void refuse(const char* method, const std::string& what, std::string expected,
                             std::string found) const {
        throw Error({.where = m_script->where,
                     .what = "its '" + std::string(method) + "' gives " + what,
                     .expected = std::move(expected),
                     .found = std::move(found)});
    }

    std::shared_ptr<const Script> m_script;
    std::vector<TokenId> m_ids;  ///< all that was fed
    IValue m_cache;              ///< the script's own, of the first m_cached of them
    std::int64_t m_cached = 0;
};

struct Weight {
    at::Tensor tensor;
    bool parameter = false;
};

/// Parameters and buffers, each once.
std::vector<Weight> weightsOf(const torch::jit::Module& module) {
    std::vector<Weight> weights;
    std::set<const c10::TensorImpl*> seen;
    const auto add = [&](const at::Tensor& tensor, bool parameter) {
        if (tensor.defined() && seen.insert(tensor.unsafeGetTensorImpl()).second)
            weights.push_back({tensor, parameter});
    };
    for (const at::Tensor& tensor : module.parameters()) add(tensor, true);
    for (const at::Tensor& tensor : module.buffers()) add(tensor, false);
    return weights;
}

/// The dtype to compute in; none where it is the file's own.
std::optional<at::ScalarType> wantedType(const std::string& asked, std::optional<at::ScalarType> own, bool onProcessor,
                                         const std::string& where, std::vector<std::string>& notices) {
    const std::optional<WeightType> type = weightType(asked, where);
    std::optional<at::ScalarType> wanted = own;
    if (type == WeightType::Float32) wanted = at::kFloat;
    if (type == WeightType::BFloat16) wanted = at::kBFloat16;
    if (type == WeightType::Float16) wanted = at::kHalf;
    if (onProcessor && wanted == at::kHalf) {
        wanted = at::kFloat;
        notices.push_back("scripts compute float16 in float32 on the processor");
    }
    return wanted == own ? std::nullopt : wanted;
}

void describe(const torch::jit::Module& module, const std::string& dtype, compute::SourceInfo& info) {
    const std::vector<Weight> weights = weightsOf(module);
    const auto floating =
        std::find_if(weights.begin(), weights.end(), [](const Weight& w) { return w.tensor.is_floating_point(); });
    std::optional<at::ScalarType> own;
    if (floating != weights.end()) own = floating->tensor.scalar_type();
    const auto wanted = wantedType(dtype, own, info.device == "cpu", info.path, info.notices);
    for (const Weight& w : weights) {
        if (wanted && w.tensor.is_floating_point()) w.tensor.set_data(w.tensor.to(*wanted));
        if (w.parameter) info.parameters += w.tensor.numel();
        info.weightBytes += static_cast<std::int64_t>(w.tensor.nbytes());
    }
    info.dtype = typeText(wanted.value_or(own.value_or(at::kFloat)));
    info.architecture = module.type()->name() ? module.type()->name()->name() : "script";
    if (!module.hasattr("max_positions") || !module.attr("max_positions").isInt()) return;
    info.maxPositions = module.attr("max_positions").toInt();
    if (info.maxPositions < 1)
        throw Error({.where = info.path,
                     .what = "its attribute 'max_positions' is no limit of a text",
                     .expected = "a whole number from 1, or no such attribute",
                     .found = std::to_string(info.maxPositions)});
}

}  // namespace

std::unique_ptr<compute::Source> openScript(const std::filesystem::path& file,
                                            std::shared_ptr<const compute::Tokenizer> tokenizer,
                                            const std::filesystem::path& tokenizerFolder,
                                            const compute::OpenOptions& options, std::stop_token stop) {
    auto model = std::make_shared<OpenedModel>();
    auto script = std::make_shared<Script>();
    compute::SourceInfo& info = model->info;
    info.path = script->where = file.string();
    info.kind = "torchscript";
    info.libtorch = true;
    info.device = "cpu";
    const bool onProcessor = options.device.empty() || options.device.starts_with("cpu");
    if (!onProcessor) requireCudaDevice(options.device);
    return called(
        info.path, "it cannot be read as TorchScript",
        "this is libtorch " TORCH_VERSION
        "; what a newer one wrote may need that one (app/run --torch DIR), or operations that "
        "this one has (of transformers' models, attn_implementation=\"eager\")",
        [&]() -> std::unique_ptr<compute::Source> {
            at::set_num_threads(threadCount(options.threads));
            if (!onProcessor) {
                const at::Device device(options.device);
                script->device = at::Device(device.type(), std::max<at::DeviceIndex>(0, device.index()));
                info.device = script->device.str();
            }
            if (options.progress) options.progress(0.0, "reading the script");
            const at::NoGradGuard noGradients;
            script->module = torch::jit::load(info.path, script->device);
            if (stop.stop_requested()) return nullptr;
            script->module.eval();
            describe(script->module, options.dtype, info);
            const auto has = [&](const char* method) { return script->module.find_method(method).has_value(); };
            script->steps = options.cache && has("prefill") && has("step");
            if (!script->steps && !has("forward"))
                throw Error({.where = info.path,
                             .what = "the script has no 'forward'",
                             .expected = "forward(ids [B, T]) that gives logits [B, T, V]"});
            info.logitWidth = script->width = ScriptEngine(script).tried();
            if (tokenizer == nullptr)
                info.notices.push_back("no tokenizer is named for it and none lies beside it, so its tokens are ids");
            else
                info.stopIds = compute::statedStopIds(tokenizerFolder, *tokenizer, info.notices);
            model->tokenizer = std::move(tokenizer);
            model->cache = script->steps;
            model->newEngine = [script] { return std::make_unique<ScriptEngine>(script); };
            if (options.progress) options.progress(1.0, "reading the script");
            return makeSource(model);
        });
}

}  // namespace counterpoint::network
