// Document: what can be opened, and saving.

#include "compute/error.h"
#include "model/documentprivate.h"
#include "model/modelfiles.h"

#include <algorithm>

namespace counterpoint::model {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& file, const std::string& what, const std::string& expected) {
    throw compute::Error({.where = file.string(), .what = what, .expected = expected, .found = {}, .advice = {}, .details = {}});
}


Session sessionFrom(const fs::path& file, std::vector<std::string>& warnings) {
    constexpr const char* kOpens = "a session (.session.json), a model directory or a .gguf file";
    if (!fs::exists(file)) refuse(file, "there is no such file or folder", {});
    if (isModel(file)) return sessionForModel(file);
    if (fs::is_directory(file)) refuse(file, "the folder holds no model", "config.json and *.safetensors in it");
    const std::string name = file.filename().string();
    if (name.ends_with(".bank.json") || name.ends_with(".bank.safetensors")) refuse(file, "banks of priors are not read by this version", kOpens);
    if (name.ends_with(".safetensors")) refuse(file, "recordings are not read by this version", kOpens);
    if (name.ends_with(".pt") || name.ends_with(".ts")) refuse(file, "TorchScript is not read by this version", kOpens);
    if (!name.ends_with(".json")) refuse(file, "this kind of file is unknown", kOpens);
    return readSession(file, warnings);
}

}  // namespace

bool isModel(const fs::path& path) {
    return fs::is_directory(path) ? fs::exists(path / "config.json") : path.extension() == ".gguf" && fs::exists(path);
}

void Document::open(const fs::path& file) {
    std::vector<std::string> warnings;
    Session session = sessionFrom(file, warnings);
    Private& p = *m_private;
    m_engine->stop();
    for (const auto& t : m_traces)
        if (t->stop.empty()) t->stop = "user";
    if (m_ready && !p.before)
        p.before = OpenBefore{m_session, p.saved, m_view, p.undo, p.redo, m_traces, p.selected, m_follow};
    p.undo.clear();
    p.redo.clear();
    p.merge.clear();
    p.saved = session;
    p.pending.clear();
    p.selected = -1;
    p.recomposing.reset();
    ++p.generation;
    m_recomposing = false;
    m_traces.clear();
    m_session = std::move(session);
    m_view = viewFromJson(m_session.view);
    m_view.cursor = -1;
    m_follow = true;
    for (const std::string& warning : warnings) notify(Notice::Level::Warning, warning);
    Q_EMIT sessionChanged();
    Q_EMIT traceSelected();
    Q_EMIT traceChanged();
    Q_EMIT viewChanged();
    loadSources();
}

void Document::openBefore() {
    Private& p = *m_private;
    if (!p.before) return;
    OpenBefore before = std::move(*p.before);
    p.before.reset();
    m_session = std::move(before.session);
    p.saved = std::move(before.saved);
    p.undo = std::move(before.undo);
    p.redo = std::move(before.redo);
    p.merge.clear();
    m_traces = std::move(before.traces);
    p.selected = before.selected;
    m_view = std::move(before.view);
    m_follow = before.follow;
    m_loading = false;
    m_ready = true;
    Q_EMIT sessionChanged();
    Q_EMIT traceSelected();
    p.tellTrace = p.tellView = p.tellStatus = true;
}

void Document::save(const fs::path& file) {
    Private& p = *m_private;
    Session session = m_session;
    session.view = viewToJson(m_view, session.view);
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        SourceEntry& s = session.source(i);
        const auto hash = p.hashes.find(session.resolve(s.path).string());
        if (hash != p.hashes.end()) s.sha256 = hash->second;
    }
    writeSession(session, file);
    for (auto* list : {&p.undo, &p.redo})
        for (Session& s : *list) s = rebased(s, file);
    m_session = p.saved = rebased(session, file);
    Q_EMIT sessionChanged();
}

void Document::addSpecialist(const fs::path& model) {
    if (!isModel(model)) refuse(model, "this is no model", "a folder with config.json and *.safetensors, or a .gguf file");
    Session session = m_session;
    const fs::path path = fs::absolute(model).lexically_normal();
    // "…/stories-dialogue/hf" is called after the folder that tells something.
    fs::path named = path.filename().empty() ? path.parent_path() : path;
    if (named.extension() == ".gguf") named.replace_extension();
    if (named.filename() == "hf" || named.filename() == "model") named = named.parent_path();
    const std::vector<std::string> taken = session.sourceNames();
    const std::string stem = named.filename().string() == "base" ? "base model" : named.filename().string();
    std::string name = stem;
    for (int n = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++n) name = stem + " " + std::to_string(n);
    SourceEntry entry;
    entry.name = name;
    entry.path = path.string();
    session.specialists.push_back(std::move(entry));
    setSession(std::move(session));
}

}  // namespace counterpoint::model
