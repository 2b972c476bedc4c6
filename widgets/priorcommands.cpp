// What the bank editor does with the selected priors, each a change of the session: declared in priorspanel.h.

#include <QHeaderView>
#include <algorithm>
#include <mutex>
#include <utility>

#include "compute/printable.h"
#include "model/bankparts.h"
#include "widgets/attempt.h"
#include "widgets/priorspanel.h"

namespace counterpoint::widgets {

void PriorsPanel::apply(model::Session session) { m_document.setSession(std::move(session)); }

compute::TokenId PriorsPanel::shownToken() const {
    return m_document.trace() == nullptr ? compute::kNoToken
                                         : model::shownToken(*m_document.trace(), m_document.view());
}

bool PriorsPanel::can(Command command) const {
    const model::Session& session = m_document.session();
    if (bank() < 0 || bank() >= static_cast<int>(session.priors.size())) return false;
    if (command == Command::RemoveBank) return true;
    if (!session.priors[static_cast<std::size_t>(bank())].content) return false;
    if (command == Command::New) return true;
    const std::size_t now = m_view->current();
    if (now == kNoPrior || m_view->selected().empty()) return false;
    switch (command) {
        case Command::Up:
        case Command::Down:
            return m_view->horizontalHeader()->sortIndicatorSection() < 0 &&
                   m_table.rowCount() == static_cast<int>(m_table.total());
        case Command::Merge:
            return m_view->selected().size() > 1;
        case Command::Split:
            return model::hasBothSides(m_table.prior(now));
        case Command::SplitEntries: {
            const compute::Prior& whole = m_table.prior(now);
            return m_entriesOf == m_table.content()->priors.at(now) && !m_entries.empty() &&
                   m_entries.size() < whole.promote.size() + whole.demote.size() + whole.delta.size();
        }
        case Command::Promote:
        case Command::Demote:
            return shownToken() != compute::kNoToken;
        default:
            return true;
    }
}

void PriorsPanel::run(Command command) {
    if (!can(command)) return;
    const auto at = static_cast<std::size_t>(bank());
    std::vector<std::size_t> rows = m_view->selected();
    const std::size_t now = m_view->current();
    model::Session session = m_document.session();
    using namespace model;
    switch (command) {
        case Command::New: {
            const std::size_t place = rows.empty() ? m_table.total() : rows.back() + 1;
            compute::Prior prior;
            prior.name = "new prior";
            prior.quality = 0.75;
            m_search->clear();
            m_matched->setChecked(false);
            apply(withNewPrior(std::move(session), at, place, std::move(prior)));
            m_view->select({place});
            return m_view->edit(m_view->currentIndex());
        }
        case Command::Duplicate: {
            const std::size_t place = rows.back() + 1;
            apply(withDuplicates(std::move(session), at, rows));
            std::vector<std::size_t> copies;
            for (std::size_t i = 0; i < rows.size(); ++i) copies.push_back(place + i);
            return m_view->select(copies);
        }
        case Command::Delete:
            apply(withoutPriors(std::move(session), at, rows));
            if (m_table.total() > 0) m_view->select({std::min(rows.front(), m_table.total() - 1)});
            return;
        case Command::Merge: {
            const auto& tokenizer = m_document.tokenizer();  // what is joined becomes its ids
            session = withIdsOf(std::move(session), at, tokenizer.get());
            apply(
                withMerged(std::move(session), at, rows, {tokenizer.get(), tokenizer ? tokenizer->size() : -1, false}));
            return m_view->select({rows.front()});
        }
        case Command::Split:
        case Command::SplitEntries:
            apply(withSplit(std::move(session), at, now,
                            command == Command::Split ? demotedEntries(m_table.prior(now)) : m_entries));
            return m_view->select({now, now + 1});
        case Command::Solo:
            return solo(rows);
        case Command::Mute: {
            const auto on = [&](std::size_t i) {
                return isOn(m_table.prior(i), overrideOf(session.priors[at], m_table.prior(i).name));
            };
            const bool any = std::any_of(rows.begin(), rows.end(), on);
            return apply(withSwitched(std::move(session), at, rows, !any));
        }
        case Command::Up:
        case Command::Down:
            apply(withPriorsMoved(std::move(session), at, rows, command == Command::Up ? -1 : 1));
            return m_view->select(rows);
        case Command::ResetEta:
            return resetEta(rows);
        case Command::Promote:
        case Command::Demote:
            return put(now, shownToken(), command == Command::Promote ? Side::Promote : Side::Demote);
        case Command::RemoveBank:
            session.priors.erase(session.priors.begin() + static_cast<std::ptrdiff_t>(at));
            return apply(std::move(session));
    }
}

void PriorsPanel::resetEta(const std::vector<std::size_t>& priors) {
    apply(model::withDerivedEta(m_document.session(), static_cast<std::size_t>(bank()), priors));
}

void PriorsPanel::setEntries(compute::PriorPtr prior, std::vector<std::size_t> entries) {
    m_entriesOf = std::move(prior);
    m_entries = std::move(entries);
    Q_EMIT commandsChanged();
}

void PriorsPanel::exportSelected(const std::filesystem::path& file) {
    if (!can(Command::Duplicate)) return;
    const std::vector<std::size_t> rows = m_view->selected();
    m_document.saveOther(std::make_shared<const compute::Bank>(
                             model::bankOfPriors(*m_table.content(), rows, file.stem().stem().string())),
                         file);
    m_document.notify(
        model::Notice::Level::Info,
        compute::printable("Exported " + model::countOf(rows.size(), "prior") + " to " + file.string() + "."), {},
        "priors.export");
}

/// A bank's file on its way into another bank.
struct PriorsPanel::Importing {
    std::filesystem::path path;
    std::string into;  ///< the rack's bank
    std::mutex mutex;
    bool over = false;
    model::BankFile file;
};

void PriorsPanel::importFrom(const std::filesystem::path& file) {
    if (!can(Command::New)) return;
    m_importing = std::make_shared<Importing>();
    m_importing->path = file;
    m_importing->into = m_document.session().priors[static_cast<std::size_t>(bank())].bank;
    // Over too where the job goes without having run.
    const std::shared_ptr<void> atEnd(nullptr, [of = m_importing](void*) {
        const std::scoped_lock lock(of->mutex);
        of->over = true;
    });
    m_document.engine().run(
        [of = m_importing, atEnd](const std::stop_token&) { of->file = model::readBankFile(of->path.string()); },
        "Reading a bank");
    m_importLook.start();
}

void PriorsPanel::lookForImport() {
    {
        const std::scoped_lock lock(m_importing->mutex);
        if (!m_importing->over) return;
    }
    m_importLook.stop();
    const std::shared_ptr<Importing> of = std::exchange(m_importing, nullptr);
    attempt(
        m_document, [&] { takeImport(*of); }, "priors");
}

void PriorsPanel::takeImport(const Importing& of) {
    const std::string& problem = of.file.problem;
    if (!problem.empty()) return m_document.notify(model::Notice::Level::Failure, problem, {}, "priors.import");
    if (!of.file.bank) return;
    const auto& banks = m_document.session().priors;
    const auto into = std::ranges::find(banks, of.into, &model::BankEntry::bank);
    if (into == banks.end() || into - banks.begin() != bank())
        return m_document.notify(
            model::Notice::Level::Warning,
            compute::printable("Nothing was imported from " + of.path.string() +
                               ": another bank is shown now than when it was asked for; import it again."),
            {}, "priors.import");
    const std::string where = of.path.string();
    model::Import import = model::withImported(m_document.session(), static_cast<std::size_t>(bank()), *of.file.bank,
                                               m_document.tokenizer().get(), where);
    apply(std::move(import.session));
    m_search->clear();
    m_matched->setChecked(false);
    std::vector<std::size_t> imported;
    for (std::size_t i = 0; i < import.count; ++i) imported.push_back(import.first + i);
    m_view->select(imported);
    for (const std::string& warning : of.file.warnings) m_document.notify(model::Notice::Level::Warning, warning);
    const std::string left = model::leftBehind(import);
    const std::string count = model::countOf(import.count, "prior");
    m_document.notify(left.empty() ? model::Notice::Level::Info : model::Notice::Level::Warning,
                      compute::printable("Imported " + count + " from " + where + left + "."), {}, "priors.import");
}

void PriorsPanel::put(std::size_t prior, compute::TokenId token, model::Side side) {
    attempt(
        m_document,
        [&] {
            const auto at = static_cast<std::size_t>(bank());
            const model::Trace* trace = m_document.trace();  // the token is one of its tokenizer
            model::Session session =
                model::withIdsOf(m_document.session(), at, trace == nullptr ? nullptr : trace->tokenizer.get());
            apply(model::withPrior(std::move(session), at, prior,
                                   model::withToken(m_table.prior(prior), side, token, becameOf(prior))));
        },
        "priors");
}

compute::Factor PriorsPanel::becameOf(std::size_t prior) const {
    const auto* member = m_table.member(prior);
    return member != nullptr ? *member->factor : compute::Factor{};
}

PriorsPanel::Switches PriorsPanel::switches() const {
    const model::Session& session = m_document.session();
    Switches all;
    for (std::size_t b = 0; b < session.priors.size(); ++b)
        all.push_back({session.priors[b].bank, session.priors[b].enabled,
                       session.priors[b].content ? model::switchesOf(session, b) : std::vector<bool>()});
    return all;
}

void PriorsPanel::solo(const std::vector<std::size_t>& priors) {
    const auto at = static_cast<std::size_t>(bank());
    const Switches now = switches();
    model::Session changed = m_document.session();
    std::vector<bool> wanted(now[at].priors.size(), false);
    for (const std::size_t i : priors) wanted.at(i) = true;
    for (std::size_t b = 0; b < changed.priors.size(); ++b) changed.priors[b].enabled = b == at;
    changed = model::withSwitches(std::move(changed), at, wanted);
    // What another hand has changed since, undo among them, is nobody's solo.
    if (m_solo && m_solo->after != now) m_solo.reset();
    if (changed != m_document.session()) {
        if (!m_solo) m_solo = {.before = now, .after = {}};
        apply(std::move(changed));
        m_solo->after = switches();
        return;
    }
    if (!m_solo) return;
    for (std::size_t b = 0; b < changed.priors.size(); ++b) {  // again: as it was
        changed.priors[b].enabled = m_solo->before[b].enabled;
        if (changed.priors[b].content) changed = model::withSwitches(std::move(changed), b, m_solo->before[b].priors);
    }
    m_solo.reset();
    apply(std::move(changed));
}

}  // namespace counterpoint::widgets
