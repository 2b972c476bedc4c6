#include <algorithm>
#include <array>

#include "compute/error.h"
#include "compute/files/json.h"
#include "compute/files/safetensors.h"
#include "compute/files/sha256.h"
#include "compute/sources/filekind.h"
#include "compute/sources/modules.h"
#include "compute/sources/notfinite.h"
#include "compute/sources/recording.h"
#include "compute/sources/stopset.h"
#include "compute/text/gguftokenizer.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

/// What a file's name says of it.
struct NameRow {
    std::string_view suffix;
    std::string_view sentence;
};
constexpr std::array<NameRow, 5> kNames = {{
    {".bank.json", "this is a bank of priors, not a source"},
    {".session.json", "this is a session, not a source"},
    {".bank.safetensors", "this is a bank of priors, not a source"},
    {".bin", "pickled weights are never opened"},
    {".pth", "pickled weights are never opened"},
}};
/// What a file's content is, and whether it can be opened.
struct ContentRow {
    FileKind kind;
    std::string_view name;
    bool opens = false;
};
constexpr std::array<ContentRow, 6> kContents = {{
    {FileKind::Gguf, "a GGUF file", true},
    {FileKind::TorchScript, "a TorchScript file", true},
    {FileKind::Pickle, "a pickled model or state dict, which is never opened"},
    {FileKind::Exported, "a program saved by torch.export"},
    {FileKind::OtherZip, "a zip archive of something else"},
    {FileKind::CutZip, "a zip archive that is cut off: the table at its end is missing"},
}};
const std::string kFolderAdvice =
    "open a .gguf file or the model's folder: config.json, the weights as .safetensors, tokenizer.json or "
    "tokenizer.model";

bool namedTorchScript(const fs::path& file) { return file.extension() == ".pt" || file.extension() == ".ts"; }

/// What the name promises, in the words of kContents; "" where it promises nothing.
std::string_view promise(const fs::path& file) {
    if (namedTorchScript(file)) return "a TorchScript file";
    if (file.extension() == ".gguf") return "a GGUF file";
    return file.extension() == ".safetensors" ? "a safetensors file" : "";
}

[[noreturn]] void refuseFile(const fs::path& file) {
    const std::string name = file.filename().string();
    for (const NameRow& row : kNames)
        if (name.ends_with(row.suffix))
            throw Error({.where = file.string(), .what = std::string(row.sentence), .advice = kFolderAdvice});
    if (name.ends_with(".safetensors"))
        throw Error({.where = file.string(),
                     .what = "this file holds weights only, not a whole model",
                     .advice = kFolderAdvice});
    throw Error({.where = file.string(),
                 .what = "this is not a source",
                 .expected = "a model's folder, a .gguf or a TorchScript file, or a recording",
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

std::unique_ptr<Source> openFolder(const fs::path& path, const OpenOptions& options, const std::stop_token& stop) {
    requireModelDirectory(path);
    std::shared_ptr<const Tokenizer> tokenizer = openTokenizer(path);
    if (stop.stop_requested()) return nullptr;
    return network().openModel(path, std::move(tokenizer), options, stop);
}

/// A script's tokenizer: the session entry's folder, else what lies beside the file, else none.
std::unique_ptr<Source> openScript(const fs::path& path, const OpenOptions& options, const std::stop_token& stop) {
    fs::path folder = options.tokenizer;
    if (folder.empty()) {
        const fs::path beside = fs::absolute(path).parent_path();
        std::error_code error;
        for (const char* name : {"tokenizer.json", "tokenizer.model"})
            if (fs::exists(beside / name, error)) folder = beside;
    }
    std::shared_ptr<const Tokenizer> tokenizer = folder.empty() ? nullptr : openTokenizer(folder);
    if (stop.stop_requested()) return nullptr;
    return network().openScript(path, std::move(tokenizer), folder, options, stop);
}

/// By its content; the name is asked only for what it promises, and where the content says nothing.
std::unique_ptr<Source> openFile(const fs::path& path, const OpenOptions& options, const std::stop_token& stop) {
    const FileKind kind = fileKind(path);
    requireOpens(path, kind);
    if (kind == FileKind::TorchScript) return openScript(path, options, stop);
    if (kind == FileKind::Gguf || path.extension() == ".gguf") {
        std::shared_ptr<const Tokenizer> tokenizer = openGgufTokenizer(*Gguf::open(path));
        if (stop.stop_requested()) return nullptr;
        return network().openModel(path, std::move(tokenizer), options, stop);
    }
    if (!isRecordingFile(path)) refuseFile(path);
    return openRecording(path, options);
}

}  // namespace

void requireOpens(const fs::path& file, FileKind kind) {
    const auto row = std::find_if(kContents.begin(), kContents.end(), [&](const auto& r) { return r.kind == kind; });
    const std::string_view promised = promise(file);
    if (row == kContents.end()) {
        if (namedTorchScript(file))
            throw Error({.where = file.string(),
                         .what = "this is not a TorchScript file",
                         .expected = "a zip archive with code in it",
                         .found = MappedFile::open(file)->bytes().empty() ? "an empty file" : "something else",
                         .advice = "save one with torch.jit.script(model).save(FILE)"});
        return;
    }
    if (row->opens && (promised.empty() || promised == row->name)) return;
    const bool script = promised.empty() || namedTorchScript(file);
    throw Error({.where = file.string(),
                 .what = "this is " + std::string(row->name),
                 .expected = promised.empty() ? "a source" : std::string(promised) + ", as its name says",
                 .advice = row->kind == FileKind::CutZip ? "copy or download it again"
                           : row->opens                  ? "rename it"
                           : script ? "save the model with torch.jit.script(model).save(FILE), or open its folder"
                                    : kFolderAdvice});
}

NotFinite::~NotFinite() = default;
Source::~Source() = default;

void Source::setRouting(const SourceRouting& routing) {
    if (!asPublished(routing))
        throw Error({.where = info().path,
                     .what = "it has no routed experts here, so there is nothing that these routing settings could act on",
                     .expected = "no routing settings",
                     .found = {},
                     .advice = "take the routing settings from this source, or open a model with routed experts"});
}

std::unique_ptr<Source> openSource(const fs::path& path, const OpenOptions& options, std::stop_token stop) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        throw Error({.where = path.string(),
                     .what = "there is no such file or folder",
                     .advice = "check the path",
                     .details = error ? error.message() : ""});
    if (stop.stop_requested()) return nullptr;
    std::unique_ptr<Source> source =
        fs::is_directory(status) ? openFolder(path, options, stop) : openFile(path, options, stop);
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
