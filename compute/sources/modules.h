#pragma once
// The two late modules and what each exports. A module is one MODULE library beside the program (or in
// COUNTERPOINT_MODULES), opened with RTLD_NOW|RTLD_LOCAL, never unloaded, and exports one C function that checks a
// version string:
//   extern "C" const NetworkApi* counterpoint_network(const char* version);   nullptr when the version differs
//   extern "C" const SpmApi* counterpoint_spm(const char* version);
// libtorch and SentencePiece never meet in one link scope (two protobufs). Thread: first use from any thread, guarded.

#include "compute/sources/source.h"

namespace counterpoint::compute {

struct NetworkApi {
    std::unique_ptr<Source> (*openModel)(const std::filesystem::path& path, std::shared_ptr<const Tokenizer> tokenizer,
                                         const OpenOptions& options, std::stop_token stop);
    /// A TorchScript file; the tokenizer may be null. Its folder says the stop tokens.
    std::unique_ptr<Source> (*openScript)(const std::filesystem::path& file, std::shared_ptr<const Tokenizer> tokenizer,
                                          const std::filesystem::path& tokenizerFolder, const OpenOptions& options,
                                          std::stop_token stop);
    std::vector<DeviceInfo> (*devices)();
    std::vector<std::pair<std::string, std::string>> (*versions)();
    /// The trainer behind the target counterpoint_train: argv style, returns an exit code (compute/network/train).
    int (*train)(int argc, char** argv);
};

struct SpmApi {
    std::shared_ptr<const Tokenizer> (*open)(const std::filesystem::path& model,
                                             const std::filesystem::path& directory);
    /// Trains a vocabulary from a text file with one sentence a line: BPE, byte fallback, no normalisation.
    void (*train)(const std::filesystem::path& text, const std::filesystem::path& outModel, int vocabularySize);
};

COUNTERPOINT_API const NetworkApi& network();
COUNTERPOINT_API const SpmApi& spm();
/// Folder the modules are looked for in: $COUNTERPOINT_MODULES, else where the compute library lies.
COUNTERPOINT_API std::filesystem::path moduleFolder();

}  // namespace counterpoint::compute
