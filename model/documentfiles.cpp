// Document: what can be opened, and saving.

#include "model/documentprivate.h"
#include "model/opensession.h"

namespace counterpoint::model {

namespace fs = std::filesystem;

void Document::check(const fs::path& file) {
    std::vector<std::string> warnings;
    (void)openSession(file, warnings);
}

void Document::setCodeIsNew(std::function<bool(const std::string& sha256)> isNew) { m_private->codeIsNew = std::move(isNew); }

void Document::open(const fs::path& file) {
    std::vector<std::string> warnings;
    Session session = openSession(file, warnings);
    Private& p = *m_private;
    m_engine->stop();
    stopRouting();
    p.routing.reset();
    for (const auto& t : m_traces)
        if (t->stop.empty()) t->stop = "user";
    if (m_ready && !p.before)
        p.before = OpenBefore{m_session, p.saved, m_view, p.undo, p.redo, m_traces, p.selected, m_follow, p.banks};
    p.undo.clear();
    p.redo.clear();
    p.merge.clear();
    p.saved = session;
    p.pending.clear();
    p.banks.clear();
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
    p.banks = std::move(before.banks);
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

void Document::addSpecialist(const fs::path& file) {
    Session session = m_session;
    for (SourceEntry& entry : specialistsFrom(file, session)) session.specialists.push_back(std::move(entry));
    requireGoodNames(session, file.string());
    setSession(std::move(session));
}

const std::shared_ptr<const compute::Tokenizer>& Document::tokenizer() const { return m_private->tokenizer; }

void Document::saveBank(std::size_t bank, const fs::path& file) {
    Session session = m_session;
    BankEntry& entry = session.priors.at(bank);
    if (!entry.content) return;
    const fs::path target = file.empty() ? session.resolve(entry.bank) : fs::absolute(file).lexically_normal();
    const bool own = target == session.resolve(entry.bank);
    for (std::size_t i = 0; i < session.priors.size(); ++i) {  // a session may name one file more than once
        BankEntry& other = session.priors[i];
        if (i == bank || session.resolve(other.bank) != target || other.content == entry.content) continue;
        if (bankModified(i) || !own)
            throw compute::Error(
                {.where = target.string(),
                 .what =
                     own ? "another entry of the rack is of this file and has changes of its own, which would be lost"
                         : "this is another bank of the rack, which would be lost",
                 .expected = {},
                 .found = {},
                 .advice = "save one of the two under another name",
                 .details = {}});
        other.content = entry.content;
    }
    writeBankFile(entry.content, target);
    if (!own) entry.bank = target.string();
    for (BankEntry& saved : m_private->saved.priors)  // as a session holds it that is opened from its file
        if (m_private->saved.resolve(saved.bank) == target) saved.content = entry.content;
    if (session == m_session)
        Q_EMIT sessionChanged();
    else
        setSession(std::move(session));
}

void Document::saveOther(const BankPtr& bank, const fs::path& file) {
    const fs::path target = fs::absolute(file).lexically_normal();
    std::error_code none;
    for (const BankEntry& entry : m_session.priors)
        if (const fs::path own = m_session.resolve(entry.bank); own == target || fs::equivalent(own, target, none))
            throw compute::Error({.where = target.string(), .what = "this is a bank of the rack, which would be lost", .expected = {},
                                  .found = {}, .advice = "give another file", .details = {}});
    writeBankFile(bank, target);
}

void Document::writeBankFile(const BankPtr& bank, const fs::path& target) {
    Private& p = *m_private;
    const auto size = p.tokenizer ? p.tokenizer->size() : -1;
    compute::writeBank(*bank, target, {p.tokenizer.get(), size, false});
    p.banks[target.string()] = {.path = target.string(), .bank = bank, .problem = {}, .warnings = {}};
}

void Document::addBank(const fs::path& file) {
    BankEntry entry;
    entry.bank = fs::absolute(file).lexically_normal().string();
    for (const BankEntry& have : m_session.priors)
        if (m_session.resolve(have.bank) == entry.bank)
            throw compute::Error({.where = entry.bank, .what = "this bank is in the rack already", .expected = {}, .found = {},
                                  .advice = "switch it on there", .details = {}});
    m_private->banks.erase(entry.bank);
    Session session = m_session;
    session.priors.push_back(std::move(entry));
    setSession(std::move(session));
}

void Document::beginHere() {
    Private& p = *m_private;
    p.undo.clear();
    p.redo.clear();
    p.merge.clear();
    p.saved = m_session;
    Q_EMIT sessionChanged();
}

}  // namespace counterpoint::model
