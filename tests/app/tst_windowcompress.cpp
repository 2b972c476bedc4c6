// Compressing a bank from the window, on a recording: the menu, the palette's action and the bank line open the dialog
// on the bank that is shown; its numbers and its file are those of `counterpoint bank compress --session`.
#include <QComboBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QToolButton>
#include <nlohmann/json.hpp>

#include "compute/files/atomicfile.h"
#include "tests/app/opened.h"
#include "tests/app/program.h"
#include "tests/support/scratch.h"
#include "tests/support/toyrecording.h"
#include "widgets/compressdialog.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using Json = nlohmann::ordered_json;
using widgets::CompressDialog;

namespace {

constexpr const char* kBank = R"({"format":"counterpoint.bank/1","name":"ids","priors":[
 {"name":"one","quality":0.8,"delta":{"1":1.0,"2":0.5,"3":-1.5}},
 {"name":"alike","quality":0.7,"delta":{"1":0.7,"2":0.7,"3":-0.7}},
 {"name":"other","task":"u","quality":0.9,"delta":{"5":2.0,"7":2.0,"8":-0.5},"when":{"kind":"tokens","ids":[5]}}]})";
constexpr const char* kSession = R"({"format":"counterpoint.session/1","mode":"score","prompt":"",
 "base":{"name":"base","path":"r.safetensors","source":"base"},
 "priors":[{"bank":"empty.bank.json"},{"bank":"ids.bank.json","weight":1.5}]})";

}  // namespace

class TestWindowCompress : public QObject, Scratch {
    Q_OBJECT
    QString path(const char* name) const { return QString::fromStdString((folder() / name).string()); }

  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() {
        failOnAnyWarning();
        renew();
        ToyRecording({1, 5, 3, 7, 2, 5, 3, 8}, 120, {"base"}).write(folder() / "r.safetensors");
        compute::writeFile(folder() / "ids.bank.json", kBank);
        compute::writeFile(folder() / "empty.bank.json", R"({"format":"counterpoint.bank/1","priors":[]})");
        compute::writeFile(folder() / "s.session.json", kSession);
    }

    void asTheCommandDoes() {
        QSettings settings(path("window.ini"), QSettings::IniFormat);
        model::Document document;
        app::MainWindow window(document, settings);
        window.restore("Priors");
        window.resize(1280, 800);
        window.show();
        document.open(folder() / "s.session.json");
        WAIT_UNTIL(document.ready() && document.session().priors.at(1).content);
        document.generate();
        WAIT_UNTIL(!document.busy() && document.trace() != nullptr && !document.trace()->stop.empty());
        model::View view = document.view();
        view.priorBank = 1;
        document.setView(view);
        QCoreApplication::processEvents();

        QAction* action = window.actions().action("priors.compress");
        QVERIFY(action != nullptr && action->isEnabled());
        auto* line = window.findChild<QToolButton*>("button.priors.compress");
        QVERIFY(line != nullptr && line->isVisible());
        bool inMenu = false;
        for (const QAction* menu : window.menuBar()->actions())
            if (menu->menu() != nullptr && menu->menu()->actions().contains(action))
                inMenu = menu->text().contains("Priors");
        QVERIFY(inMenu);
        QTest::mouseClick(line, Qt::LeftButton);
        auto* dialog = window.findChild<CompressDialog*>("compressDialog");
        QVERIFY(dialog != nullptr && dialog->isVisible());
        WAIT_UNTIL(!dialog->work().working() && dialog->work().report() != nullptr);
        QCOMPARE(dialog->findChild<QComboBox*>("compress.bank")->currentText(), QString("ids.bank.json"));

        for (const char* level : {"1", "2", "3"}) {
            const Finished finished =
                runProgram({"bank", "compress", path("ids.bank.json"), "--out", path("c.bank.safetensors"), "--level",
                            level, "--session", path("s.session.json")});
            COMPARE_CODE(finished, 0);
            const Json json = Json::parse(finished.out.toStdString());
            const auto& table = *dialog->findChild<QTableWidget*>("compress.levels");
            for (int row = 0; row < static_cast<int>(json["levels"].size()); ++row) {
                const Json& one = json["levels"][std::size_t(row)];
                const auto cell = [&](int column) { return table.item(row, column)->text(); };
                const auto number = [&](const char* key, const char* of) {
                    return widgets::formatCell(one[key][of].get<double>());
                };
                QCOMPARE(cell(1), QString::number(one["priors"].get<int>()));
                QCOMPARE(cell(2), QString::number(one["bytes"].get<int>()));
                QCOMPARE(cell(3), widgets::formatNumber(one["paper_ratio"].get<double>(), 2));
                QCOMPARE(cell(4), widgets::formatNumber(one["true_ratio"].get<double>(), 2));
                QCOMPARE(cell(7), number("kl", "mean"));
                QCOMPARE(cell(8), number("kl", "max"));
                QCOMPARE(cell(9), number("norm_bound", "mean"));
                QCOMPARE(cell(12), number("range_bound", "max"));
            }
            QVERIFY(json["trace"]["positions"] == Json(8));
            QCOMPARE(dialog->work().report()->positions, 8);
            QVERIFY(json["trace"]["matched"].get<std::int64_t>() == dialog->work().report()->matched);
            // The file that is saved from the window is the command's, byte for byte.
            auto& levels = *dialog->findChild<QTableWidget*>("compress.levels");
            levels.setCurrentCell(QByteArray(level).toInt(), 0);
            QTest::mouseClick(dialog->findChild<QPushButton*>("compress.save"), Qt::LeftButton);
            auto* files = dialog->findChild<QFileDialog*>("compress.file");
            QVERIFY(files != nullptr);
            auto* name = files->findChild<QLineEdit*>("fileNameEdit");
            const QString file = name->text();
            QCOMPARE(file, QString("ids.level%1.bank.safetensors").arg(QLatin1String(level)));
            QTest::keyClick(name, Qt::Key_Return);
            WAIT_UNTIL(dialog->findChild<QFileDialog*>("compress.file") == nullptr);
            QVERIFY(!contents(path("c.bank.safetensors")).isEmpty());
            QCOMPARE(contents(path(file.toUtf8().constData())), contents(path("c.bank.safetensors")));
        }
        QCOMPARE(contents(path("ids.bank.json")), QByteArray(kBank));

        // A level in the bank's place, undone through the window's own action; the dialog goes with the window.
        dialog->findChild<QTableWidget*>("compress.levels")->setCurrentCell(2, 0);
        QTest::mouseClick(dialog->findChild<QPushButton*>("compress.use"), Qt::LeftButton);
        QCOMPARE(document.session().priors[1].content->level, 2);
        QCOMPARE(document.session().priors[1].weight, 1.5);
        window.actions().action("edit.undo")->trigger();
        QCOMPARE(document.session().priors[1].bank, std::string("ids.bank.json"));
        QCOMPARE(document.session().priors[1].content->level, 0);
        WAIT_UNTIL(!document.busy());

        view.priorBank = 0;  // asked for again, it turns to the bank that is shown
        document.setView(view);
        QCoreApplication::processEvents();
        action->trigger();
        WAIT_UNTIL(!dialog->work().working());
        QCOMPARE(dialog->findChild<QComboBox*>("compress.bank")->currentText(), QString("empty.bank.json"));
        QCOMPARE(window.findChildren<CompressDialog*>().size(), 1);
        document.stop();
    }

    void withoutABank() {
        QSettings settings(path("window.ini"), QSettings::IniFormat);
        model::Document document(nullptr, opener());
        app::MainWindow window(document, settings);
        window.show();
        QVERIFY(!window.actions().action("priors.compress")->isEnabled());
    }
};

QTEST_MAIN(TestWindowCompress)
#include "tst_windowcompress.moc"
