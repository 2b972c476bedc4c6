#include "compute/network/modelsource.h"

#include <algorithm>
#include <new>
#include <thread>

#include "compute/network/convert.h"
#include "compute/network/decoder.h"
#include "compute/network/ggufmodel.h"
#include "compute/network/router.h"
#include "compute/sources/notfinite.h"
#include "compute/sources/stopset.h"
#include "compute/text/gguftokenizer.h"

namespace counterpoint::network {
namespace {

using compute::Error;
using compute::Outcome;
using compute::Position;
using compute::TokenId;

/// Whatever goes wrong inside leaves as an Error that names the model (HAZARDS A6).
template <class Work>
auto named(const std::string& where, Work&& work) {
    const auto fail = [&](std::string what, std::string advice, std::string details) {
        return Error({.where = where,
                      .what = std::move(what),
                      .expected = {},
                      .found = {},
                      .advice = std::move(advice),
                      .details = std::move(details)});
    };
    try {
        return work();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw fail("there is not enough memory", "close another model or use a smaller one", {});
    } catch (const std::exception& e) {
        throw fail("the model could not be computed", {}, e.what());
    }
}

class ModelSource final : public compute::Source {
  public:
    explicit ModelSource(std::shared_ptr<const OpenedModel> model)
        : m_model(std::move(model)), m_engine(m_model->newEngine()), m_router(m_engine->router()) {}

    const compute::SourceInfo& info() const override { return m_model->info; }
    std::shared_ptr<const compute::Tokenizer> tokenizer() const override { return m_model->tokenizer; }
    Position length() const override { return static_cast<Position>(m_ids.size()); }
    std::unique_ptr<compute::Source> fork() const override {
        return named(info().path, [this] {
            auto other = makeSource(m_model);
            if (m_router != nullptr) other->setRouting(m_router->settings());
            return other;
        });
    }

    void setRouting(const compute::SourceRouting& routing) override {
        if (m_router == nullptr) return Source::setRouting(routing);
        try {
            m_router->set(routing);
        } catch (const Error& error) {
            throw inThisModel(error);
        }
    }
    std::span<const compute::RoutingRow> routing() const override {
        if (m_router == nullptr) return {};
        return m_router->rows().last(std::min(m_read, m_router->rows().size()));  // without a cache there are more
    }

    void rewind(Position length) override {
        if (length < 0 || length > this->length())
            refuse("it cannot go back to position " + std::to_string(length), "0 to " + std::to_string(this->length()),
                   {});
        m_ids.resize(static_cast<std::size_t>(length));
    }

    Outcome forward(std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits,
                    std::stop_token stop) override {
        check(ids, rows, logits);
        m_read = ids.size();
        if (ids.empty()) return Outcome::Done;
        const std::size_t before = m_ids.size();
        const auto forget = [&] { m_ids.resize(before); };
        try {
            return named(info().path, [&] {
                m_ids.insert(m_ids.end(), ids.begin(), ids.end());
                const std::size_t first = m_model->cache ? before : 0;
                const Outcome outcome = m_engine->forward(static_cast<Position>(first), std::span(m_ids).subspan(first),
                                                          rows, logits, stop);
                if (outcome == Outcome::Cancelled) forget();
                return outcome;
            });
        } catch (...) {
            forget();
            throw;
        }
    }

  private:
    /// What the rules of routing refuse, as this model's.
    Error inThisModel(const Error& error) const {
        compute::ErrorParts parts = error.parts();
        parts.where = info().path + ", " + parts.where;
        return Error(std::move(parts));
    }

    [[noreturn]] void refuse(std::string what, std::string expected, std::string found) const {
        throw Error({.where = info().path,
                     .what = std::move(what),
                     .expected = std::move(expected),
                     .found = std::move(found),
                     .advice = {},
                     .details = {}});
    }

    void check(std::span<const TokenId> ids, std::int64_t rows, std::span<const float> logits) const {
        const auto n = static_cast<std::int64_t>(ids.size());
        if (rows < 0 || rows > n)
            refuse("this many rows of logits are not to be had", "0 to " + std::to_string(n), std::to_string(rows));
        if (static_cast<std::int64_t>(logits.size()) != rows * info().logitWidth)
            refuse("the space for the logits has another size", std::to_string(rows * info().logitWidth) + " numbers",
                   std::to_string(logits.size()));
        for (const TokenId id : ids)
            if (id < 0 || id >= info().logitWidth)
                refuse("there is no token of that id", "0 to " + std::to_string(info().logitWidth - 1),
                       std::to_string(id));
        if (info().maxPositions > 0 && length() + n > info().maxPositions)
            refuse("the text is longer than the model can read",
                   "at most " + std::to_string(info().maxPositions) + " tokens", std::to_string(length() + n));
    }

    std::shared_ptr<const OpenedModel> m_model;
    std::unique_ptr<Engine> m_engine;
    Router* m_router;            ///< the engine's
    std::vector<TokenId> m_ids;  ///< what has been read; the engine's cache holds at least these
    std::size_t m_read = 0;      ///< ids of the last forward()
};

/// What both kinds of files come to.
struct Opened {
    Config config;
    std::optional<Checkpoint> checkpoint;
    std::shared_ptr<const compute::Gguf> gguf;  ///< null: a directory
};

bool isGguf(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
}

std::optional<Opened> openDirectory(const std::filesystem::path& path, const compute::OpenOptions& options,
                                    const std::stop_token& stop) {
    Opened opened{readConfig(path), {}, {}};
    const compute::Safetensors files = compute::Safetensors::openDirectory(path);
    const Origin origin{
        .path = path,
        .index = files.index(),
        .advice = files.index().empty()
                      ? "config.json and the weights are not of one model: download the folder again"
                      : "download it again, or take it away if model.safetensors holds the whole model"};
    opened.checkpoint = loadCheckpoint(origin, files.tensors(), opened.config, options.dtype, options.progress, stop);
    if (!opened.checkpoint) return {};
    std::vector<std::string>&notices = opened.checkpoint->notices, &stated = opened.config.notices;
    notices.insert(notices.begin(), stated.begin(), stated.end());
    return opened;
}

std::optional<Opened> openGguf(const std::filesystem::path& path, const compute::OpenOptions& options,
                               const std::stop_token& stop) {
    const std::shared_ptr<const compute::Gguf> gguf = compute::Gguf::open(path);
    std::optional<GgufModel> model =
        readGgufModel(*gguf, options.dtype, threadCount(options.threads), options.progress, stop);
    if (!model) return {};
    Opened opened{std::move(model->config), {}, gguf};
    const Origin origin{.path = path,
                        .index = {},
                        .advice = "its metadata and its tensors are not of one model: download or convert it again",
                        .names = std::move(model->names)};
    opened.checkpoint = loadCheckpoint(origin, model->tensors, opened.config, model->dtype, options.progress, stop);
    if (!opened.checkpoint) return {};
    std::vector<std::string>& notices = opened.checkpoint->notices;
    notices.insert(notices.begin(), model->notices.begin(), model->notices.end());
    return opened;
}

std::optional<compute::RouterInfo> routersOf(const Shape& shape) {
    const Mixture& m = shape.mixture;
    if (m.experts == 0) return {};
    compute::RouterInfo routers{.layers = {}, .experts = m.experts, .chosen = m.chosen, .normTopkProb = m.normTopkProb};
    for (std::size_t i = 0; i < shape.kinds.size(); ++i)
        if (shape.kinds[i].routed) routers.layers.push_back(static_cast<std::int64_t>(i));
    return routers;
}

}  // namespace

void throwNotFinite(std::int64_t layer, std::int64_t layers) {
    const std::string place =
        layer < 0 ? "the embedding" : "layer " + std::to_string(layer + 1) + " of " + std::to_string(layers);
    throw compute::NotFinite({.where = {},
                              .what = place + " gives a number that is not finite",
                              .expected = {},
                              .found = {},
                              .advice = "the model's arithmetic overflowed: try float32 or bfloat16",
                              .details = {}});
}

int threadCount(int asked) {
    if (asked > 0) return std::min(asked, 256);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
}

std::unique_ptr<compute::Source> makeSource(std::shared_ptr<const OpenedModel> model) {
    return std::make_unique<ModelSource>(std::move(model));
}

std::unique_ptr<OpenedModel> openWeights(const std::filesystem::path& path,
                                         std::shared_ptr<const compute::Tokenizer> tokenizer,
                                         const compute::OpenOptions& options, const std::stop_token& stop) {
    return named(path.string(), [&]() -> std::unique_ptr<OpenedModel> {
        std::optional<Opened> opened =
            isGguf(path) ? openGguf(path, options, stop) : openDirectory(path, options, stop);
        if (!opened) return nullptr;
        const Shape& shape = opened->config.shape;
        std::optional<Checkpoint>& checkpoint = opened->checkpoint;
        auto model = std::make_unique<OpenedModel>();
        compute::SourceInfo& info = model->info;
        info.path = path.string();
        info.libtorch = true;
        info.kind = opened->gguf != nullptr ? "gguf" : "model";
        info.architecture = shape.architecture;
        for (const WeightType type : checkpoint->types)
            info.dtype.append(info.dtype.empty() ? "" : ",").append(typeName(type));
        info.device = "cpu";
        info.parameters = checkpoint->parameters;
        info.weightBytes = checkpoint->bytes;
        info.logitWidth = shape.vocabulary;
        info.maxPositions = shape.maxPositions;
        info.layers = shape.layers;
        info.tiedHead = shape.tiedHead;
        info.routers = routersOf(shape);
        if (!shape.rotaries.empty()) info.positionScaling = shape.rotaries.front().scaling;
        info.notices = std::move(checkpoint->notices);
        if (tokenizer != nullptr) {
            info.stopIds = opened->gguf != nullptr ? compute::ggufStopIds(*opened->gguf, *tokenizer, info.notices)
                                                   : compute::statedStopIds(path, *tokenizer, info.notices);
        }
        model->tokenizer = std::move(tokenizer);
        model->weights = std::make_shared<const Weights>(std::move(checkpoint->weights));
        model->cache = options.cache;
        return model;
    });
}

std::unique_ptr<compute::Source> openOnCpu(const std::filesystem::path& path,
                                           std::shared_ptr<const compute::Tokenizer> tokenizer,
                                           const compute::OpenOptions& options, const std::stop_token& stop) {
    std::shared_ptr<OpenedModel> model = openWeights(path, std::move(tokenizer), options, stop);
    if (model == nullptr) return nullptr;
    model->newEngine = [weights = model->weights, threads = threadCount(options.threads)] {
        return std::make_unique<Decoder>(weights, threads);
    };
    return named(model->info.path, [&] { return makeSource(model); });
}

}  // namespace counterpoint::network
