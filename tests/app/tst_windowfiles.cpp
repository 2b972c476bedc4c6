// Files in and out of the window: drops, the file dialog, exports from the docks' context menus, devices.
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDropEvent>
#include <QFileInfo>
#include <QHashSeed>
#include <QHeaderView>
#include <QImage>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QProcess>
#include <QPushButton>
#include <QTableWidget>
#include <QTreeView>
#include <QXmlStreamReader>

#include "tests/app/exporting.h"
#include "tests/app/program.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

namespace fs = std::filesystem;

/// What the window makes of a drop; false: not even the hovering was accepted.
bool drop(QWidget& window, const QMimeData& data) {
    const QPoint at = window.rect().center();
    QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    enter.setAccepted(false);
    QCoreApplication::sendEvent(&window, &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &event);
    return true;
}

bool dropFile(QWidget& window, const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    return drop(window, data);
}

/// Answers the question what becomes of changes that are not saved.
void answerUnsaved(Opened& o, QMessageBox::StandardButton button) {
    auto* box = o.find<QMessageBox>("unsavedQuestion");
    QVERIFY(box != nullptr && box->isVisible());
    QTest::mouseClick(box->button(button), Qt::LeftButton);
    WAIT_UNTIL(o.find<QMessageBox>("unsavedQuestion") == nullptr);
}

}  // namespace

class TestWindowFiles : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void aSessionIsDropped() {
        Opened o;
        model::Session other = session("other base");
        other.prompt = "zyx";
        const QString path = o.folder.filePath("other.session.json");
        model::writeSession(other, path.toStdString());
        QVERIFY(dropFile(*o.window, path));
        answerUnsaved(o, QMessageBox::Cancel);
        QCOMPARE(o.document.session().prompt, std::string("abc"));
        QVERIFY(dropFile(*o.window, path));
        answerUnsaved(o, QMessageBox::Save);  // where nothing can be written
        QCOMPARE(o.document.session().prompt, std::string("abc"));
        QVERIFY(o.document.modified());
        QVERIFY(dropFile(*o.window, path));
        answerUnsaved(o, QMessageBox::Discard);
        QCOMPARE(o.document.session().prompt, std::string("zyx"));
        QCOMPARE(o.document.session().file, fs::path(path.toStdString()));
        QCOMPARE(o.settings->value("recent").toStringList().value(0), path);
        QVERIFY(o.window->windowTitle().startsWith("other"));
    }

    void aModelJoinsTheRack_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("folder") << "math"
                                << "math/config.json" << QByteArray("{}");
        QTest::newRow("GGUF") << "math.gguf"
                              << "math.gguf" << QByteArray("GGUF\3\0\0\0", 8);
        QTest::newRow("GGUF by another name") << "math"
                                              << "math" << QByteArray("GGUF\3\0\0\0", 8);
    }
    void aModelJoinsTheRack() {
        QFETCH(QString, name);
        QFETCH(QString, file);
        QFETCH(QByteArray, bytes);
        Opened o;
        QVERIFY(QDir(o.folder.path()).mkpath(QFileInfo(file).path()));
        write(o.folder.filePath(file), bytes);
        QVERIFY(dropFile(*o.window, o.folder.filePath(name)));
        QVERIFY(o.find<QMessageBox>("unsavedQuestion") == nullptr);
        QCOMPARE(o.document.session().specialists.size(), std::size_t{3});
        QCOMPARE(o.document.session().specialists.back().name, std::string("math"));
        QVERIFY(o.find<QWidget>("source.math") != nullptr);
        o.document.undo();
        QCOMPARE(o.document.session().specialists.size(), std::size_t{2});
    }

    /// As `counterpoint A.gguf B.gguf C` does it: the first is the base.
    void modelsOfTheCommandLine() {
        Opened o{model::Session()};
        std::vector<fs::path> files;
        for (const char* name : {"one.gguf", "two.gguf", "three"}) {
            write(o.folder.filePath(name), QByteArray("GGUF\3\0\0\0", 8));
            files.emplace_back(o.folder.filePath(name).toStdString());
        }
        o.window->openFiles(files);
        QCOMPARE(fs::path(o.document.session().base.path), files[0]);
        QCOMPARE(o.document.session().specialists.size(), std::size_t{2});
        QCOMPARE(o.document.session().specialists.back().name, std::string("three"));
        QVERIFY(!o.document.modified() && !o.document.canUndo());
    }

    void everyDroppedFolderJoinsTheRack() {
        Opened o;
        QMimeData data;
        QList<QUrl> folders;
        for (const char* name : {"math", "poetry"}) {
            const QString folder = o.folder.filePath(name);
            QVERIFY(QDir().mkpath(folder));
            write(folder + "/config.json", "{}");
            folders << QUrl::fromLocalFile(folder);
        }
        data.setUrls(folders);
        QVERIFY(drop(*o.window, data));
        QVERIFY(o.find<QWidget>("source.math") != nullptr && o.find<QWidget>("source.poetry") != nullptr);
    }

    void whatIsNoSessionIsSaid_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("no JSON") << "notes.json" << QByteArray("once upon a time");
        QTest::newRow("half a session") << "half.session.json" << QByteArray("{\"format\":\"counterpoint.sess");
        QTest::newRow("another format") << "other.json" << QByteArray("{\"format\":\"what\"}");
        QTest::newRow("random bytes") << "picture.png" << QByteArray("\x89PNG\r\n\x1a\n\0\0", 10);
        QTest::newRow("empty") << "empty.session.json" << QByteArray();
    }
    void whatIsNoSessionIsSaid() {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        Opened o;
        WAIT_UNTIL(o.document.ready());
        const model::Session before = o.document.session();
        const QString path = o.folder.filePath(name);
        write(path, bytes);
        QVERIFY(o.window->isWindowModified());
        QVERIFY(dropFile(*o.window, path));
        QVERIFY(o.find<QMessageBox>("unsavedQuestion") == nullptr);  // refused before anything is asked
        QVERIFY2(newestNotice(o.document).contains(name), qPrintable(newestNotice(o.document)));
        QVERIFY(newestNotice(o.document).endsWith('.') && !newestNotice(o.document).endsWith(".."));
        QVERIFY(o.document.notices().back().level == model::Notice::Level::Failure);
        QVERIFY(o.document.session() == before && o.document.ready());
    }

    void anAddressIsNoFile() {
        Opened o;
        QMimeData data;
        data.setUrls({QUrl("https://example.org/model.session.json")});
        const model::Session before = o.document.session();
        QVERIFY(drop(*o.window, data));
        QCOMPARE(o.document.notices().size(), std::size_t{1});
        QVERIFY(newestNotice(o.document).startsWith("Only files and folders"));
        QVERIFY(o.document.session() == before);
        QMimeData words;
        words.setText("not even an address");
        QVERIFY(!drop(*o.window, words));
    }

    void theDialogOpensSavesAndForgetsWhatWasCancelled() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        const QString saved = o.folder.filePath("mine");
        o.window->actions().action("file.saveAs")->trigger();
        answer(o.window->fileDialog(), saved);
        QVERIFY(QFileInfo::exists(saved + ".session.json"));
        QVERIFY(!o.window->isWindowModified());
        // A question that was cancelled is not asked again by the next answer.
        o.window->actions().action("rack.add")->trigger();
        WAIT_UNTIL(o.window->fileDialog().isVisible());
        o.window->fileDialog().reject();
        model::Session other = session("other base");
        other.prompt = "qrs";
        const QString path = o.folder.filePath("other.session.json");
        model::writeSession(other, path.toStdString());
        o.window->actions().action("file.open")->trigger();
        answer(o.window->fileDialog(), path);
        QCOMPARE(o.document.session().prompt, std::string("qrs"));
        QCOMPARE(o.document.session().specialists.size(), std::size_t{2});
    }

    /// Names have what the other columns leave, the others are whole; a button that is off can be read.
    void theDialogCanBeRead() {
        Opened o;
        write(o.folder.filePath("a rather long name of a session, so long that it is cut.session.json"), "{}");
        o.document.beginHere();
        o.window->actions().action("file.open")->trigger();
        QFileDialog& dialog = o.window->fileDialog();
        WAIT_UNTIL(dialog.isVisible());
        dialog.setDirectory(o.folder.path());
        auto* files = dialog.findChild<QTreeView*>("treeView");
        WAIT_UNTIL(files->model()->rowCount(files->rootIndex()) > 0);
        dialog.resize(900, 500);
        QCoreApplication::processEvents();
        int all = 0;
        for (int column = 0; column < files->header()->count(); ++column) {
            const int width = files->header()->isSectionHidden(column) ? 0 : files->columnWidth(column);
            all += width;
            if (column > 0 && width > 0)
                QVERIFY2(width >= static_cast<QAbstractItemView*>(files)->sizeHintForColumn(column), qPrintable(QString::number(column)));
        }
        QVERIFY2(std::abs(all - files->viewport()->width()) <= 1, qPrintable(QString::number(all)));
        QVERIFY(files->columnWidth(0) > files->columnWidth(1));

        auto* button = dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Open);
        QVERIFY(button->isVisible() && !button->isEnabled());
        const QImage picture = button->grab(button->rect().adjusted(4, 4, -4, -4)).toImage();
        double most = 1;
        for (int y = 0; y < picture.height(); ++y)
            for (int x = 0; x < picture.width(); ++x)
                most = std::max(most, widgets::contrast(picture.pixelColor(0, 0), picture.pixelColor(x, y)));
        QVERIFY2(most >= 4.5, qPrintable(QString::number(most)));
        dialog.reject();
    }

    /// What opens has a name in the menu and a filter of its own in the dialog.
    void whatCanBeOpenedIsSaid() {
        Opened o;
        o.document.beginHere();
        auto* open = o.window->actions().action("file.open");
        QCOMPARE(open->text(), QString("Open…"));
        open->trigger();
        QFileDialog& dialog = o.window->fileDialog();
        WAIT_UNTIL(dialog.isVisible());
        QCOMPARE(dialog.nameFilters().size(), 5);
        for (const char* ending : {"*.session.json", "*.gguf", "*.pt", "*.ts", "*.safetensors"})
            QCOMPARE(dialog.nameFilters().filter(ending).size(), 2);
        for (const char* kind : {"session", "model", "recording"}) QVERIFY2(dialog.windowTitle().contains(kind), kind);
        dialog.reject();
    }

    /// A recent file that could not be opened stays in the list and says why, until it opens.
    void recentFilesSayWhatFailed() {
        Opened o;
        o.document.beginHere();
        const QString path = o.folder.filePath("other.session.json"), aside = path + ".aside";
        model::writeSession(session("other base"), path.toStdString());
        QMenu* menu = o.window->actions().menu("File/Open recent");
        const auto entry = [&] { return menu->actions().front(); };
        o.window->openFiles({path.toStdString()});
        WAIT_UNTIL(o.document.ready() && !o.document.busy());
        QCOMPARE(entry()->text(), path);

        QVERIFY(QFile::rename(path, aside));  // a disk that is not there now
        entry()->trigger();
        WAIT_UNTIL_EQUAL(entry()->text(), path + " (failed)");
        QVERIFY2(entry()->toolTip().contains("there is no such file"), qPrintable(entry()->toolTip()));
        QVERIFY(QFile::rename(aside, path));
        entry()->trigger();
        WAIT_UNTIL(o.document.ready() && !o.document.busy());
        QCOMPARE(entry()->text(), path);

        model::writeSession(session("missing base"), path.toStdString());  // fails after it was opened
        entry()->trigger();
        WAIT_UNTIL_EQUAL(entry()->text(), path + " (failed)");
        QVERIFY2(entry()->toolTip().contains("it is not there"), qPrintable(entry()->toolTip()));
        QCOMPARE(o.settings->value("recent").toStringList().value(0), path);
        model::writeSession(session("base"), path.toStdString());
        entry()->trigger();
        WAIT_UNTIL_EQUAL(entry()->text(), path);
    }

    void changesAreAskedAboutBeforeTheyAreLost() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        o.document.save(o.folder.filePath("mine.session.json").toStdString());
        model::Session changed = o.document.session();
        changed.prompt = "mno";
        o.document.setSession(changed);
        QVERIFY(!o.window->close());
        answerUnsaved(o, QMessageBox::Cancel);
        QVERIFY(o.window->isVisible());
        o.window->actions().action("file.open")->trigger();
        answerUnsaved(o, QMessageBox::Save);
        QVERIFY(contents(o.folder.filePath("mine.session.json")).contains("mno"));
        WAIT_UNTIL(o.window->fileDialog().isVisible());
        o.window->fileDialog().reject();
        changed = o.document.session();
        changed.prompt = "pqr";
        o.document.setSession(changed);
        QVERIFY(!o.window->close());
        answerUnsaved(o, QMessageBox::Discard);
        QVERIFY(!o.window->isVisible());
        QVERIFY(!contents(o.folder.filePath("mine.session.json")).contains("pqr"));
    }

    void everyFormatLeavesByTheContextMenu() {
        Opened o;
        o.decode();
        for (const auto& [action, name] : kExports) exportDrift(*o.window, o.document, action, o.folder.filePath(name));
        o.document.save(o.folder.filePath("mine.session.json").toStdString());
        o.window->actions().action("file.open")->trigger();
        WAIT_UNTIL(o.window->fileDialog().isVisible());
        QCOMPARE(o.window->fileDialog().findChild<QLineEdit*>("fileNameEdit")->text(), QString());
        o.window->fileDialog().reject();
        const QString csv = QString::fromUtf8(contents(o.folder.filePath("drift.csv")));
        QVERIFY2(csv.startsWith("Position,drift,running sum\r\n"), qPrintable(csv.left(80)));
        QCOMPARE(csv.count('\n'), 1 + static_cast<int>(o.document.trace()->steps.size()));
        QCOMPARE(contents(o.folder.filePath("table.csv")), contents(o.folder.filePath("drift.csv")));
        QVERIFY(contents(o.folder.filePath("drift.json")).contains("\"format\": \"counterpoint.figure/1\""));
        QVERIFY(QFileInfo::exists(o.folder.filePath("table.json")));
    }

    /// HAZARDS A29: what was asked for, on any screen.
    void exportsHaveTheirSizeOnEveryScreen() {
        std::map<QString, QByteArray> first;
        for (const char* scale : {"1", "1.25", "2"}) {
            QTemporaryDir folder;
            QProcess child;
            child.setProcessChannelMode(QProcess::ForwardedChannels);
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert("QT_SCALE_FACTOR", scale);
            child.setProcessEnvironment(environment);
            child.start(QCoreApplication::applicationFilePath(), {"--export", folder.path()});
            QVERIFY(child.waitForFinished(60000));
            QCOMPARE(child.exitCode(), 0);
            const QImage png(folder.filePath("drift.png"));
            QCOMPARE(png.size(), QSize(1004, 709));  // 85 mm × 60 mm at 300 dpi
            QCOMPARE(png.dotsPerMeterX(), 11811);
            QXmlStreamReader svg(contents(folder.filePath("drift.svg")));
            QVERIFY(svg.readNextStartElement());
            QVERIFY(std::abs(svg.attributes().value("width").toString().remove("mm").toDouble() - 85) < 0.05);
            for (const auto& [action, name] : kExports) {
                const QByteArray bytes = contents(folder.filePath(name));
                QVERIFY2(bytes.size() > 100, name);
                QVERIFY2(first.try_emplace(name, bytes).first->second == bytes, name);
            }
        }
    }

    void anotherDeviceLoadsTheSourcesAgain() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        auto* device = o.find<QComboBox>("device");
        device->addItem("a second one", "other:1");
        device->setFocus();
        QTest::keyClick(device, Qt::Key_End);
        QTest::keyClick(device, Qt::Key_Return);
        if (o.document.device() != "other:1") Q_EMIT device->activated(device->count() - 1);
        QCOMPARE(o.document.device(), std::string("other:1"));
        WAIT_UNTIL(o.document.ready());
        for (std::size_t i = 0; i < 3; ++i) QCOMPARE(o.document.status(i).info.device, std::string("other:1"));
        QVERIFY(o.find<QLabel>("state")->text().contains("other:1"));
    }

    /// From the registry; the same one when it is asked for again, and the window stays usable.
    void aPriorFromExamplesIsAskedFor() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        QAction* action = o.window->actions().action("priors.fromExamples");
        action->trigger();
        auto* dialog = o.find<QDialog>("examplesDialog");
        QVERIFY(dialog != nullptr && dialog->isVisible() && !dialog->isModal());
        action->trigger();
        QCOMPARE(o.window->findChildren<QDialog*>("examplesDialog").size(), 1);
        o.decode();
        QCOMPARE(dialog->findChild<QTableWidget*>("examples.traces")->rowCount(), 1);
        dialog->close();
        WAIT_UNTIL(o.find<QDialog>("examplesDialog") == nullptr);
    }
};

int main(int argc, char** argv) {
    QHashSeed::setDeterministicGlobalSeed();  // a PDF lists its fonts in the order of a hash
    QApplication application(argc, argv);
    if (argc != 3 || QByteArray(argv[1]) != "--export") {
        TestWindowFiles test;
        return QTest::qExec(&test, argc, argv);
    }
    widgets::applyTheme(application, widgets::ThemeKind::Light);
    Opened o;
    o.decode();
    for (const auto& [action, name] : kExports)
        exportDrift(*o.window, o.document, action, QString::fromUtf8(argv[2]) + '/' + QString::fromLatin1(name));
    return 0;
}
#include "tst_windowfiles.moc"
