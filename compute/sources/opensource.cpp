#include <algorithm>
#include <array>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/files/safetensors.h"
#include "compute/files/sha256.h"
#include "compute/sources/modules.h"
#include "compute/sources/recording.h"
#include "compute/text/gguftokenizer.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

/// What a file's name promises, and what is said of it.
struct KindRow {
    std::string_view suffix;
    std::string_view sentence;
};
constexpr std::array<KindRow, 7> kKinds = {{
    {".bank.json", "this is a bank of priors, not a source"},
    {".session.json", "this is a session, not a source"},
    {".bank.safetensors", "this is a bank of priors, not a source"},
    {".pt", "TorchScript files are not supported yet"},
    {".ts", "TorchScript files are not supported yet"},
    {".bin", "pickled weights are never opened"},
    {".pth", "pickled weights are never opened"},
}};
const std::string kFolderAdvice =
    "open a .gguf file or the model's folder: config.json, the weights as .safetensors, tokenizer.json or "
    "tokenizer.model";

[[noreturn]] void refuseFile(const fs::path& file) {
    const std::string name = file.filename().string();
    for (const KindRow& row : kKinds)
        if (name.ends_with(row.suffix))
            throw Error({.where = file.string(), .what = std::string(row.sentence), .advice = kFolderAdvice});
    if (name.ends_with(".safetensors"))
        throw Error({.where = file.string(),
                     .what = "this file holds weights only, not a whole model",
                     .advice = kFolderAdvice});
    throw Error({.where = file.string(),
                 .what = "this is not a source",
                 .expected = "a model's folder or a .gguf file",
                 .advice = kFolderAdvice});
}

void requireModelDirectory(const fs::path& directory) {
    std::error_code error;
    if (fs::exists(directory / "config.json", error)) {
        const Json config = readJson(directory / "config.json");
        if (!config.is_object())
            throw Error({.where = (directory / "config.json").string(), .what = "the file is not a JSON object"});
        return;
    }
    const bool empty = fs::is_empty(directory, error);
    if (error) throw Error({.where = directory.string(), .what = "the folder cannot be read: " + error.message()});
    throw Error({.where = directory.string(),
                 .what = "this folder is not a model: there is no config.json in it",
                 .found = empty ? "an empty folder" : "",
                 .advice = kFolderAdvice});
}

/// What is not safetensors at all says so here.
bool isRecordingFile(const fs::path& file) {
    return file.filename().string().ends_with(".safetensors") &&
           !file.filename().string().ends_with(".bank.safetensors") && isRecording(Safetensors::openFile(file));
}

/// Columns beyond the tokenizer are padding; missing columns would leave tokens without a say.
void requireWidth(const Source& source) {
    if (source.tokenizer() == nullptr) return;
    const std::int64_t width = source.info().logitWidth, size = source.tokenizer()->size();
    if (width < size)
        throw Error({.where = source.info().path,
                     .what = "the " + source.info().kind + " gives fewer logits than the tokenizer has tokens",
                     .expected = std::to_string(size) + " at least",
                     .found = std::to_string(width),
                     .advice = "this tokenizer belongs to another model"});
}

}  // namespace

Source::~Source() = default;

std::unique_ptr<Source> openSource(const fs::path& path, const OpenOptions& options, std::stop_token stop) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        throw Error({.where = path.string(),
                     .what = "there is no such file or folder",
                     .details = error ? error.message() : ""});
    if (stop.stop_requested()) return nullptr;
    std::unique_ptr<Source> source;
    if (!fs::is_directory(status) && isRecordingFile(path)) {
        source = openRecording(path, options);
    } else {
        const bool gguf = !fs::is_directory(status) && path.extension() == ".gguf";
        if (!gguf && !fs::is_directory(status)) refuseFile(path);
        if (!gguf) requireModelDirectory(path);
        std::shared_ptr<const Tokenizer> tokenizer = gguf ? openGgufTokenizer(*Gguf::open(path)) : openTokenizer(path);
        if (stop.stop_requested()) return nullptr;
        source = network().openModel(path, std::move(tokenizer), options, stop);
    }
    if (source != nullptr) requireWidth(*source);
    return source;
}

std::string hashWeights(const fs::path& path, std::stop_token stop) {
    std::error_code error;
    const std::vector<fs::path> files = fs::is_directory(path, error) ? weightFiles(path) : std::vector<fs::path>{path};
    Sha256 hash;
    for (const fs::path& file : files) {
        const std::shared_ptr<const MappedFile> mapped = MappedFile::open(file);
        constexpr std::size_t kChunk = 4u << 20;
        for (std::span<const std::byte> rest = mapped->bytes(); !rest.empty();) {
            if (stop.stop_requested()) return {};
            const std::size_t n = std::min(kChunk, rest.size());
            hash.update(rest.first(n));
            rest = rest.subspan(n);
        }
    }
    return hash.hex();
}

}  // namespace counterpoint::compute
