// The whole window on scripted sources, driven by mouse and keys: racks, tokens, perspectives, palette, Stop.

#include <QAbstractButton>
#include <QComboBox>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollBar>
#include <QTabBar>
#include <QTableWidget>

#include "app/mainwindow.h"
#include "tests/app/opened.h"
#include "widgets/palette.h"
#include "widgets/sourcerow.h"

using namespace counterpoint;
using namespace counterpoint::app;
using namespace counterpoint::tests;

class TestWindow : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

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
        WAIT_UNTIL(o.document.ready());
        o.document.generate();
        auto* strip = o.find<widgets::TokenStrip>("tokenStrip");
        auto* bar = strip->verticalScrollBar();
        strip->window()->resize(700, 500);
        WAIT_UNTIL(bar->maximum() > 60);
        QCOMPARE(bar->value(), bar->maximum());
        bar->setValue(0);
        const auto tokens = o.document.trace()->tokens.size();
        WAIT_UNTIL(o.document.trace()->tokens.size() > tokens + 20);
        QCOMPARE(bar->value(), 0);
        o.document.stop();
        WAIT_UNTIL(!o.document.busy());
    }

    void doubleClickBranches_data() {
        QTest::addColumn<int>("drawn");
        QTest::newRow("at the first drawn token") << 0;
        QTest::newRow("in the middle") << 8;
        QTest::newRow("at the last token") << 23;
    }
    void doubleClickBranches() {
        QFETCH(int, drawn);
        Opened o;
        o.decode();
        const int at = static_cast<int>(o.document.trace()->promptLength) + drawn;
        QVERIFY(drawn != 23 || o.document.trace()->steps.back()->position == at);
        o.document.setCursor(at);
        auto* table = o.find<QTableWidget>("distribution.table");
        const int other =
            table->item(0, 0)->text() == QString::fromStdString(std::string(o.document.trace()->at(at)->bytes)) ? 1 : 0;
        const QString token = table->item(other, 0)->text();
        const QRect cell = table->visualItemRect(table->item(other, 0));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, cell.center());
        QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, cell.center());
        WAIT_UNTIL_EQUAL(o.document.traces().size(), std::size_t{2});
        WAIT_UNTIL(!o.document.running());
        QCOMPARE(o.document.trace()->branchedAt, compute::Position{at});
        QCOMPARE(QString::fromStdString(std::string(o.document.trace()->at(at)->bytes)), token);
        QVERIFY(o.document.trace()->steps.back()->position > at);  // it goes on from there
        auto* traces = o.find<QComboBox>("traces");
        QCOMPARE(traces->count(), 2);
        QVERIFY(traces->itemText(1).contains(QStringLiteral("at %1").arg(at)));
    }

    void doubleClickOnABarBranches() {
        Opened o;
        o.decode();
        const int at = static_cast<int>(o.document.trace()->promptLength) + 5;
        o.document.setCursor(at);
        auto& plot = o.find<widgets::PlotDock>("dock.distribution")->panel().view();
        const auto tokens = model::shownTokens(*o.document.trace()->at(at), o.document.view());
        const std::size_t other = tokens[1].token == o.document.trace()->at(at)->token ? 2 : 1;
        const quint64 before = plot.replots();
        WAIT_UNTIL(plot.replots() > before || plot.plot().cursorX >= 0);
        QWidget* canvas = plot.childAt(plot.rect().center());
        const QPoint bar = plot.toPixel(static_cast<double>(other), 0.001).toPoint();
        QTest::mouseClick(canvas, Qt::LeftButton, {}, bar);
        QCOMPARE(o.document.view().token, tokens[other].token);
        QTest::mouseDClick(canvas, Qt::LeftButton, {}, bar);
        WAIT_UNTIL_EQUAL(o.document.traces().size(), std::size_t{2});
        WAIT_UNTIL(!o.document.running());
        QCOMPARE(o.document.trace()->branchedAt, compute::Position{at});
        QCOMPARE(o.document.trace()->at(at)->token, tokens[other].token);
        QVERIFY(o.document.trace()->at(at)->forced);
    }

    void modelsOpenedTogetherLeaveNothingToUndo() {
        QTemporaryDir folder;
        std::vector<std::filesystem::path> models;
        for (const char* name : {"one", "two", "three"}) {
            QVERIFY(QDir(folder.path()).mkpath(name));
            QFile config(folder.filePath(QLatin1String(name) + QStringLiteral("/config.json")));
            QVERIFY(config.open(QIODevice::WriteOnly));
            models.emplace_back(folder.filePath(QLatin1String(name)).toStdString());
        }
        QSettings settings(folder.filePath("window.ini"), QSettings::IniFormat);
        model::Document document(nullptr, opener());
        MainWindow window(document, settings);
        window.openFiles(models);
        QCOMPARE(document.session().sourceCount(), std::size_t{3});
        QVERIFY(!document.canUndo() && !document.modified());
        QVERIFY(!window.actions().action("edit.undo")->isEnabled());
        WAIT_UNTIL(document.ready());
        window.openFiles({models[1]});  // dropped later: that is a change
        QCOMPARE(document.session().sourceCount(), std::size_t{4});
        QVERIFY(document.canUndo() && window.actions().action("edit.undo")->isEnabled());
        WAIT_UNTIL(document.ready());
    }

    void aPromptOfFourLinesShowsThree() {
        model::Session s = session();
        s.prompt = "a\nb\nc\nd";
        Opened o(s);
        WAIT_UNTIL(o.document.ready());
        QCoreApplication::processEvents();
        auto* prompt = o.find<widgets::PromptEdit>("prompt");
        const int line = prompt->fontMetrics().height();
        QVERIFY2(prompt->viewport()->height() >= 3 * line, qPrintable(QString::number(prompt->viewport()->height())));
        QCOMPARE(o.window->size(), QSize(1280, 800));
    }

    /// Up to its first lines it is whole, whoever writes them.
    void thePromptGrowsAsItIsWritten() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        auto* prompt = o.find<widgets::PromptEdit>("prompt");
        const int line = prompt->fontMetrics().height(), before = prompt->sizeHint().height();
        prompt->setFocus();
        QVERIFY(!prompt->verticalScrollBar()->isVisible());
        for (int i = 0; i < 3; ++i) QTest::keyClick(prompt, Qt::Key_Return);
        QCOMPARE(prompt->sizeHint().height() - before, 3 * line);  // four lines are what it asks for
        QTRY_VERIFY2_WITH_TIMEOUT(prompt->viewport()->height() >= 3 * line,
                                  qPrintable(QString::number(prompt->viewport()->height())), 5000);
        for (int i = 0; i < 9; ++i) QTest::keyClick(prompt, Qt::Key_Return);
        QCOMPARE(prompt->sizeHint().height() - before, 5 * line);  // six at most
    }

    void stopStops() {
        Opened o(session("slow base", 100000));
        WAIT_UNTIL(o.document.ready());
        o.window->actions().action("decode.generate")->trigger();
        WAIT_UNTIL(o.document.trace() != nullptr && o.document.trace()->steps.size() > 3);
        auto* stop = o.find<QAbstractButton>("status.stop");
        QVERIFY(stop->isVisible());
        QTest::mouseClick(stop, Qt::LeftButton);
        WAIT_UNTIL(!o.document.running());
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

    /// When first laid out, when come back to, and when laid out anew with other tabs in front.
    void theTabsThatMatterAreInFront() {
        Opened o;
        const auto inFront = [&] {
            QStringList names;
            for (QTabBar* bar : o.window->findChildren<QTabBar*>())
                if (bar->isVisible() && bar->count() > 1) names << bar->tabText(bar->currentIndex());
            names.sort();
            return names.join(' ');
        };
        const std::pair<const char*, const char*> wanted[] = {{"Compose", "Drift"},
                                                              {"Priors", "Prior Prior effect"},
                                                              {"Routing", "Coherence and boundary Drift Routing"},
                                                              {"Paper", "Drift"}};
        for (int round = 0; round < 2; ++round)
            for (const auto& [perspective, tabs] : wanted) {
                o.window->showPerspective(perspective);
                QCoreApplication::processEvents();
                QCOMPARE(inFront(), QString(tabs));
                for (QTabBar* bar : o.window->findChildren<QTabBar*>())
                    if (bar->isVisible()) bar->setCurrentIndex(bar->count() - 1);
                QCoreApplication::processEvents();
                QVERIFY(inFront() != tabs);
                o.window->actions().action("view.resetLayout")->trigger();
                QCoreApplication::processEvents();
                QCOMPARE(inFront(), QString(tabs));
            }
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
        WAIT_UNTIL(o.document.ready());
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

    /// A perspective that is come back to, in this window or the next, shows the docks it showed, where they stood.
    void everyPerspectiveComesBackAsItWas() {
        Opened o;
        o.document.save(o.folder.filePath("s.session.json").toStdString());
        using Places = std::map<QString, QRect>;
        const auto places = [&] {
            Places places;
            for (const QString& name : app::Perspectives::names()) {
                o.window->showPerspective(name);
                QCoreApplication::processEvents();
                for (const QDockWidget* d : o.window->findChildren<QDockWidget*>())
                    if (d->isVisible() && !d->visibleRegion().isEmpty())
                        places[name + "/" + d->objectName()] = d->geometry();
            }
            return places;
        };
        const auto same = [](const Places& now, const Places& first) {
            QStringList names, expected;
            for (const auto& [name, place] : now) names << name;
            for (const auto& [name, place] : first) expected << name;
            if (names != expected) return names.join(' ') + " instead of " + expected.join(' ');
            for (const auto& [name, place] : first) {
                const QRect there = now.at(name);
                const QPoint moved = there.topLeft() - place.topLeft();
                const QSize grown = there.size() - place.size();
                if (std::max({std::abs(moved.x()), std::abs(moved.y()), std::abs(grown.width()),
                              std::abs(grown.height())}) > 8)
                    return QStringLiteral("%1 is %2x%3 at %4,%5; it was %6x%7 at %8,%9")
                        .arg(name)
                        .arg(there.width())
                        .arg(there.height())
                        .arg(there.x())
                        .arg(there.y())
                        .arg(place.width())
                        .arg(place.height())
                        .arg(place.x())
                        .arg(place.y());
            }
            return QString();
        };
        const Places first = places();  // the first look lays each out
        for (const char* dock : {"dock.rack", "dock.dials", "dock.priors", "dock.routing"})
            QVERIFY2(!first.contains(QStringLiteral("Paper/") + dock), dock);
        QCOMPARE(same(places(), first), QString());
        QCOMPARE(same(places(), first), QString());
        QVERIFY(o.window->close());
        o.open();
        QCOMPARE(same(places(), first), QString());
    }

    void closingWhileRunningEndsSoon() {
        QElapsedTimer clock;
        {
            Opened o(session("slow base", 100000));
            WAIT_UNTIL(o.document.ready());
            o.document.save(o.folder.filePath("s.session.json").toStdString());
            o.document.generate();
            WAIT_UNTIL(o.document.trace() != nullptr);
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
