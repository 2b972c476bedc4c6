// The rows of the window's registry: every command there is, in menu order.

#include <QAbstractButton>
#include <QApplication>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QToolBar>
#include <QVBoxLayout>

#include "app/lanefacts.h"
#include "app/mainwindow.h"
#include "compute/version.h"
#include "widgets/attempt.h"
#include "widgets/examplesdialog.h"
#include "widgets/palette.h"

namespace counterpoint::app {

namespace fs = std::filesystem;
using widgets::attempt;
using widgets::Glyph;

void MainWindow::buildActions() {
    Actions& a = *m_actions;
    const QString file = tr("File"), edit = tr("Edit"), decode = tr("Decode"), rack = tr("Rack"), view = tr("View"),
                  help = tr("Help");
    const QStringList sessions = {tr("Sessions (*.session.json *.json)"), tr("All files (*)")};
    const QStringList openable = {
        tr("Sessions, models and recordings (*.session.json *.json *.gguf *.pt *.ts *.safetensors)"),
        tr("Sessions (*.session.json *.json)"), tr("Models (*.gguf *.pt *.ts)"), tr("Recordings (*.safetensors)"),
        tr("All files (*)")};

    a.add({.id = "file.open",
           .menu = file,
           .text = tr("Open…"),
           .help = tr("Open a session, a GGUF or TorchScript file, or a recording"),
           .keys = QKeySequence::Open,
           .glyph = Glyph::Open,
           .run = [this, openable] {
               afterUnsaved([this, openable] {
                   ask(false, false, tr("Open a session, a model's file or a recording"), openable,
                       [this](const fs::path& path) { openFile(path); });
               });
           }});
    a.add({.id = "file.openModel",
           .menu = file,
           .text = tr("Open model directory…"),
           .help = tr("Open a model directory as the base"),
           .keys = QKeySequence("Ctrl+Shift+O"),
           .glyph = {},
           .run = [this] {
               afterUnsaved([this] {
                   ask(false, true, tr("Open model directory"), {}, [this](const fs::path& path) { openFile(path); });
               });
           }});
    refreshRecent();
    a.add({.id = "file.save",
           .menu = file,
           .text = tr("Save"),
           .help = tr("Save the session"),
           .keys = QKeySequence::Save,
           .glyph = Glyph::Save,
           .separated = true,
           .run = [this] {
               const fs::path& path = m_document.session().file;
               if (path.empty()) return m_actions->action(QStringLiteral("file.saveAs"))->trigger();
               saveTo(path);
           }});
    a.add({.id = "file.saveAs",
           .menu = file,
           .text = tr("Save as…"),
           .help = tr("Save the session under another name"),
           .keys = QKeySequence("Ctrl+Shift+S"),
           .glyph = {},
           .run = [this, sessions] {
               const auto whole = [](const fs::path& given) {
                   return given.extension() == ".json" ? given : fs::path(given.string() + ".session.json");
               };
               askName(tr("Save session"), sessions, whole, [this](const fs::path& path) { saveTo(path); });
           }});
    struct Export {
        const char* id;
        const char* text;
        const char* action;
        const char* keys;
    };
    for (const Export& e :
         {Export{"file.exportPdf", "PDF…", "exportPdf", "Ctrl+E"}, Export{"file.exportSvg", "SVG…", "exportSvg", ""},
          Export{"file.exportPng", "PNG…", "exportPng", ""}, Export{"file.exportCsv", "CSV…", "exportCsv", ""},
          Export{"file.copyData", "Copy data", "copyData", "Ctrl+Shift+C"}})
        a.add({.id = e.id,
               .menu = tr("File/Export plot"),
               .text = tr(e.text),
               .help = tr("Export the present plot: the one last used"),
               .keys = QKeySequence(e.keys),
               .glyph = {},
               .run = [this, action = e.action] { exportPlot(action); }});
    a.add({.id = "file.quit",
           .menu = file,
           .text = tr("Quit"),
           .help = tr("Close the window"),
           .keys = QKeySequence("Ctrl+Q"),
           .glyph = {},
           .separated = true,
           .run = [this] { close(); }});

    a.add({.id = "edit.undo",
           .menu = edit,
           .text = tr("Undo"),
           .help = tr("Undo the last change of the session"),
           .keys = QKeySequence::Undo,
           .glyph = Glyph::Undo,
           .run = [this] { m_document.undo(); }});
    a.add({.id = "edit.redo",
           .menu = edit,
           .text = tr("Redo"),
           .help = tr("Do again what was undone"),
           .keys = QKeySequence("Ctrl+Shift+Z"),
           .glyph = Glyph::Redo,
           .run = [this] { m_document.redo(); }});
    a.add({.id = "edit.prompt",
           .menu = edit,
           .text = tr("Edit prompt"),
           .help = tr("Put the keyboard into the prompt"),
           .keys = QKeySequence("Ctrl+L"),
           .glyph = {},
           .separated = true,
           .run = [this] {
               m_docks.at(QStringLiteral("dock.text"))->show();
               m_text->prompt().setFocus();
           }});
    a.add({.id = "edit.tokens",
           .menu = edit,
           .text = tr("Go to tokens"),
           .help = tr("Put the keyboard on the tokens"),
           .keys = QKeySequence("Ctrl+T"),
           .glyph = {},
           .run = [this] {
               m_docks.at(QStringLiteral("dock.text"))->show();
               m_text->strip().setFocus();
           }});

    a.add({.id = "decode.generate",
           .menu = decode,
           .text = tr("Generate"),
           .help = tr("Decode a new trace from the prompt"),
           .keys = QKeySequence("Ctrl+Return"),
           .glyph = Glyph::Play,
           .run = [this] { m_document.generate(); }});
    a.add({.id = "decode.step",
           .menu = decode,
           .text = tr("Step"),
           .help = tr("Decode one more token"),
           .keys = QKeySequence("F10"),
           .glyph = Glyph::Step,
           .run = [this] { m_document.stepOnce(); }});
    a.add({.id = "decode.pause",
           .menu = decode,
           .text = tr("Pause"),
           .help = tr("Hold the decode, or let it go on"),
           .keys = QKeySequence("F8"),
           .glyph = Glyph::Pause,
           .checkable = true,
           .run = [this] { m_document.pause(!m_document.paused()); }});
    a.add({.id = "decode.stop",
           .menu = decode,
           .text = tr("Stop"),
           .help = tr("Stop before the next token"),
           .keys = QKeySequence("Ctrl+."),
           .glyph = Glyph::Stop,
           .run = [this] { m_document.stop(); }});
    a.add({.id = "decode.continue",
           .menu = decode,
           .text = tr("Continue"),
           .help = tr("Decode on from the end of the present trace"),
           .keys = QKeySequence("Ctrl+Shift+Return"),
           .glyph = {},
           .run = [this] { m_document.continueDecode(); }});

    a.add({.id = "decode.restart",
           .menu = decode,
           .text = tr("Restart engine"),
           .help = tr("Leave a source that does not stop behind, and load the rack again"),
           .keys = {},
           .glyph = {},
           .run = [this] { m_document.restartEngine(); }});

    a.add({.id = "rack.add",
           .menu = rack,
           .text = tr("Add specialist…"),
           .help = tr("Open a model directory as a further specialist"),
           .keys = QKeySequence("Ctrl+Shift+A"),
           .glyph = Glyph::Plus,
           .run = [this] {
               ask(false, true, tr("Add specialist"), {}, [this](const fs::path& path) {
                   attempt(
                       m_document, [&] { m_document.addSpecialist(path); }, "rack.add");
               });
           }});
    a.add({.id = "rack.addRecording",
           .menu = rack,
           .text = tr("Add model file or recording…"),
           .help = tr("Add the model of a GGUF or TorchScript file, or what a recording holds and the rack has not"),
           .keys = {},
           .glyph = {},
           .run = [this] {
               ask(false, false, tr("Add model file or recording"),
                   {tr("Models and recordings (*.gguf *.pt *.ts *.safetensors)"), tr("All files (*)")},
                   [this](const fs::path& path) {
                       attempt(
                           m_document, [&] { m_document.addSpecialist(path); }, "rack.addRecording");
                   });
           }});
    a.add({.id = "rack.reload",
           .menu = rack,
           .text = tr("Load again"),
           .help = tr("Load the sources of the rack again"),
           .keys = QKeySequence("F5"),
           .glyph = {},
           .run = [this] { m_document.loadSources(); }});

    buildPriorActions();

    int number = 1;
    for (const QString& name : Perspectives::names())
        a.add({.id = QStringLiteral("view.perspective.") + name,
               .menu = tr("View/Perspective"),
               .text = name,
               .help = Perspectives::purpose(name),
               .keys = QKeySequence(QStringLiteral("Ctrl+%1").arg(number++)),
               .glyph = {},
               .checkable = true,
               .run = [this, name] { showPerspective(name); }});
    a.add({.id = "view.resetLayout",
           .menu = view,
           .text = tr("Reset layout"),
           .help = tr("The first layout of this perspective again"),
           .keys = QKeySequence("Ctrl+0"),
           .glyph = {},
           .run = [this] { m_perspectives->reset(); }});
    a.add({.id = "view.theme",
           .menu = view,
           .text = tr("Dark theme"),
           .help = tr("Dark or light"),
           .keys = QKeySequence("Ctrl+Shift+D"),
           .glyph = Glyph::Theme,
           .checkable = true,
           .run = [this] { applyTheme(widgets::currentTheme().kind != widgets::ThemeKind::Dark); }});
    a.action(QStringLiteral("view.theme"))->setChecked(widgets::currentTheme().kind == widgets::ThemeKind::Dark);
    a.add({.id = "view.palette",
           .menu = view,
           .text = tr("Command palette…"),
           .help = tr("Find any command by a few letters"),
           .keys = QKeySequence("Ctrl+K"),
           .glyph = Glyph::Palette,
           .run = [this] {
               if (m_palette == nullptr) m_palette = new widgets::CommandPalette(this);
               m_palette->open(m_actions->paletteItems());
           }});
    const std::pair<const char*, QString> buttons[] = {
        {"qt_dockwidget_closebutton", tr("Close; the View menu opens it")},
        {"qt_dockwidget_floatbutton", tr("Float, or dock again")}};
    for (const auto& [id, dock] : m_docks) {
        for (const auto& [name, help] : buttons)
            if (auto* button = dock->findChild<QAbstractButton*>(QLatin1String(name))) {
                button->setToolTip(help);
                button->setAccessibleName(dock->windowTitle() + QStringLiteral(": ") + help);
            }
        a.adopt(QStringLiteral("view.") + id, tr("View/Panels"), dock->toggleViewAction());
        a.add({.id = QStringLiteral("view.float.") + id,
               .menu = tr("View/Float or dock"),
               .text = dock->windowTitle(),
               .help = tr("Float this panel, or dock it again"),
               .keys = {},
               .glyph = {},
               .run = [d = dock] {
                   d->show();
                   d->setFloating(!d->isFloating());
                   d->raise();
               }});
    }
    a.add({.id = "priors.fromExamples",
           .menu = tr("Priors"),
           .text = tr("New prior from examples…"),
           .help = tr("Make a prior from two sets of texts, preferred and not"),
           .keys = {},
           .glyph = Glyph::Plus,
           .run = [this] { widgets::openExamplesDialog(m_document, this); }});
    a.add({.id = "help.keys",
           .menu = help,
           .text = tr("Keyboard"),
           .help = tr("Every shortcut"),
           .keys = QKeySequence("F1"),
           .glyph = {},
           .run = [this] { showShortcuts(); }});
    a.add({.id = "help.notices",
           .menu = help,
           .text = tr("Earlier notices"),
           .help = tr("What was said and has gone, the newest first"),
           .keys = {},
           .glyph = {},
           .run = [this] { showNotices(); }});
    a.add({.id = "help.about",
           .menu = help,
           .text = tr("About Counterpoint"),
           .help = tr("Versions, devices, licence"),
           .keys = {},
           .glyph = {},
           .run = [this] { showAbout(); }});
}

void MainWindow::showAbout() {
    auto* box = new QMessageBox(this);
    box->setObjectName(QStringLiteral("about"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("About Counterpoint"));
    box->setIconPixmap(widgets::applicationIcon().pixmap(64, 64));
    box->setText(tr("<b>Counterpoint %1</b><br>Composes language models while they decode.")
                     .arg(QLatin1String(compute::version())));
    const auto fill = [this, box] {
        QString text = QStringLiteral("Qt %1\n").arg(QLatin1String(qVersion()));
        if (!m_facts->known()) text += tr("libtorch: being asked\n");
        for (const auto& [name, value] : m_facts->versions()) text += QString::fromStdString(name + " " + value + "\n");
        box->setInformativeText(text + tr("\nFree software under the GNU General Public License, version 3 or later "
                                          "(GPL-3.0-or-later), without any warranty."));
    };
    fill();
    connect(m_facts.get(), &LaneFacts::answered, box, fill);
    m_facts->ask();
    box->open();
}

void MainWindow::showShortcuts() {
    auto* box = new QMessageBox(this);
    box->setObjectName(QStringLiteral("shortcuts"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("Keyboard"));
    QString rows;
    const auto row = [&rows](const QString& keys, const QString& text) {
        rows += QStringLiteral("<tr><td>%1&nbsp;&nbsp;&nbsp;</td><td>%2</td></tr>").arg(keys, text);
    };
    for (QAction* action : m_actions->all())
        if (!action->shortcut().isEmpty()) row(action->shortcut().toString(QKeySequence::NativeText), action->text());
    row(tr("←  →  ↑  ↓  Home  End"), tr("move the cursor on the tokens and in plots"));
    row(tr("Enter"), tr("branch from the selected token of the distribution"));
    row(tr("Alt+↑  Alt+↓"), tr("move a specialist in the rack, or the selected priors"));
    row(tr("Space  Delete  F2"), tr("switch, delete or edit the selected priors"));
    box->setText(QStringLiteral("<table>%1</table>").arg(rows));
    box->open();
}

void MainWindow::showNotices() {
    auto* box = new QDialog(this);
    box->setObjectName(QStringLiteral("pastNotices"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("Earlier notices"));
    QString text;
    const auto& past = m_document.pastNotices();
    for (auto notice = past.rbegin(); notice != past.rend(); ++notice)
        text +=
            QString::fromStdString(notice->sentence + "\n" + (notice->details.empty() ? "" : notice->details + "\n")) +
            QLatin1Char('\n');
    auto* list = new QPlainTextEdit(text.isEmpty() ? tr("Nothing was said yet that is not still there.") : text);
    list->setObjectName(QStringLiteral("pastNotices.text"));
    list->setReadOnly(true);
    list->setAccessibleName(box->windowTitle());
    (new QVBoxLayout(box))->addWidget(list);
    box->resize(640, 320);
    box->open();
}

}  // namespace counterpoint::app
