// What the window tells of the rack and the tokens, and what is moved in them: hovering, dragging, colours, the flip.

#include <QAbstractButton>
#include <QComboBox>
#include <QHelpEvent>
#include <QLabel>
#include <QToolTip>

#include "tests/app/opened.h"
#include "widgets/palette.h"
#include "widgets/sourcerow.h"
#include "widgets/valueslider.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

QString tipAt(QWidget& widget, const QPoint& at) {
    QHelpEvent help(QEvent::ToolTip, at, widget.mapToGlobal(at));
    QCoreApplication::sendEvent(&widget, &help);
    return QToolTip::text();
}

/// The colour of the series of a plot that is called so; -9: there is none.
int seriesOf(Opened& o, const char* plot, const QString& name) {
    auto* dock = o.find<widgets::PlotDock>((std::string("dock.") + plot).c_str());
    for (const model::Series& s : dock->panel().view().plot().series)
        if (QString::fromStdString(s.name) == name) return s.colour;
    return -9;
}

/// The figure as it leaves the window.
QByteArray exported(Opened& o, const char* plot) {
    widgets::PlotPanel& panel = o.find<widgets::PlotDock>((std::string("dock.") + plot).c_str())->panel();
    const auto writer = std::exchange(panel.writer, widgets::writeFigureFiles);
    const QString file = o.folder.filePath("figure.svg");
    panel.exportTo(widgets::FigureFormat::Svg, file.toStdString());
    panel.writer = writer;
    QFile svg(file);
    return svg.open(QIODevice::ReadOnly) ? svg.readAll() : QByteArray();
}

}  // namespace

class TestWindowTold : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void whatIsHeldIsToldAndCanBeSwitchedOff() {
        model::Session s = session();
        s.priors.push_back({.bank = "demo.bank.json", .enabled = true, .weight = 1});
        s.specialists[0].routing = {{"mode", "coupled"}, {"rho", 0.5}, {"window", 8}, {"pairs", nullptr}};
        Opened o(s, "Priors");
        WAIT_UNTIL(!o.document.busy() && !o.document.notices().empty());
        QVERIFY(!o.document.ready());
        auto* bank = o.find<QAbstractButton>("bank.0");
        QCOMPARE(bank->text(), QString("demo.bank.json"));
        QTest::mouseClick(bank, Qt::LeftButton, {}, QPoint(8, bank->height() / 2));
        QVERIFY(!o.document.session().priors[0].enabled);
        o.window->showPerspective("Routing");
        QCOMPARE(o.find<QComboBox>("routing.source")->currentText(), QString("dialogue"));
        QCOMPARE(o.find<QLabel>("routing.written.dialogue")->text(), QString("dialogue: coupled, rho 0.5, window 8"));
        QCOMPARE(o.find<QComboBox>("routing.mode")->currentText(), QString("coupled"));
        QCOMPARE(o.find<widgets::ValueSlider>("routing.rho")->value(), 0.5);
        QCOMPARE(o.find<widgets::ValueSlider>("routing.window")->integer(), std::uint64_t{8});
        QTest::mouseClick(o.find<QAbstractButton>("asPublished.dialogue"), Qt::LeftButton);
        WAIT_UNTIL(o.document.ready());
        QCOMPARE(o.document.session().specialists[0].routing.value("rho", 0.0), 0.5);  // the rest is kept
        o.decode();
    }

    void aSourceIsDraggedToItsPlace() {
        Opened o;
        auto* rack = o.find<widgets::RackPanel>("rackPanel");
        WAIT_UNTIL(o.document.ready());
        auto* grip = rack->row(2)->findChild<QWidget*>("grip");
        const auto dragTo = [&](const QPoint& global) {
            QTest::mousePress(grip, Qt::LeftButton, {}, grip->rect().center());
            QTest::mouseMove(grip, grip->mapFromGlobal(global));
            QTest::mouseRelease(grip, Qt::LeftButton, {}, grip->mapFromGlobal(global));
        };
        const auto above = [&](std::size_t row) { return rack->row(row)->mapToGlobal(QPoint(20, 2)); };
        dragTo(above(1));
        QCOMPARE(o.document.session().specialists[0].name, std::string("animals"));
        QCOMPARE(rack->row(1)->objectName(), QString("source.animals"));
        o.document.undo();  // one drag, one step
        QCOMPARE(o.document.session().specialists[0].name, std::string("dialogue"));
        QCoreApplication::processEvents();
        grip = rack->row(2)->findChild<QWidget*>("grip");
        dragTo(above(0) - QPoint(0, 40));  // the base stays first
        QCOMPARE(o.document.session().specialists[0].name, std::string("animals"));
        QCOMPARE(o.document.session().base.path, std::string("base"));
    }

    void hoveringATokenTellsItsStages() {
        Opened o;
        o.decode();
        auto* strip = o.find<widgets::TokenStrip>("tokenStrip");
        const QString tip = tipAt(*strip->viewport(), strip->tokenRect(9).center());
        for (const char* part :
             {"position 9", "base", "dialogue", "animals", "composed", "at temperature", "drift", "entropy"})
            QVERIFY2(tip.contains(QLatin1String(part)), qPrintable(part + (" in " + tip)));
        QCOMPARE(tip, strip->hoverText(9));
        QVERIFY(strip->hoverText(0).contains("given"));
    }

    void hoveringASourceTellsWhatItIs() {
        Opened o;
        WAIT_UNTIL(o.document.ready());
        const QString tip = o.find<widgets::SourceRow>("source.dialogue")->toolTip();
        for (const char* part : {"dialogue", "FakeForTests", "float32"}) QVERIFY2(tip.contains(part), qPrintable(tip));
    }

    /// A source's colour is its own: it goes with it through the rack, and stays when others leave or come.
    void sourcesKeepTheirColours() {
        Opened o(session(), "Compose");
        o.decode();
        auto* rack = o.find<widgets::RackPanel>("rackPanel");
        const auto colourOf = [&](const char* name) {
            QCoreApplication::processEvents();  // rows of before are gone
            return o.find<widgets::SourceRow>((std::string("source.") + name).c_str())->colour();
        };
        const auto category = [](int i) { return widgets::seriesColour(widgets::currentTheme(), i); };
        QCOMPARE(colourOf("dialogue"), category(1));
        QCOMPARE(colourOf("animals"), category(2));
        QCOMPARE(seriesOf(o, "eos", "animals"), 2);

        rack->row(2)->setFocus();
        QTest::keyClick(rack->row(2), Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(o.document.session().specialists[0].name, std::string("animals"));
        QCOMPARE(colourOf("animals"), category(2));
        QCOMPARE(colourOf("dialogue"), category(1));
        WAIT_UNTIL(!o.document.busy());
        QCOMPARE(seriesOf(o, "eos", "animals"), 2);  // the trace of before
        o.decode();
        QCOMPARE(o.document.trace()->sources[1], std::string("animals"));
        for (const char* plot : {"distribution", "eos", "activity"}) {
            QCOMPARE(seriesOf(o, plot, "animals"), 2);
            QCOMPARE(seriesOf(o, plot, "dialogue"), 1);
            QCOMPARE(seriesOf(o, plot, "base"), QByteArray(plot) == "activity" ? -9 : 0);
        }
        QCOMPARE(seriesOf(o, "divergences", "KL from base"), 1);  // what is no source's stays
        const model::Series split = o.find<widgets::PlotDock>("dock.ledger")->panel().view().plot().series.front();
        QCOMPARE(std::vector<int>(split.pointColours.begin(), split.pointColours.begin() + 3),
                 (std::vector<int>{0, 2, 1}));
        const QByteArray figure = exported(o, "eos");
        QVERIFY(figure.contains(category(1).name().toLatin1()) && figure.contains(category(2).name().toLatin1()));

        model::Session fewer = o.document.session();
        fewer.specialists.pop_back();  // dialogue
        o.document.setSession(fewer);
        QCOMPARE(colourOf("animals"), category(2));
        WAIT_UNTIL(o.document.ready());
        o.decode();
        QCOMPARE(seriesOf(o, "eos", "animals"), 2);
        fewer.specialists.push_back(fewer.specialists.front());
        fewer.specialists.back().name = fewer.specialists.back().path = "law";
        o.document.setSession(fewer);
        QCOMPARE(colourOf("law"), category(1));  // the first that is free
        QCOMPARE(colourOf("animals"), category(2));
        while (o.document.canUndo()) o.document.undo();
        o.document.redo();  // the session as it was opened
        QCOMPARE(colourOf("animals"), category(2));
        QVERIFY(colourOf("dialogue") != colourOf("animals"));
    }

    void theFlipIsTold() {
        Opened o;
        o.decode();
        auto* flip = o.find<QLabel>("flip");
        const auto last = o.document.trace()->steps.back()->position;
        QCOMPARE(flip->text(), QString("exact to %1").arg(last));
        model::Session hot = o.document.session();
        hot.decoding.temperature = 4;
        o.document.setSession(hot);
        WAIT_UNTIL(!o.document.busy() && o.document.trace()->flip.has_value());
        QCOMPARE(flip->text(), QString("exact to %1 | teacher-forced").arg(*o.document.trace()->flip - 1));
        QVERIFY(o.find<QComboBox>("traces")->currentText().contains("τ 4"));
    }
};

QTEST_MAIN(TestWindowTold)
#include "tst_windowtold.moc"
