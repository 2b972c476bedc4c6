#include "model/opensession.h"

#include "compute/error.h"
#include "compute/printable.h"
#include "compute/sources/filekind.h"
#include "compute/sources/recording.h"
#include "compute/text/utf8stream.h"
#include "model/engine.h"

#include <algorithm>
#include <array>

namespace counterpoint::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOpens = "a session (.session.json), a model directory, a .gguf file, a TorchScript file (.pt, .ts) or a recording (.safetensors)";

[[noreturn]] void refuse(const fs::path& file, const std::string& what, const std::string& expected, const std::string& advice = {}) {
    throw compute::Error({.where = file.string(), .what = what, .expected = expected, .found = {}, .advice = advice, .details = {}});
}

struct Unread {
    const char* ending;
    const char* sentence;
};
constexpr const char* kBank = "a bank of priors is put into a session (its \"priors\", or Bank... in the rack), not opened as one";
constexpr std::array kUnread = {Unread{".bank.json", kBank}, Unread{".bank.safetensors", kBank}};
constexpr std::array kModelEndings = {".gguf", ".pt", ".ts"};

bool namedModel(const fs::path& file) {
    return std::find(kModelEndings.begin(), kModelEndings.end(), file.extension()) != kModelEndings.end();
}

/// As a session names it: JSON holds UTF-8 alone.
fs::path whole(const fs::path& path) {
    fs::path named = fs::absolute(path).lexically_normal();
    if (compute::toValidUtf8(named.string()) != named.string())
        throw compute::Error({.where = compute::printable(named.string()),
                              .what = "this name is not UTF-8, so that no session can hold it",
                              .advice = "rename the file or folder"});
    return named;
}

/// A recording's file; weights alone are refused.
bool isRecordingFile(const fs::path& file) {
    if (fs::is_directory(file) || file.extension() != ".safetensors") return false;
    if (!compute::isRecording(compute::Safetensors::openFile(file)))
        refuse(file, "this file holds weights only", "a recording, or the weights' folder with config.json and a tokenizer in it");
    return true;
}

/// `wanted`, or with the first number behind it that no other source has.
std::string newName(const std::string& wanted, const std::vector<std::string>& taken) {
    const std::string stem = wanted == "base" ? "base model" : compute::printable(wanted);
    std::string name = stem;
    for (int n = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++n) name = stem + " " + std::to_string(n);
    return name;
}

/// "…/stories-dialogue/hf" is called after the folder that tells something.
std::string nameOf(const fs::path& model) {
    fs::path named = model.filename().empty() ? model.parent_path() : model;
    while (namedModel(named)) named.replace_extension();  // "stories.ts.pt" too
    if (named.filename() == "hf" || named.filename() == "model") named = named.parent_path();
    return named.filename().string();
}

SourceEntry entryOf(const fs::path& file, std::string name, const std::string& sourceInFile) {
    SourceEntry entry;
    entry.name = std::move(name);
    entry.path = whole(file).string();
    entry.sourceInFile = sourceInFile;
    return entry;
}

}  // namespace

bool isModel(const fs::path& path) {
    if (fs::is_directory(path)) return fs::exists(path / "config.json");
    if (!fs::is_regular_file(path)) return false;
    const compute::FileKind kind = compute::fileKind(path);
    if (namedModel(path)) {
        compute::requireOpens(path, kind);
        return true;
    }
    return kind == compute::FileKind::Gguf || kind == compute::FileKind::TorchScript;
}

Session sessionForModel(const fs::path& path) {
    Session session;
    session.base.path = whole(path).string();
    return session;
}

Session sessionForRecording(const fs::path& file) {
    const compute::Recording recording = compute::readRecording(file);
    Session session;
    session.mode = Mode::Score;
    session.prompt.clear();
    // A base's name is its own in the session too, so that references and files call it alike.
    session.base = entryOf(file, recording.sources.front().name, recording.sources.front().name);
    for (std::size_t i = 1; i < recording.sources.size(); ++i) {
        const std::string& name = recording.sources[i].name;
        session.specialists.push_back(entryOf(file, newName(name, session.sourceNames()), name));
    }
    requireGoodNames(session, file.string());
    return session;
}

Session openSession(const fs::path& file, std::vector<std::string>& warnings) {
    if (!fs::exists(file)) refuse(file, "there is no such file or folder", {}, "check the path");
    if (isModel(file)) return sessionForModel(file);
    if (fs::is_directory(file)) refuse(file, "the folder holds no model", "config.json and *.safetensors in it");
    const std::string name = file.filename().string();
    for (const Unread& kind : kUnread)
        if (name.ends_with(kind.ending)) refuse(file, kind.sentence, kOpens);
    if (isRecordingFile(file)) return sessionForRecording(file);
    if (!name.ends_with(".json")) refuse(file, "this kind of file is unknown", kOpens);
    return readSession(file, warnings);
}

std::vector<std::string> codeNotices(const Session& session) {
    std::vector<std::string> notices;
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        const fs::path path = session.resolve(session.source(i).path);
        if (!session.uses(i) || !compute::runsCode(path)) continue;
        std::string sentence = runsCodeSentence(path.string());
        if (std::find(notices.begin(), notices.end(), sentence) == notices.end()) notices.push_back(std::move(sentence));
    }
    return notices;
}

std::vector<SourceEntry> specialistsFrom(const fs::path& file, const Session& session) {
    std::vector<std::string> taken = session.sourceNames();
    if (isModel(file)) return {entryOf(file, newName(nameOf(whole(file)), taken), {})};
    if (!fs::exists(file) || !isRecordingFile(file))
        refuse(file, "this holds no model", "a folder with config.json and *.safetensors in it, a .gguf or a TorchScript file, or a recording");
    const std::string path = whole(file).string();
    std::vector<SourceEntry> entries;
    for (const compute::RecordedSource& source : compute::readRecording(file).sources) {
        bool there = false;
        for (std::size_t i = 0; i < session.sourceCount(); ++i) {
            const SourceEntry& s = session.source(i);
            there = there || (session.resolve(s.path).string() == path && s.sourceInFile == source.name);
        }
        if (there) continue;
        entries.push_back(entryOf(file, newName(source.name, taken), source.name));
        taken.push_back(entries.back().name);
    }
    if (entries.empty()) refuse(file, "every source of this recording is in the rack already", {});
    return entries;
}

}  // namespace counterpoint::model
