// The window's files: opened, saved, dropped, asked for.

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QTimer>
#include <utility>

#include "app/mainwindow.h"
#include "compute/error.h"
#include "model/opensession.h"
#include "widgets/attempt.h"
#include "widgets/bankname.h"

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

/// What a file is called in the list of recent ones.
QString keyOf(const fs::path& file) { return QString::fromStdString(fs::absolute(file).lexically_normal().string()); }

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
        if (widgets::isBank(file)) {
            addBank(file);
            continue;
        }
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
        m_openingSince = m_document.notices().empty() ? 0 : m_document.notices().back().id;
        m_document.open(file);
        remember(file);
        m_opening = keyOf(file);
    };
    if (!attempt(m_document, open, "open"))
        recentFailed(keyOf(file), QString::fromStdString(m_document.notices().back().sentence));
}

void MainWindow::watchOpening() {
    if (m_opening.isEmpty() || m_document.busy()) return;
    const QString path = std::exchange(m_opening, QString());
    for (const model::Notice& notice : m_document.notices())
        if (notice.id > m_openingSince && notice.about == "Loading" && notice.level == model::Notice::Level::Failure)
            return recentFailed(path, QString::fromStdString(notice.sentence));
    m_recentTrouble.remove(path);
    refreshRecent();
}

void MainWindow::recentFailed(const QString& path, const QString& why) {
    m_recentTrouble[path] = why;
    refreshRecent();
}

void MainWindow::remember(const fs::path& file) {
    const QString path = keyOf(file);
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
    menu->setToolTipsVisible(true);
    for (const QString& path : m_settings.value(QStringLiteral("recent")).toStringList()) {
        // What failed stays, since it may be mended or come back, and says so. Nobody asks a slow disk meanwhile.
        const auto trouble = m_recentTrouble.constFind(path);
        const bool failed = trouble != m_recentTrouble.constEnd();
        QAction* action = menu->addAction(failed ? tr("%1 (failed)").arg(path) : path);
        action->setToolTip(failed ? tr("The last time it could not be opened: %1").arg(*trouble) : path);
        connect(action, &QAction::triggered, this, [this, path] {
            const fs::path chosen = path.toStdString();
            if (attempt(
                    m_document, [&] { Document::check(chosen); }, "open"))
                afterUnsaved([this, chosen] { openFile(chosen); });
            else  // not at once: the menu's entry is what asked
                QTimer::singleShot(0, this, [this, path, why = m_document.notices().back().sentence] {
                    recentFailed(path, QString::fromStdString(why));
                });
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

void MainWindow::askName(const QString& title, const QStringList& filters, fs::path (*whole)(const fs::path&),
                         std::function<void(const fs::path&)> then) {
    ask(true, false, title, filters, [whole, then = std::move(then)](const fs::path& given) {
        const fs::path target = whole(given);
        widgets::requireFree(given, target);
        then(target);
    });
}

void MainWindow::saveTo(const fs::path& file) {
    const auto save = [&] {
        m_document.save(file);
        remember(file);
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
        if (joins(file) || widgets::isBank(file)) continue;
        replaces = true;
        if (!attempt(
                m_document, [&] { Document::check(file); }, "open"))
            return;
    }
    if (!replaces) return openFiles(files);
    afterUnsaved([this, files] { openFiles(files); });
}

}  // namespace counterpoint::app
