#pragma once
// Source: anything that gives next-token logits. One interface for network models, TorchScript and recordings; the
// three kinds are opened by openSource. A source is owned by one lane; no method is called from two threads at once.
// Shapes: ids [n] appended after length(); logits [rows, info().logitWidth], raw, or moved by a constant of the row (a
// device gives log-probabilities, a recording may), row r about the token after ids[n - rows + r]. Errors: Error (never c10::Error) naming the file or tensor.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "compute/error.h"
#include "compute/export.h"
#include "compute/routing/route.h"
#include "compute/step.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

/// The routers of a model with routed experts, the same in each of its routed layers (R12).
struct RouterInfo {
    std::vector<std::int64_t> layers;  ///< [L], which of the model's layers are routed
    std::int64_t experts = 0;          ///< E
    std::int64_t chosen = 0;           ///< K
    bool normTopkProb = false;         ///< in use: do the weights of the chosen sum to 1? (HAZARDS A5)
};

struct SourceInfo {
    std::string path;
    std::string kind;          ///< "model", "gguf", "torchscript", "recording"
    std::string architecture;  ///< "LlamaForCausalLM"
    bool libtorch = false;     ///< its logits are computed by the network module, not read
    std::string
        dtype;  ///< what it computes in: "float32", "bfloat16", "float16"; of several matrices' "float16,float32"
    std::string device;        ///< "cpu", "cuda:0"
    std::int64_t parameters = 0;
    std::int64_t weightBytes = 0;
    std::int64_t logitWidth = 0;  ///< columns of a logit row (may exceed the tokenizer: padding)
    Position maxPositions = 0;    ///< 0: no limit
    std::int64_t layers = 0;
    bool tiedHead = false;
    std::string positionScaling;  ///< how rotary positions are scaled (HAZARDS A11); empty: not
    std::optional<RouterInfo> routers;  ///< none: no routed experts
    std::string weightsSha256;    ///< empty until hashed
    std::vector<TokenId>
        stopIds;  ///< union of config.json, generation_config.json and the tokenizer (HAZARDS A8), sorted
    std::vector<std::string> notices;
};

class COUNTERPOINT_API Source {
  public:
    virtual ~Source();
    virtual const SourceInfo& info() const = 0;
    /// Null: a recording without one; its tokens are ids.
    virtual std::shared_ptr<const Tokenizer> tokenizer() const = 0;
    /// The tokens that a recording is about: forward() takes a beginning of them only. Empty: any sequence will do.
    virtual std::span<const TokenId> recorded() const { return {}; }
    /// Appends ids to the cache and writes the logits after the last `rows` of them. rows <= ids.size().
    /// The stop token is read between layers; Cancelled leaves length() as it was.
    virtual Outcome forward(std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits,
                            std::stop_token stop) = 0;
    /// Tokens in the cache.
    virtual Position length() const = 0;
    /// Forgets everything from `length` on; length <= length().
    virtual void rewind(Position length) = 0;
    /// How what is read from now on is routed; what the cache holds stays as it was read, so a change that is to act on
    /// all of a text needs a rewind. Throws Error, and nothing changes, where the model cannot be routed so.
    virtual void setRouting(const SourceRouting& routing);
    /// Where the ids of the last forward() that was Done went, one row for each; empty: no routed experts.
    virtual std::span<const RoutingRow> routing() const { return {}; }
    /// A second, independent decoding state over the same weights, routed alike (for branches and prefixes); cheap but
    /// for its cache.
    virtual std::unique_ptr<Source> fork() const = 0;
};

struct OpenOptions {
    std::string device = "cpu";
    std::string dtype;  ///< empty: the files' own; where they are quantised, float32
    int threads = 0;    ///< 0: all cores but one, at least one
    bool cache = true;  ///< false: recompute the whole sequence each time (tests)
    std::string sourceInFile;  ///< which source of a recording; empty: its base
    std::string tokenizer;     ///< a folder whose tokenizer is used instead of the file's own (recordings)
    std::function<void(double fraction, std::string_view what)> progress;  ///< called on the opening thread
};

/// Opens a model directory, a .gguf file or a recording (later parts: .pt, .ts). Cancelled: returns nullptr.
COUNTERPOINT_API std::unique_ptr<Source> openSource(const std::filesystem::path& path, const OpenOptions& options,
                                                    std::stop_token stop);

/// The compatibility gate (HAZARDS A2): same id -> bytes map, added tokens and special ids. Returns notices (a padded
/// tail); throws Error naming the first differing ids. Recordings must be of one text, and two without a tokenizer of
/// one width; one without a tokenizer and a source that has one do not compose, since nothing says what its ids mean.
COUNTERPOINT_API std::vector<std::string> requireComposable(const std::string& baseName, const Source& base,
                                                            const std::string& otherName, const Source& other);

/// SHA-256 (hex) over the weight files of a model directory, in name order, or over a file; Cancelled: empty.
COUNTERPOINT_API std::string hashWeights(const std::filesystem::path& path, std::stop_token stop);

struct DeviceInfo {
    std::string id;    ///< "cpu", "cuda:0"
    std::string name;  ///< for eyes
};
/// Devices of the libtorch in use; loads the network module. Without one that loads: the processor alone.
COUNTERPOINT_API std::vector<DeviceInfo> devices();
/// {"torch":"1.13.1", "cuda":"no: this libtorch was built without it", "blas":…}; loads the network module.
COUNTERPOINT_API std::vector<std::pair<std::string, std::string>> networkVersions();
/// Loads the torch module (0.7 s): call it on a lane, never on the window thread.
COUNTERPOINT_API void loadNetworkModule();

}  // namespace counterpoint::compute
