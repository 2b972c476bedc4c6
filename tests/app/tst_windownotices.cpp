// What the window says: notices of files and actions, how they go, and what is told of them afterwards.

#include <QAbstractButton>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>

#include "app/mainwindow.h"
#include "compute/error.h"
#include "tests/app/opened.h"
#include "widgets/attempt.h"
#include "widgets/noticepanel.h"
#include "widgets/numberfield.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestWindowNotices : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void aBadFileIsANoticeThatCloses() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
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
        WAIT_UNTIL(panel->isVisible());
        const int id = o.document.notices().back().id;
        auto* close = o.find<QWidget>(("notice." + std::to_string(id)).c_str())->findChild<QAbstractButton*>("close");
        QTest::mouseClick(close, Qt::LeftButton);
        QCOMPARE(o.document.notices().size(), notices);
    }

    void noticesGoByThemselvesOrByTheNextOutcome() {
        using Level = model::Notice::Level;
        Opened o;
        WAIT_UNTIL(o.document.ready());
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
        WAIT_UNTIL_EQUAL(sentences(), QStringList({"Another thing failed.", "This stays."}));
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

    void whatIsNotTheSameStays() {
        using Level = model::Notice::Level;
        Opened o;
        WAIT_UNTIL(o.document.ready());
        const auto sentences = [&] {
            QStringList all;
            for (const model::Notice& notice : o.document.notices()) all << QString::fromStdString(notice.sentence);
            return all;
        };
        QCOMPARE(sentences(), QStringList());
        o.document.notify(Level::Warning, "One.");
        o.document.notify(Level::Info, "One.");
        o.document.notify(Level::Info, "Another.");
        o.document.notify(Level::Info, "Another.");
        QCOMPARE(sentences(), QStringList({"One.", "One.", "Another."}));
        o.document.settled("");  // of what has no name nothing is answered
        QCOMPARE(o.document.notices().size(), std::size_t{3});
        for (int i = 0; i < 150; ++i) {
            o.document.notify(Level::Warning, "Gone " + std::to_string(i) + ".");
            o.document.dismiss(o.document.notices().back().id);
        }
        QCOMPARE(o.document.pastNotices().size(), std::size_t{100});
        QCOMPARE(o.document.pastNotices().back().sentence, std::string("Gone 149."));
        o.document.notify(Level::Failure, "It was not loaded.", {}, "Loading");
        model::Session other = o.document.session();
        other.base.path = "another base";
        o.document.setSession(other);
        WAIT_UNTIL(o.document.ready() && !sentences().contains("It was not loaded."));
        o.document.notify(Level::Failure, "It stopped midway.", {}, "Decoding");
        o.decode();
        QVERIFY(!sentences().contains("It stopped midway."));
        o.document.notify(Level::Failure, "It was not composed anew.", {}, "Recomposing");
        other = o.document.session();
        other.specialists[0].weight = 0.25;
        o.document.setSession(other);
        WAIT_UNTIL(!o.document.busy() && !sentences().contains("It was not composed anew."));
        for (const model::Notice& notice : std::vector(o.document.notices())) o.document.dismiss(notice.id);
        WAIT_UNTIL(!o.find<QWidget>("noticePanel")->isVisible());
    }

    void equalFactsAreOneNotice() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        const auto rows = [&] {
            int n = 0;
            for (const QLabel* label : o.find<QWidget>("noticePanel")->findChildren<QLabel*>("sentence"))
                n += label->isVisible() ? 1 : 0;
            return n;
        };
        for (int i = 0; i < 3; ++i) o.document.notify(model::Notice::Level::Info, "The same fact.");
        WAIT_UNTIL_EQUAL(rows(), 1);
        for (int i = 0; i < 2; ++i) o.document.notify(model::Notice::Level::Failure, "It failed.");
        WAIT_UNTIL_EQUAL(rows(), 3);  // a failure that comes again is said again
    }

    void detailsAreFolded() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        const auto fail = [] { throw compute::Error({.what = "it failed", .details = "where it did"}); };
        QVERIFY(!widgets::attempt(o.document, fail, "trying"));
        auto* panel = o.find<QWidget>("noticePanel");
        auto* details = panel->findChildren<QLabel*>("details").back();
        QCOMPARE(details->text(), QStringLiteral("where it did"));
        WAIT_UNTIL(panel->isVisible());
        QVERIFY(!details->isVisible());
        for (QAbstractButton* button : panel->findChildren<QAbstractButton*>())
            if (button->isCheckable()) button->click();
        QVERIFY(details->isVisible());
        o.document.dismiss(o.document.notices().back().id);
        o.window->actions().action("help.notices")->trigger();
        QVERIFY(o.find<QPlainTextEdit>("pastNotices.text")->toPlainText().contains("where it did"));
    }

    void allAreClosedAtOnce() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        for (int i = 0; i < 5; ++i) o.document.notify(model::Notice::Level::Warning, std::to_string(i));
        const auto all = o.find<QWidget>("noticePanel")->findChildren<QAbstractButton*>("closeAll");
        QTest::mouseClick(all.back(), Qt::LeftButton);
        QVERIFY(o.document.notices().empty());
    }

    // A person's window has the size that the person gave it; what is said stands in a few lines of it.
    void noticesLeaveTheWindowItsSize_data() {
        QTest::addColumn<QString>("perspective");
        for (const char* name : {"Compose", "Priors", "Routing", "Paper"}) QTest::newRow(name) << QString(name);
    }
    void noticesLeaveTheWindowItsSize() {
        using Level = model::Notice::Level;
        QFETCH(QString, perspective);
        Opened o(session(), perspective);
        WAIT_UNTIL(o.document.ready());
        QCOMPARE(o.window->size(), QSize(1280, 800));
        const std::string line = "A folder of the session is not there: choose another one.";
        for (int i = 0; i < 5; ++i) {
            o.document.notify(Level::Warning, line + " " + std::to_string(i), i % 2 == 0 ? "where" : "");
            auto* panel = o.find<QWidget>("noticePanel");
            WAIT_UNTIL(panel->isVisible());
            const auto row = [&](std::size_t back) {
                const auto& notices = o.document.notices();
                return panel->findChild<QWidget*>(QString("notice.%1").arg(notices[notices.size() - 1 - back].id));
            };
            const auto whole = [&](std::size_t back) {
                return row(back)->visibleRegion().boundingRect() == row(back)->rect() && row(back)->height() == 28;
            };
            WAIT_UNTIL(whole(0) && (i == 0 || whole(1)));
            QCOMPARE(o.window->size(), QSize(1280, 800));
            QVERIFY2(panel->height() <= 68, qPrintable(QString::number(panel->height())));
        }
        o.document.notify(Level::Failure, std::string(2000, 'a') + " " + std::string(2000, 'b'), std::string(50, '\n'));
        int unfolded = 0;
        for (QAbstractButton* button : o.find<QWidget>("noticePanel")->findChildren<QAbstractButton*>())
            if (button->isCheckable()) {
                button->click();
                unfolded += button->isChecked() ? 1 : 0;
                QCoreApplication::processEvents();
            }
        QVERIFY(unfolded > 0);
        WAIT_UNTIL(o.find<QWidget>("noticePanel")->height() > 0);
        QTest::qWait(50);
        QCOMPARE(o.window->size(), QSize(1280, 800));
    }

    /// Who has scrolled to an older notice sees the newest when it comes.
    void theNewestIsScrolledTo() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        auto* panel = o.find<QWidget>("noticePanel");
        QScrollBar* bar = panel->findChild<QScrollArea*>()->verticalScrollBar();
        for (int i = 0; i < 3; ++i) o.document.notify(model::Notice::Level::Warning, std::to_string(i));
        WAIT_UNTIL(panel->isVisible() && bar->maximum() > 0);
        QCOMPARE(bar->value(), 0);
        bar->setValue(bar->maximum());
        QVERIFY(bar->value() > 0);
        o.document.notify(model::Notice::Level::Warning, "3");
        WAIT_UNTIL_EQUAL(bar->value(), 0);
        const auto* row = panel->findChild<QWidget*>(QString("notice.%1").arg(o.document.notices().back().id));
        WAIT_UNTIL(row->visibleRegion().boundingRect() == row->rect());
    }

    void whatIsBeingReadStays() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        widgets::NoticePanel panel(o.document, nullptr, 1);
        o.document.notify(model::Notice::Level::Info, "Being read.");
        const int id = o.document.notices().back().id;
        o.document.notify(model::Notice::Level::Info, "Not read.");
        // Rows of before are there until the event loop deletes them, and are no longer called by a notice's name.
        const auto rows = panel.findChildren<QWidget*>(QStringLiteral("notice.%1").arg(id));
        QCOMPARE(rows.size(), 1);
        rows.front()->setAttribute(Qt::WA_UnderMouse);
        int changes = 0;
        bool kept = false;
        connect(&o.document, &model::Document::noticesChanged, this, [&] {
            if (changes++ == 0) kept = o.document.notices().front().id == id;
        });
        WAIT_UNTIL(changes > 0);
        QVERIFY(kept);
        disconnect(&o.document, nullptr, this, nullptr);
    }

    // A failed file is answered by the next one that opens, a refused number by the next that is taken.
    void anOutcomeTakesThePlaceOfTheLast() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
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
        WAIT_UNTIL(o.document.ready());
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
        WAIT_UNTIL_EQUAL(failures(), 1);
        WAIT_UNTIL(!o.document.busy());
        QCOMPARE(o.document.notices().back().about, std::string("Exporting"));  // a decode that went well is no export
    }
};

QTEST_MAIN(TestWindowNotices)
#include "tst_windownotices.moc"
