// What the window says: notices of files and actions, how they go, and what is told of them afterwards.

#include <QAbstractButton>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>

#include "app/mainwindow.h"
#include "compute/error.h"
#include "tests/app/opened.h"
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
};

QTEST_MAIN(TestWindowNotices)
#include "tst_windownotices.moc"
