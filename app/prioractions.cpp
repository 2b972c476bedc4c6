// The rows of the registry for banks and priors, and the panel's buttons made of them.

#include "app/mainwindow.h"
#include "widgets/attempt.h"
#include "widgets/bankname.h"
#include "widgets/compressdialog.h"
#include "widgets/priorspanel.h"

namespace counterpoint::app {

namespace fs = std::filesystem;
using widgets::attempt;
using widgets::Glyph;
using Command = widgets::PriorsPanel::Command;

namespace {

struct PriorRow {
    const char* id;
    Command command;
    const char* text;
    const char* help;
    const char* keys;
    std::optional<Glyph> glyph;
    bool separated;
};
const PriorRow kPriorRows[] = {
    {"priors.new", Command::New, "New prior", "A new prior behind the selected ones", "Ctrl+Shift+N", Glyph::Plus,
     true},
    {"priors.duplicate", Command::Duplicate, "Duplicate", "A copy of the selected priors", "Ctrl+D", Glyph::Copy,
     false},
    {"priors.merge",
     Command::Merge,
     "Merge",
     "The selected priors become one: support and signs by their weighted sum (R10)",
     "",
     {},
     false},
    {"priors.split",
     Command::Split,
     "Split promoted and demoted",
     "What the prior demotes, a Δ below 0 too, becomes a prior of its own",
     "",
     {},
     false},
    {"priors.splitEntries",
     Command::SplitEntries,
     "Split selected entries",
     "The entries selected in the prior's detail become a prior of their own",
     "",
     {},
     false},
    {"priors.delete", Command::Delete, "Delete", "Take the selected priors out of the bank", "", {}, false},
    {"priors.mute",
     Command::Mute,
     "Mute",
     "Switch the selected priors off, or on again, in this session",
     "Ctrl+M",
     {},
     true},
    {"priors.solo", Command::Solo, "Solo", "Only the selected priors act; again: as it was", "Ctrl+Shift+M", {}, false},
    {"priors.resetEta", Command::ResetEta, "Reset η", "η is derived from q again: log(q/(1−q))", "", Glyph::Reset,
     false},
    {"priors.up",
     Command::Up,
     "Move up",
     "Nearer to the bank's beginning, where the table is not sorted",
     "",
     {},
     true},
    {"priors.down",
     Command::Down,
     "Move down",
     "Nearer to the bank's end, where the table is not sorted",
     "",
     {},
     false},
    {"priors.promote",
     Command::Promote,
     "Promote token",
     "The token selected in the distribution is promoted by the selected prior",
     "Ctrl++",
     {},
     true},
    {"priors.demote",
     Command::Demote,
     "Demote token",
     "The token selected in the distribution is demoted by the selected prior",
     "Ctrl+-",
     {},
     false},
    {"priors.removeBank", Command::RemoveBank, "Remove bank from the rack", "Its file stays as it is", "", {}, true},
};

}  // namespace

void MainWindow::buildPriorActions() {
    Actions& a = *m_actions;
    const QString priors = tr("Priors");
    const QStringList banks = {tr("Banks of priors (*.bank.json *.bank.safetensors)"), tr("All files (*)")};
    a.add({.id = "priors.open",
           .menu = priors,
           .text = tr("Open bank…"),
           .help = tr("Put a bank of priors at the end of the rack"),
           .keys = QKeySequence("Ctrl+Shift+B"),
           .glyph = Glyph::Open,
           .run = [this, banks] {
               ask(false, false, tr("Open a bank of priors"), banks, [this](const fs::path& file) { addBank(file); });
           }});
    a.add({.id = "priors.newBank",
           .menu = priors,
           .text = tr("New bank…"),
           .help = tr("Write an empty bank and put it at the end of the rack"),
           .keys = {},
           .glyph = Glyph::Plus,
           .run = [this, banks] {
               askName(tr("New bank of priors"), banks, widgets::bankPath, [this](const fs::path& file) {
                   auto bank = std::make_shared<compute::Bank>();
                   bank->name = file.stem().stem().string();
                   m_document.saveOther(std::move(bank), file);
                   addBank(file);
               });
           }});
    a.add({.id = "priors.save",
           .menu = priors,
           .text = tr("Save bank"),
           .help = tr("Write the bank into its file"),
           .keys = QKeySequence("Ctrl+B"),
           .glyph = Glyph::Save,
           .run = [this] { saveBank({}); }});
    a.add({.id = "priors.saveAs",
           .menu = priors,
           .text = tr("Save bank as…"),
           .help = tr("Write the bank as JSON or .bank.safetensors; the session names that file from then on"),
           .keys = {},
           .glyph = Glyph::Export,
           .run = [this, banks] {
               askName(tr("Save bank"), banks, widgets::bankPath, [this](const fs::path& file) { saveBank(file); });
           }});
    a.add({.id = "priors.compress",
           .menu = priors,
           .text = tr("Compress bank…"),
           .help = tr("What one bit, merging and aggregating keep of the bank and cost on the present trace"),
           .keys = {},
           .glyph = Glyph::Compress,
           .run = [this] {
               if (m_priors->bank() >= 0)
                   widgets::openCompressDialog(m_document, static_cast<std::size_t>(m_priors->bank()), this);
           }});
    a.add({.id = "priors.import",
           .menu = priors,
           .text = tr("Import priors…"),
           .help =
               tr("Put the priors of another bank's file behind those of this one; a name that is taken gets a number"),
           .keys = {},
           .glyph = {},
           .run = [this, banks] {
               ask(false, false, tr("Import priors"), banks, [this](const fs::path& file) {
                   attempt(
                       m_document, [&] { m_priors->importFrom(file); }, "priors");
               });
           }});
    a.add({.id = "priors.export",
           .menu = priors,
           .text = tr("Export selected priors…"),
           .help = tr("Write the selected priors, as they stand in the bank, into a new bank as JSON or "
                      ".bank.safetensors; the session stays as it is"),
           .keys = {},
           .glyph = {},
           .run = [this, banks] {
               askName(tr("Export priors"), banks, widgets::bankPath, [this](const fs::path& file) {
                   attempt(
                       m_document, [&] { m_priors->exportSelected(file); }, "priors");
               });
           }});
    a.add({.id = "priors.find",
           .menu = priors,
           .text = tr("Find prior"),
           .help = tr("Put the keyboard into the search line of the priors"),
           .keys = QKeySequence::Find,
           .glyph = Glyph::Palette,
           .run = [this] {
               m_docks.at(QStringLiteral("dock.priors"))->show();
               m_priors->search();
           }});
    for (const PriorRow& row : kPriorRows)
        a.add({.id = row.id,
               .menu = priors,
               .text = tr(row.text),
               .help = tr(row.help),
               .keys = QKeySequence(row.keys),
               .glyph = row.glyph,
               .separated = row.separated,
               .run = [this, command = row.command] { m_priors->run(command); }});
    const auto enable = [this] {
        for (const PriorRow& row : kPriorRows) m_actions->action(row.id)->setEnabled(m_priors->can(row.command));
        const int bank = m_priors->bank();
        const auto& entries = m_document.session().priors;
        const bool read = bank >= 0 && static_cast<std::size_t>(bank) < entries.size() &&
                          entries[static_cast<std::size_t>(bank)].content != nullptr;
        for (const char* id : {"priors.save", "priors.saveAs", "priors.compress", "priors.import"})
            m_actions->action(QLatin1String(id))->setEnabled(read);
        m_actions->action(QStringLiteral("priors.export"))->setEnabled(m_priors->can(Command::Duplicate));
    };
    connect(m_priors, &widgets::PriorsPanel::commandsChanged, this, enable);
    enable();
    const auto actions = [&a](std::initializer_list<const char*> ids) {
        std::vector<QAction*> all;
        for (const char* id : ids) all.push_back(id == nullptr ? nullptr : a.action(QLatin1String(id)));
        return all;
    };
    m_priors->setActions({.bank = actions({"priors.open", "priors.save", "priors.compress"}),
                          .priors = actions({"priors.new", "priors.duplicate", "priors.mute", "priors.solo"}),
                          .menu = actions({"priors.new",
                                           "priors.duplicate",
                                           "priors.merge",
                                           "priors.split",
                                           "priors.splitEntries",
                                           "priors.delete",
                                           nullptr,
                                           "priors.mute",
                                           "priors.solo",
                                           "priors.resetEta",
                                           nullptr,
                                           "priors.up",
                                           "priors.down",
                                           nullptr,
                                           "priors.promote",
                                           "priors.demote",
                                           nullptr,
                                           "priors.open",
                                           "priors.newBank",
                                           "priors.save",
                                           "priors.saveAs",
                                           "priors.compress",
                                           "priors.import",
                                           "priors.export",
                                           "priors.removeBank"}),
                          .empty = actions({"priors.open", "priors.newBank"})});
}

void MainWindow::addBank(const fs::path& file) {
    const auto add = [&] {
        m_document.addBank(file);
        model::View view = m_document.view();
        view.priorBank = static_cast<int>(m_document.session().priors.size()) - 1;
        view.prior.clear();
        m_document.setView(view);
    };
    attempt(m_document, add, "priors.open");
}

void MainWindow::saveBank(const fs::path& file) {
    if (m_priors->bank() < 0) return;
    const auto bank = static_cast<std::size_t>(m_priors->bank());
    attempt(
        m_document, [&] { m_document.saveBank(bank, file); }, "priors.save");
}

}  // namespace counterpoint::app
