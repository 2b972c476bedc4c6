// The whole window on scripted sources, driven by mouse and keys: racks, dials, tokens, perspectives, palette, notices,
// Stop.

#include <QAbstractButton>
#include <QComboBox>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QFile>
#include <QListWidget>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QSettings>
#include <QSlider>
#include <QTableWidget>
#include <QTemporaryDir>
#include <thread>

#include "app/mainwindow.h"
#include "compute/dial.h"
#include "compute/error.h"
#include "tests/app/opened.h"
#include "widgets/noticepanel.h"
#include "widgets/numberfield.h"
#include "widgets/palette.h"
#include "widgets/sourcerow.h"
#include "widgets/tokenhover.h"

using namespace counterpoint;
using namespace counterpoint::app;
using namespace counterpoint::tests;

namespace {

int undoSteps(model::Document& document) {
    int steps = 0;
    for (; document.canUndo(); ++steps) document.undo();
    return steps;
}

/// Press on the handle, pass `moves` places, release.
void drag(QSlider* slider, int moves, int from, int to) {
    slider->setSliderDown(true);
    for (int i = 1; i <= moves; ++i) slider->setSliderPosition(from + (to - from) * i / moves);
    slider->setSliderDown(false);
}

}  // namespace

class TestWindow : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void weightDragIsOneUndoStep() {
        Opened o;
        auto* row = o.find<widgets::SourceRow>("source.dialogue");
        auto* slider = row->findChild<QSlider*>("slider");
        const int before = undoSteps(o.document);
        QVERIFY(before >= 0);
        o.document.setSession(session());
        const double start = o.document.session().specialists[0].weight;
        drag(slider, 200, slider->value(), slider->minimum());
        QCOMPARE(o.document.session().specialists[0].weight, -1.0);
        drag(slider, 200, slider->minimum(), slider->maximum());
        QCOMPARE(o.document.session().specialists[0].weight, 3.0);
        o.document.undo();
        QCOMPARE(o.document.session().specialists[0].weight, -1.0);
        o.document.undo();
        QCOMPARE(o.document.session().specialists[0].weight, start);
    }

    // One form of number in the whole window, whatever the person's locale: the tables' and the files'.
    void fieldsShowADotAndTakeAComma() {
        const QLocale before;
        QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
        const auto back = qScopeGuard([&] { QLocale::setDefault(before); });
        Opened o;
        auto* row = o.find<widgets::SourceRow>("source.dialogue");
        auto* field = row->findChild<widgets::NumberField*>("field");
        QCOMPARE(field->text(), QStringLiteral("1.00"));
        const auto type = [&](const char* text) {
            field->setFocus();
            field->selectAll();
            QTest::keyClicks(field, QString::fromUtf8(text));
            QTest::keyClick(field, Qt::Key_Return);
        };
        type("0,75");
        QCOMPARE(o.document.session().specialists[0].weight, 0.75);
        QCOMPARE(field->text(), QStringLiteral("0.75"));
        const std::filesystem::path file = o.folder.filePath("saved.session.json").toStdString();
        o.document.save(file);
        QFile saved(QString::fromStdString(file.string()));
        QVERIFY(saved.open(QIODevice::ReadOnly));
        QVERIFY(saved.readAll().contains("0.75"));
        for (const char* junk : {"1,234", "1.000,5", "1,000.5", "nan", "inf", "abc", "", "1e999", "99999999"}) {
            for (const model::Notice& notice : std::vector(o.document.notices())) o.document.dismiss(notice.id);
            type(junk);
            QCOMPARE(o.document.session().specialists[0].weight, 0.75);
            QCOMPARE(field->text(), QStringLiteral("0.75"));
            QCOMPARE(o.document.notices().size(), std::size_t{*junk != '\0' ? 1u : 0u});
        }
        type("0.5");
        QCOMPARE(o.document.session().specialists[0].weight, 0.5);
    }

    void everyDialOfTheTableIsThere() {
        Opened o;
        for (const compute::DialSpec& spec : compute::decodingDials())
            QVERIFY2(o.find<QWidget>(("dial." + std::string(spec.id)).c_str()) != nullptr, spec.id.data());
    }

    void dialsEditTheSession() {
        Opened o;
        auto* field = o.find<QWidget>("dial.temperature")->findChild<widgets::NumberField*>("field");
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, "1.25");
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(o.document.session().decoding.temperature, 1.25);
        auto* seed = o.find<QWidget>("dial.seed")->findChild<widgets::NumberField*>("field");
        seed->setFocus();
        seed->selectAll();
        QTest::keyClicks(seed, "18446744073709551615");
        QTest::keyClick(seed, Qt::Key_Return);
        QCOMPARE(o.document.session().decoding.seed, std::uint64_t{18446744073709551615u});
        auto* budget = o.find<QWidget>("dial.kl_budget")->findChild<QAbstractButton*>("switch");
        budget->click();
        QVERIFY(o.document.session().decoding.klBudget.has_value());
        budget->click();
        QVERIFY(!o.document.session().decoding.klBudget.has_value());
        QCOMPARE(o.document.session().decoding.seed, std::uint64_t{18446744073709551615u});
    }

    void soloMuteReorderRemove() {
        Opened o;
        auto* rack = o.find<widgets::RackPanel>("rackPanel");
        auto* row = rack->row(2);
        row->findChild<QAbstractButton*>("solo")->click();
        QVERIFY(!o.document.session().specialists[0].enabled && o.document.session().specialists[1].enabled);
        row->findChild<QAbstractButton*>("solo")->click();
        QVERIFY(o.document.session().specialists[0].enabled && o.document.session().specialists[1].enabled);
        QTest::keyClick(rack->row(2), Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(o.document.session().specialists[0].name, std::string("animals"));
        QTest::keyClick(rack->row(1), Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(o.document.session().specialists[1].name, std::string("animals"));
    }

    void tokensMoveEveryCursor() {
        Opened o;
        o.decode();
        auto* strip = o.find<widgets::TokenStrip>("tokenStrip");
        QTest::mouseClick(strip->viewport(), Qt::LeftButton, {}, strip->tokenRect(9).center());
        QCOMPARE(o.document.view().cursor, compute::Position{9});
        for (const char* id : {"drift", "entropy", "activity"}) QCOMPARE(o.document.plot(id).cursorX, 9.0);
        strip->setFocus();
        QTest::keyClick(strip, Qt::Key_Right);
        QCOMPARE(o.document.view().cursor, compute::Position{10});
        QTest::keyClick(strip, Qt::Key_Home);
        QCOMPARE(o.document.view().cursor, o.document.trace()->steps.front()->position);
        QTest::keyClick(strip, Qt::Key_End);
        QCOMPARE(o.document.view().cursor, o.document.trace()->steps.back()->position);
        QVERIFY(strip->hoverText(9).contains(QStringLiteral("dialogue")));
        QCOMPARE(strip->laidOut(), static_cast<qint64>(o.document.trace()->tokens.size()));
    }

    void scrollingUpStopsFollowing() {
        Opened o(session("slow base", 4000));
        QTRY_VERIFY(o.document.ready());
        o.document.generate();
        auto* strip = o.find<widgets::TokenStrip>("tokenStrip");
        auto* bar = strip->verticalScrollBar();
        strip->window()->resize(700, 500);
        QTRY_VERIFY_WITH_TIMEOUT(bar->maximum() > 60, 30000);
        QCOMPARE(bar->value(), bar->maximum());
        bar->setValue(0);
        const auto tokens = o.document.trace()->tokens.size();
        QTRY_VERIFY(o.document.trace()->tokens.size() > tokens + 20);
        QCOMPARE(bar->value(), 0);
        o.document.stop();
        QTRY_VERIFY(!o.document.busy());
    }

    void doubleClickBranches() {
        Opened o;
        o.decode();
        o.document.setCursor(8);
        auto* table = o.find<QTableWidget>("distribution.table");
        const int other =
            table->item(0, 0)->text() == QString::fromStdString(std::string(o.document.trace()->at(8)->bytes)) ? 1 : 0;
        const QRect cell = table->visualItemRect(table->item(other, 0));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, cell.center());
        QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, cell.center());
        QTRY_COMPARE(o.document.traces().size(), std::size_t{2});
        QTRY_VERIFY(!o.document.running());
        QCOMPARE(o.document.trace()->branchedAt, compute::Position{8});
        auto* traces = o.find<QComboBox>("traces");
        QCOMPARE(traces->count(), 2);
        QVERIFY(traces->itemText(1).contains(QStringLiteral("at 8")));
    }

    void stopStops() {
        Opened o(session("slow base", 100000));
        QTRY_VERIFY(o.document.ready());
        o.window->actions().action("decode.generate")->trigger();
        QTRY_VERIFY(o.document.trace() != nullptr && o.document.trace()->steps.size() > 3);
        auto* stop = o.find<QAbstractButton>("status.stop");
        QVERIFY(stop->isVisible());
        QTest::mouseClick(stop, Qt::LeftButton);
        QTRY_VERIFY(!o.document.running());
        QCOMPARE(o.document.trace()->stop, std::string("user"));
        QVERIFY(!stop->isVisible());
    }

    void perspectivesAreKept() {
        Opened o(session(), QStringLiteral("Compose"));
        for (const QString& name : Perspectives::names()) {
            o.window->actions().action("view.perspective." + name)->trigger();
            QCOMPARE(o.window->perspectives().current(), name);
            QVERIFY(o.find<QDockWidget>("dock.text")->isVisible());
        }
        o.window->actions().action("view.perspective.Routing")->trigger();
        o.window->actions().action("view.dock.rack")->trigger();
        QVERIFY(!o.find<QDockWidget>("dock.rack")->isVisible());
        o.window->actions().action("view.perspective.Compose")->trigger();
        QVERIFY(o.find<QDockWidget>("dock.rack")->isVisible());
        o.window->actions().action("view.perspective.Routing")->trigger();
        QVERIFY(!o.find<QDockWidget>("dock.rack")->isVisible());
        o.window->perspectives().save(*o.settings);
        o.open();
        QCOMPARE(o.window->perspectives().current(), QStringLiteral("Routing"));
        QVERIFY(!o.find<QDockWidget>("dock.rack")->isVisible());
        o.window->actions().action("view.resetLayout")->trigger();
        QVERIFY(o.find<QDockWidget>("dock.rack")->isVisible());
    }

    void lostWindowsComeBack() {
        Opened o;
        o.window->setGeometry(9999, 9999, 900, 600);
        o.window->perspectives().save(*o.settings);
        o.open();
        const QRect screen = o.window->screen()->availableGeometry();
        QVERIFY(screen.intersects(o.window->geometry()));
        QWidget lost;
        lost.setGeometry(9999, 9999, 300, 200);
        QVERIFY(bringOnScreen(lost));
        QVERIFY(screen.contains(lost.geometry()));
    }

    void paletteFindsAndTriggers() {
        Opened o;
        QVERIFY(widgets::fuzzyScore("gen", "Decode › Generate") > widgets::fuzzyScore("gen", "File › Open recent n"));
        QVERIFY(widgets::fuzzyScore("xyz", "Decode › Generate") < 0);
        QTRY_VERIFY(o.document.ready());
        o.window->actions().action("view.palette")->trigger();
        auto* field = o.find<QLineEdit>("commandPalette.field");
        auto* list = o.find<QListWidget>("commandPalette.list");
        QVERIFY(field->isVisible());
        QCOMPARE(list->count(), static_cast<int>(o.window->actions().all().size()));
        for (const QAction* action : o.window->actions().all())  // it would cover progress and Stop
            QVERIFY2(action->statusTip().isEmpty(), qPrintable(action->text()));
        QTest::keyClicks(field, "perspaper");
        QVERIFY(list->item(0)->text().contains(QStringLiteral("Paper")));
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(!field->isVisible());
        QCOMPARE(o.window->perspectives().current(), QStringLiteral("Paper"));
    }

    void aBadFileIsANoticeThatCloses() {
        Opened o;
        QTRY_VERIFY(o.document.ready());
        const model::Session before = o.document.session();
        const std::filesystem::path bad = o.folder.filePath("bad.session.json").toStdString();
        QFile file(QString::fromStdString(bad.string()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{ not json");
        file.close();
        const std::size_t notices = o.document.notices().size();
        o.window->openFiles({bad});
        QCOMPARE(o.document.notices().size(), notices + 1);
        QVERIFY(o.document.session() == before);
        auto* panel = o.find<QWidget>("noticePanel");
        QTRY_VERIFY(panel->isVisible());
        const int id = o.document.notices().back().id;
        auto* close = o.find<QWidget>(("notice." + std::to_string(id)).c_str())->findChild<QAbstractButton*>("close");
        QTest::mouseClick(close, Qt::LeftButton);
        QCOMPARE(o.document.notices().size(), notices);
    }

    void noticesGoByThemselvesOrByTheNextOutcome() {
        using Level = model::Notice::Level;
        Opened o;
        QTRY_VERIFY(o.document.ready());
        widgets::NoticePanel panel(o.document, nullptr, 1);
        const auto sentences = [&] {
            QStringList all;
            for (const QLabel* label : panel.findChildren<QLabel*>("sentence"))
                if (!label->isHidden() && !label->parentWidget()->isHidden()) all << label->text();
            return all;
        };
        o.document.notify(Level::Warning, "This stays.");
        o.document.notify(Level::Failure, "It could not be written.", {}, "Exporting");
        o.document.notify(Level::Failure, "Another thing failed.", {}, "Loading");
        QCOMPARE(sentences(), QStringList({"Another thing failed.", "It could not be written.", "This stays."}));
        o.document.notify(Level::Info, "Saved it.", {}, "Exporting");
        QCOMPARE(sentences(), QStringList({"Saved it.", "Another thing failed.", "This stays."}));
        QTRY_COMPARE(sentences(), QStringList({"Another thing failed.", "This stays."}));
        o.document.settled("Loading");
        QCOMPARE(sentences(), QStringList({"This stays."}));
        QStringList past;
        for (const model::Notice& notice : o.document.pastNotices()) past << QString::fromStdString(notice.sentence);
        QCOMPARE(past, QStringList({"It could not be written.", "Saved it.", "Another thing failed."}));
        o.window->actions().action("help.notices")->trigger();
        const QString text = o.find<QPlainTextEdit>("pastNotices.text")->toPlainText();
        QVERIFY2(text.indexOf("Another thing failed.") < text.indexOf("Saved it.") && text.contains("Saved it."),
                 qPrintable(text));

        for (int i = 0; i < 5; ++i) o.document.notify(Level::Warning, "Warning " + std::to_string(i) + ".");
        QCOMPARE(sentences(), QStringList({"Warning 4.", "Warning 3.", "Warning 2."}));
        const QList<QAbstractButton*> more = panel.findChildren<QAbstractButton*>("closeAll");
        QCOMPARE(more.back()->text(), QString("and 3 more · close all"));
    }

    // A failed file is answered by the next one that opens, a refused number by the next that is taken.
    void anOutcomeTakesThePlaceOfTheLast() {
        Opened o;
        QTRY_VERIFY(o.document.ready());
        const std::filesystem::path good = o.folder.filePath("good.session.json").toStdString();
        o.document.save(good);
        const auto failures = [&] {
            return std::count_if(o.document.notices().begin(), o.document.notices().end(),
                                 [](const model::Notice& n) { return n.level != model::Notice::Level::Info; });
        };
        o.window->openFiles({o.folder.filePath("none.session.json").toStdString()});
        o.window->openFiles({o.folder.filePath("neither.session.json").toStdString()});
        QCOMPARE(failures(), 1);
        QVERIFY(o.document.notices().back().sentence.find("neither") != std::string::npos);
        o.window->openFiles({good});
        QCOMPARE(failures(), 0);
        QTRY_VERIFY(o.document.ready());
        auto* field = o.find<QWidget>("dial.temperature")->findChild<widgets::NumberField*>("field");
        const auto type = [&](const char* text) {
            field->setFocus();
            field->selectAll();
            QTest::keyClicks(field, text);
            QTest::keyClick(field, Qt::Key_Return);
        };
        type("much");
        type("99");
        QCOMPARE(failures(), 1);
        type("1.5");
        QCOMPARE(failures(), 0);
        QCOMPARE(o.document.session().decoding.temperature, 1.5);
        o.document.engine().run([](std::stop_token) { throw compute::Error({.what = "the disk is full"}); },
                                "Exporting a.pdf");
        o.document.generate();  // wakes the document
        QTRY_COMPARE(failures(), 1);
        QTRY_VERIFY(!o.document.busy());
        QCOMPARE(o.document.notices().back().about, std::string("Exporting"));  // a decode that went well is no export
    }

    // What was never in a stored layout is not in the window that comes back from it, and what was has its place.
    void everyPerspectiveComesBackAsItWas() {
        Opened o;
        o.document.save(o.folder.filePath("s.session.json").toStdString());
        const auto places = [&] {
            std::map<QString, QRect> places;
            for (const QString& name : app::Perspectives::names()) {
                o.window->showPerspective(name);
                QCoreApplication::processEvents();
                for (const QDockWidget* d : o.window->findChildren<QDockWidget*>())
                    if (d->isVisible() && !d->visibleRegion().isEmpty())
                        places[name + "/" + d->objectName()] = d->geometry();
            }
            return places;
        };
        places();  // the first look lays each out
        const auto before = places();
        QVERIFY(o.window->close());
        o.open();
        const auto after = places();
        QStringList names, namesAfter;
        for (const auto& [name, place] : before) names << name;
        for (const auto& [name, place] : after) namesAfter << name;
        QCOMPARE(namesAfter, names);
        for (const auto& [name, place] : before)
            QVERIFY2(
                std::abs(after.at(name).width() - place.width()) <= 8 && after.at(name).left() - place.left() <= 8,
                qPrintable(
                    QStringLiteral("%1: %2 wide, was %3").arg(name).arg(after.at(name).width()).arg(place.width())));
    }

    void closingWhileRunningEndsSoon() {
        QElapsedTimer clock;
        {
            Opened o(session("slow base", 100000));
            QTRY_VERIFY(o.document.ready());
            o.document.save(o.folder.filePath("s.session.json").toStdString());
            o.document.generate();
            QTRY_VERIFY(o.document.trace() != nullptr);
            clock.start();
            QVERIFY(o.window->close());
        }
        QVERIFY2(clock.elapsed() < 2000, qPrintable(QString::number(clock.elapsed())));
    }

    void everyActionCanBeFoundAndRead() {
        Opened o;
        QSet<QKeySequence> keys;
        for (const QAction* action : o.window->actions().all()) {
            QVERIFY2(!action->text().isEmpty(), qPrintable(action->objectName()));
            QVERIFY2(!action->objectName().isEmpty(), qPrintable(action->text()));
            bool inMenu = false;
            for (const QObject* owner : action->associatedObjects())
                inMenu = inMenu || qobject_cast<const QMenu*>(owner) != nullptr;
            QVERIFY2(inMenu, qPrintable(action->objectName()));
            if (action->shortcut().isEmpty()) continue;
            QVERIFY2(!keys.contains(action->shortcut()), qPrintable(action->shortcut().toString()));
            keys.insert(action->shortcut());
        }
        for (const QAbstractButton* button : o.window->findChildren<QAbstractButton*>())
            if (button->isVisible() && button->parentWidget()->metaObject()->className() != QByteArray("QDockWidget"))
                QVERIFY2(!button->accessibleName().isEmpty() || !button->text().isEmpty() ||
                             button->objectName().startsWith("qt_"),
                         qPrintable(button->objectName() + QLatin1String(button->metaObject()->className())));
    }

    void titleTellsNameAndState() {
        Opened o;
        QVERIFY(o.window->windowTitle().startsWith(QStringLiteral("demo")));
        o.document.save(o.folder.filePath("mine.session.json").toStdString());
        QVERIFY(o.window->windowTitle().startsWith(QStringLiteral("mine")));
        QVERIFY(!o.window->isWindowModified());
        auto* prompt = o.find<widgets::PromptEdit>("prompt");
        prompt->setFocus();
        QTest::keyClicks(prompt, "xyz");
        QVERIFY(o.window->isWindowModified());
        QVERIFY(o.document.session().prompt.find("xyz") != std::string::npos);
        o.document.undo();
        QVERIFY(!o.window->isWindowModified());
    }
};

QTEST_MAIN(TestWindow)
#include "tst_window.moc"
