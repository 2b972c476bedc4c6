// The Routing perspective: dials of a source's routing, experts switched and biased, the choosers of the heat map, when
// estimates are made, the invariance panel.

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableWidget>

#include "compute/dial.h"
#include "model/routingpicture.h"
#include "tests/app/opened.h"
#include "widgets/palette.h"
#include "widgets/routingbinding.h"
#include "widgets/valueslider.h"

using namespace counterpoint;
using namespace counterpoint::tests;
using compute::OrderedJson;

namespace {

struct Routing : Opened {
    explicit Routing(model::Session s = routedSession()) : Opened(std::move(s), "Routing") {
        [this] { WAIT_UNTIL(document.ready()); }();
        choose("routing.source", "coupled");
    }
    const OrderedJson& written(std::size_t specialist = 0) const {
        return document.session().specialists[specialist].routing;
    }
    QWidget* dial(const char* id) { return find<QWidget>((std::string("routing.") + id).c_str()); }
    /// A row of a combo box, by keys.
    void choose(const char* name, const QString& text) { choose(find<QComboBox>(name), text); }
    static void choose(QComboBox* combo, const QString& text) {
        QVERIFY(combo != nullptr);
        const int row = combo->findText(text);
        QVERIFY2(row >= 0, qPrintable(text));
        combo->setFocus();
        for (int tries = 0; combo->currentIndex() != row && tries < 20; ++tries)
            QTest::keyClick(combo, combo->currentIndex() < row ? Qt::Key_Down : Qt::Key_Up);
        QCOMPARE(combo->currentIndex(), row);
    }
    void type(const char* id, const QString& text) {
        auto* field = dial(id)->findChild<widgets::NumberField*>("field");
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, text);
        QTest::keyClick(field, Qt::Key_Return);
    }
    void typeList(const char* id, const QString& text) {
        auto* list = dial(id)->findChild<QLineEdit*>("list");
        QVERIFY(list->isVisible());
        list->setFocus();
        list->selectAll();
        QTest::keyClicks(list, text);
        QTest::keyClick(list, Qt::Key_Return);
    }
    QString said() const {
        return document.notices().empty() ? QString() : QString::fromStdString(document.notices().back().sentence);
    }
};

}  // namespace

class TestWindowRouting : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void everyDialOfTheTableIsThere() {
        Routing o;
        for (const compute::DialSpec& spec : compute::routingDials()) {
            const auto* dial = o.dial(std::string(spec.id).c_str());
            QVERIFY2(dial != nullptr && dial->isVisible(), spec.id.data());
            QVERIFY2(dial->toolTip().contains(QLatin1String(spec.rule.data(), qsizetype(spec.rule.size()))),
                     spec.id.data());
            QCOMPARE(dial->toolTip().contains("law of a token"), spec.changesLaw);
            QVERIFY(dial->toolTip().contains(spec.acts == compute::DialActs::Stored ? "acts at once" : "text anew"));
            QVERIFY(!dial->accessibleName().isEmpty());
            if (spec.kind == compute::DialKind::Real)
                QVERIFY2(dial->toolTip().contains(widgets::formatExact(spec.minimum) + " – " +
                                                  widgets::formatExact(spec.maximum)),
                         qPrintable(dial->toolTip()));
        }
    }

    void dialsEditTheSourcesRouting() {
        Routing o;
        o.type("rho", "0.75");
        o.type("alpha", "0.25");
        o.type("window", "12");
        o.type("seed", "18446744073709551615");
        o.type("temperature", "1.5");
        o.type("capacity", "1.25");
        o.type("draws", "64");
        o.choose(o.find<QComboBox>("routing.mode"), "independent");
        const OrderedJson wanted = {{"mode", "independent"}, {"rho", 0.75},      {"alpha", 0.25},
                                    {"window", 12},          {"note", "kept"},   {"seed", 18446744073709551615u},
                                    {"temperature", 1.5},    {"capacity", 1.25}, {"draws", 64}};
        QVERIFY2(o.written() == wanted, o.written().dump().c_str());
        QVERIFY(o.document.session().base.routing.is_null());  // of the other source nothing changes
        o.type("rho", "1.5");
        QVERIFY2(o.said().contains("0.00 to 1.00"), qPrintable(o.said()));
        QVERIFY(o.written() == wanted);
        for (int i = 0; i < 8; ++i) o.document.undo();
        QVERIFY(o.document.session().specialists[0].routing == routedSession().specialists[0].routing);
        QCOMPARE(o.dial("rho")->findChild<widgets::NumberField*>("field")->value(), 0.5);
        QCOMPARE(o.find<QComboBox>("routing.mode")->currentText(), QString("coupled"));
    }

    void aDragIsOneStep() {
        Routing o;
        auto* slider = o.dial("rho")->findChild<QSlider*>("slider");
        slider->setSliderDown(true);
        for (const int tick : {60, 70, 80}) slider->setValue(tick);
        slider->setSliderDown(false);
        QCOMPARE(o.written()["rho"].get<double>(), 0.8);
        o.document.undo();
        QCOMPARE(o.written()["rho"].get<double>(), 0.5);
    }

    void groupsAndPairsAreChosenOrListed() {
        Routing o;
        auto* kind = o.dial("groups")->findChild<QComboBox*>("kind");
        QVERIFY(!o.dial("groups")->findChild<QLineEdit*>("list")->isVisible());
        o.choose(kind, "sentences");
        QVERIFY(o.written()["groups"] == "sentences");
        QVERIFY(!o.dial("window")->isEnabled());
        o.choose(kind, "list");
        o.typeList("groups", "0, 5 9");
        QVERIFY2(o.written()["groups"] == OrderedJson({0, 5, 9}), o.written().dump().c_str());
        QCOMPARE(o.dial("groups")->findChild<QLineEdit*>("list")->text(), QString("0, 5, 9"));
        o.typeList("groups", "0, 9, 5");
        QVERIFY2(o.said().contains("ascending"), qPrintable(o.said()));
        QVERIFY(o.written()["groups"] == OrderedJson({0, 5, 9}));
        o.typeList("groups", "0, b");
        QVERIFY2(o.said().contains("'b' is no first position"), qPrintable(o.said()));
        o.choose(kind, "windows");
        QVERIFY(o.written()["groups"].is_null());
        QVERIFY(o.dial("window")->isEnabled());
        o.choose(o.dial("pairs")->findChild<QComboBox*>("kind"), "list");
        o.typeList("pairs", "0-1, 2 - 5");
        QVERIFY2(o.written()["pairs"] == OrderedJson::parse("[[0,1],[2,5]]"), o.written().dump().c_str());
        o.forgetNotices();
        o.typeList("pairs", "0-1, 1-2");
        QVERIFY2(!o.said().isEmpty() && o.written()["pairs"] == OrderedJson::parse("[[0,1],[2,5]]"),
                 qPrintable(o.said()));
    }

    void expertsAreSwitchedAndBiased() {
        Routing o;
        auto* table = o.find<QTableWidget>("routing.experts");
        QCOMPARE(table->rowCount(), int(RoutedSource::kExperts));
        o.choose("routing.layer", "Layer 2");
        QCOMPARE(o.document.view().routingLayer, 1);
        const auto toggle = [&](int expert) {
            table->setCurrentCell(expert, 0);
            table->setFocus();
            QTest::keyClick(table, Qt::Key_Space);
        };
        toggle(3);
        QVERIFY2(o.written()["experts"] == OrderedJson::parse(R"({"2":{"off":[3]}})"), o.written().dump().c_str());
        QCOMPARE(table->item(3, 1)->text(), QString("off"));
        table->item(1, 1)->setText("-1.5");
        QVERIFY2(o.written()["experts"] == OrderedJson::parse(R"({"2":{"off":[3],"bias":{"1":-1.5}}})"),
                 o.written().dump().c_str());
        table->item(2, 1)->setText("much");
        QVERIFY2(o.said().contains("'much' is not a number"), qPrintable(o.said()));
        QCOMPARE(table->item(2, 1)->text(), QString("0"));
        for (const int expert : {4, 5}) toggle(expert);
        toggle(0);  // 1 and 2 are left: as many as are chosen
        QVERIFY(o.written()["experts"]["2"]["off"] == OrderedJson({0, 3, 4, 5}));
        toggle(2);
        QVERIFY2(o.said().contains("too few experts are left"), qPrintable(o.said()));
        QCOMPARE(table->item(2, 0)->checkState(), Qt::Checked);
        QVERIFY(o.find<QLabel>("routing.law")->text().contains("changed"));
        QTest::mouseClick(o.find<QPushButton>("asPublished.coupled"), Qt::LeftButton);
        QVERIFY(!o.written().contains("experts"));
        QCOMPARE(o.written()["mode"].get<std::string>(), std::string("deterministic"));
        QCOMPARE(o.written()["rho"].get<double>(), 0.5);
        o.choose("routing.layer", "Layer 0");
        QCOMPARE(table->item(3, 0)->checkState(), Qt::Checked);
    }

    void whatStandsBesideSurvives() {
        OrderedJson routing =
            OrderedJson::parse(R"({"experts":{"2":{"off":[1],"why":"it"},"7":{"off":[0]}},"note":1})");
        widgets::setExpertBias(routing, 2, 1, 0);
        QVERIFY2(routing == OrderedJson::parse(R"({"experts":{"2":{"why":"it"},"7":{"off":[0]}},"note":1})"),
                 routing.dump().c_str());
        OrderedJson none;
        widgets::setRoutingValue(none, "rho", {.real = 0.25});
        QVERIFY(none == OrderedJson({{"rho", 0.25}}));
        QVERIFY_EXCEPTION_THROWN(widgets::setRoutingValue(none, "rho", {.real = 1.5}), compute::Error);
        QVERIFY_EXCEPTION_THROWN(widgets::setPairList(none, "0-1-2"), compute::Error);
        widgets::setPairList(none, "");
        QVERIFY(none["pairs"] == OrderedJson::array());
    }

    void theSourceAndTheDecodesOwnSettingsAreTold() {
        Routing o;
        o.decode();
        auto* stale = o.find<QLabel>("routing.stale");
        QVERIFY(!stale->isVisible());
        o.type("rho", "0.9");
        QVERIFY2(stale->isVisible() && stale->text().contains("rho 0.5"), qPrintable(stale->text()));
        QCOMPARE(o.find<QLabel>("routing.written.base")->text(), QString("base: as published"));
        o.choose("routing.source", "base");
        QCOMPARE(o.document.view().source, 0);
        QCOMPARE(o.find<QComboBox>("routing.mode")->currentText(), QString("deterministic"));
        QVERIFY(!stale->isVisible());
        QVERIFY(o.find<QLabel>("routing.written.coupled")->text().contains("rho 0.9"));
    }

    void theHeatMapHasItsChoosers() {
        Routing o;
        o.decode();
        WAIT_UNTIL(o.find<QComboBox>("routing_heat.layer") != nullptr);
        o.choose("routing_heat.layer", "2");
        QCOMPARE(o.document.view().routingLayer, 1);
        QCOMPARE(o.find<QComboBox>("routing.layer")->currentIndex(), 1);  // one layer everywhere
        o.choose("routing_heat.measure", "Mixture weight");
        QCOMPARE(o.document.view().routingMeasure, std::string("weight"));
        auto* view = o.find<widgets::PlotView>("routing_heat.plot");
        WAIT_UNTIL(view->plot().heat && view->plot().heat->unit == "mixture weight");
        QTest::mouseClick(view->childAt(view->rect().center()), Qt::LeftButton, {}, view->toPixel(6, 2).toPoint());
        QCOMPARE(o.document.view().cursor, compute::Position(6));
    }

    void estimatesAreMadeWhileSomebodyLooks() {
        Opened o(routedSession(), "Compose");
        o.decode();
        QCoreApplication::processEvents();
        QVERIFY(!o.document.estimating() && o.document.trace()->routing == nullptr);
        o.window->showPerspective("Routing");
        WAIT_UNTIL(o.document.trace()->routing != nullptr && o.document.trace()->routing->whole);
        o.window->showPerspective("Compose");
        QCoreApplication::processEvents();
        const model::RoutingPicturePtr before = o.document.trace()->routing;
        model::Session session = o.document.session();
        session.specialists[0].routing["rho"] = 0.9;
        session.base.routing = {{"mode", "coupled"}, {"rho", 0.9}};
        o.document.setSession(session);
        QTest::qWait(50);
        QVERIFY(!o.document.estimating());
        QVERIFY(o.document.trace()->routing == before);  // nor was one made and done in that time
    }

    void theInvariancePanelHasItsVerdict() {
        Routing o;
        auto* verdict = o.find<QLabel>("invariance.verdict");
        auto* table = o.find<QTableWidget>("invariance.table");
        QVERIFY(!table->isVisible());
        QCOMPARE(verdict->text(), QString(model::kNothingDecoded));
        o.decode();
        WAIT_UNTIL(o.document.trace()->routing != nullptr && o.document.trace()->routing->invariance != nullptr);
        o.find<QDockWidget>("dock.routing_invariance")->raise();
        WAIT_UNTIL(table->isVisible());
        const model::InvariancePanel& panel = *o.document.trace()->routing->invariance;
        QCOMPARE(verdict->text(), QString::fromStdString(panel.verdict));
        QVERIFY(o.find<QLabel>("invariance.scope")->text().contains(model::kOneLayer));
        QCOMPARE(table->rowCount(), int(panel.rows.size()));
        QVERIFY(panel.rows.size() == 4);
        for (int row = 0; row < 4; ++row) {
            const compute::InvarianceTest& test = panel.rows[std::size_t(row)];
            QCOMPARE(table->item(row, 0)->text(), QString::fromUtf8(model::titleOf(test.kind)));
            QCOMPARE(table->item(row, 4)->text(), widgets::formatCell(test.pValue));
        }
    }

    void nothingIsCutOff_data() {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<bool>("dark");
        for (const QSize& size : {QSize(1280, 800), QSize(2560, 1440)})
            for (const bool dark : {false, true})
                QTest::addRow("%d%s", size.width(), dark ? " dark" : "") << size << dark;
    }
    void nothingIsCutOff() {
        QFETCH(QSize, size);
        QFETCH(bool, dark);
        widgets::applyTheme(*qApp, dark ? widgets::ThemeKind::Dark : widgets::ThemeKind::Light);
        const auto back = qScopeGuard([] { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); });
        Routing o;
        o.window->resize(size);
        o.decode();
        WAIT_UNTIL(o.document.trace()->routing != nullptr && o.document.trace()->routing->whole);
        QCOMPARE(o.window->size(), size);
        if (const QString keep = qEnvironmentVariable("COUNTERPOINT_PICTURES"); !keep.isEmpty()) {
            QTest::qWait(100);
            o.window->grab().save(keep + "/routing-" + QString(QTest::currentDataTag()).replace(' ', '-') + ".png");
        }
        auto* area = o.find<QScrollArea>("routingPanel");
        for (QWidget* widget : area->widget()->findChildren<QWidget*>()) {
            if (!widget->isVisible()) continue;
            const QPoint left = widget->mapTo(area->viewport(), QPoint(0, 0));
            QVERIFY2(left.x() >= 0 && left.x() + widget->width() <= area->viewport()->width(),
                     qPrintable(widget->objectName()));
            const auto* label = qobject_cast<QLabel*>(widget);
            if (label != nullptr && !label->wordWrap())
                QVERIFY2(label->width() >= label->sizeHint().width(), qPrintable(label->text()));
        }
        const auto height = [&](const char* dock) { return o.find<QDockWidget>(dock)->height(); };
        for (const char* other : {"dock.text", "dock.routing_coherence", "dock.drift"})  // it is what one looks at
            QVERIFY2(4 * height("dock.routing_heat") >= 5 * height(other), other);
    }
};

QTEST_MAIN(TestWindowRouting)
#include "tst_windowrouting.moc"
