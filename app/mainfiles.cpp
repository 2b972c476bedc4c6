// The window's files: opened, saved, dropped, asked for.

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>

#include "app/mainwindow.h"
#include "compute/error.h"
#include "model/opensession.h"
#include "widgets/attempt.h"

namespace counterpoint::app {

namespace fs = std::filesystem;
using model::Document;
using widgets::attempt;

namespace {

/// Models join the rack; anything else, what is refused too, takes the place of what is open.
bool joins(const fs::path& file) {
    try {
        return model::isModel(file);
    } catch (const compute::Error&) {
        return false;  // opening says what is wrong
    }
}

}  // namespace

bool isNewCode(QSettings& settings, const std::string& sha256) {
    const QString key = QStringLiteral("code/") + QString::fromStdString(sha256);
    if (settings.contains(key)) return false;
    settings.setValue(key, true);
    return true;
}

void MainWindow::openFiles(const std::vector<fs::path>& files) {
    bool first = m_document.session().base.path.empty();
    const bool beginning = first;
    for (const fs::path& file : files) {
        if (!first && joins(file))
            attempt(
                m_document, [&] { m_document.addSpecialist(file); }, "rack.add");
        else
            openFile(file);
        first = false;
    }
    if (beginning && files.size() > 1) m_document.beginHere();
}

void MainWindow::openFile(const fs::path& file) {
    const auto open = [&] {
        m_document.open(file);
        remember(file);
    };
    attempt(m_document, open, "open");
}

void MainWindow::remember(const fs::path& file) {
    const QString path = QString::fromStdString(fs::absolute(file).lexically_normal().string());
    QStringList recent = m_settings.value(QStringLiteral("recent")).toStringList();
    recent.removeAll(path);
    recent.prepend(path);
    constexpr int kept = 10;
    m_settings.setValue(QStringLiteral("recent"), recent.mid(0, kept));
    refreshRecent();
}

void MainWindow::refreshRecent() {
    QMenu* menu = m_actions->menu(tr("File/Open recent"));
    menu->clear();
    for (const QString& path : m_settings.value(QStringLiteral("recent")).toStringList()) {
        QAction* action = menu->addAction(path);
        connect(action, &QAction::triggered, this, [this, path] {
            const fs::path chosen = path.toStdString();
            if (attempt(
                    m_document, [&] { Document::check(chosen); }, "open"))
                afterUnsaved([this, chosen] { openFile(chosen); });
        });
    }
    if (menu->isEmpty()) menu->addAction(tr("nothing opened yet"))->setEnabled(false);
}

void MainWindow::ask(bool save, bool folder, const QString& title, const QStringList& filters,
                     std::function<void(const fs::path&)> then) {
    QFileDialog& dialog = fileDialog();
    disconnect(m_asked);
    dialog.setWindowTitle(title);
    dialog.setOption(QFileDialog::ShowDirsOnly, false);
    dialog.setAcceptMode(save ? QFileDialog::AcceptSave : QFileDialog::AcceptOpen);
    dialog.setFileMode(save ? QFileDialog::AnyFile : folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    dialog.setNameFilters(filters);
    // selectFile takes no empty name: without this the last answer stood there again.
    if (auto* name = dialog.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))) name->clear();
    if (const fs::path& file = m_document.session().file; !file.empty())
        dialog.setDirectory(QString::fromStdString(fs::absolute(file).parent_path().string()));
    m_asked = connect(&dialog, &QFileDialog::fileSelected, this, [this, then = std::move(then)](const QString& file) {
        attempt(m_document, [&] { then(file.toStdString()); });
    });
    dialog.open();
}

void MainWindow::saveTo(const fs::path& file) {
    fs::path target = file;
    if (target.extension() != ".json") target += ".session.json";
    const auto save = [&] {
        m_document.save(target);
        remember(target);
        refreshTitle();
    };
    attempt(m_document, save, "save");
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    std::vector<fs::path> files;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) files.emplace_back(url.toLocalFile().toStdString());
    event->acceptProposedAction();
    if (files.empty())
        return m_document.notify(model::Notice::Level::Warning,
                                 "Only files and folders of this machine can be dropped here.");
    bool replaces = false;
    for (const fs::path& file : files) {  // what is refused is refused before anything is asked
        if (joins(file)) continue;
        replaces = true;
        if (!attempt(
                m_document, [&] { Document::check(file); }, "open"))
            return;
    }
    if (!replaces) return openFiles(files);
    afterUnsaved([this, files] { openFiles(files); });
}

}  // namespace counterpoint::app
