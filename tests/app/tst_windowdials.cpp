// Weights and dials in the window under mouse and keys: what is typed, dragged, switched and undone.

#include <QAbstractButton>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QSlider>

#include "app/mainwindow.h"
#include "compute/dial.h"
#include "tests/app/opened.h"
#include "widgets/numberfield.h"
#include "widgets/palette.h"
#include "widgets/sourcerow.h"

using namespace counterpoint;
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

class TestWindowDials : public QObject {
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
        for (const char* junk : {"1,2,3", "1,5.0"}) {  // no thousands in it: not two ways to read it, but none
            for (const model::Notice& notice : std::vector(o.document.notices())) o.document.dismiss(notice.id);
            type(junk);
            QCOMPARE(o.document.notices().size(), std::size_t{1});
            QVERIFY(o.document.notices()[0].sentence.find("is not a number") != std::string::npos);
        }
        type("0.5");
        QCOMPARE(o.document.session().specialists[0].weight, 0.5);
        field->selectAll();
        field->insert(QStringLiteral("\u22120.25"));  // pasted: the minus of typesetters
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(o.document.session().specialists[0].weight, -0.25);
    }

    void aFieldShowsTheValueOrThatMoreFollows_data() {
        QTest::addColumn<double>("weight");
        QTest::addColumn<QString>("shown");
        QTest::addColumn<QString>("hover");
        QTest::newRow("negative") << -0.6 << "−0.60"
                                  << "";
        QTest::newRow("beyond what may be typed") << 1e300 << "1e300"
                                                  << "";
        QTest::newRow("largest that may be typed") << 1e6 << "1e6"
                                                   << "";
        QTest::newRow("small") << -2e-7 << "−2e−7"
                               << "";
        QTest::newRow("many digits") << 0.123456789012345 << "0.12…"
                                     << "0.123456789012345";
    }
    void aFieldShowsTheValueOrThatMoreFollows() {
        QFETCH(double, weight);
        QFETCH(QString, shown);
        QFETCH(QString, hover);
        model::Session s = session();
        s.specialists[0].weight = weight;
        Opened o(s);
        QTRY_VERIFY(o.document.ready());
        QCoreApplication::processEvents();
        auto* field = o.find<widgets::SourceRow>("source.dialogue")->findChild<widgets::NumberField*>("field");
        QVERIFY2(shown.endsWith(QChar(0x2026))
                     ? field->text().startsWith(shown.chopped(1)) && field->text().endsWith(QChar(0x2026))
                     : field->text() == shown,
                 qPrintable(field->text()));
        QCOMPARE(field->toolTip(), hover);
        const std::size_t told = o.document.notices().size();
        field->setFocus();
        QTest::keyClick(field, Qt::Key_Return);  // nothing was typed: nothing changes, nothing is said
        QCOMPARE(o.document.session().specialists[0].weight, weight);
        QCOMPARE(o.document.notices().size(), told);
        QVERIFY(!field->text().contains(QChar(0x2026)));
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("1e300"));
        QTest::keyClick(field, Qt::Key_Return);  // refused
        QCOMPARE(o.document.session().specialists[0].weight, weight);
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

    void theRuleIsADial() {
        Opened o;
        o.decode();
        auto* rule = o.find<QComboBox>("dial.rule");
        QVERIFY2(rule->toolTip().contains("R1") && rule->toolTip().contains("acts at once"),
                 qPrintable(rule->toolTip()));
        QCOMPARE(rule->currentText(), QString("product"));
        const auto terms = [&] { return o.document.plot("ledger").x.categories; };
        const double product = o.document.trace()->at(9)->diagnostics.drift;
        QVERIFY(terms().front() != "mixture");
        rule->setFocus();
        QTest::keyClick(rule, Qt::Key_Down);
        QVERIFY(o.document.session().rule == compute::Rule::Mixture);
        QTRY_VERIFY(!o.document.busy() && o.document.trace()->session.rule == compute::Rule::Mixture);
        QVERIFY(o.document.trace()->at(9)->diagnostics.drift != product);
        QCOMPARE(terms().front(), std::string("mixture"));
        QVERIFY(o.find<QComboBox>("traces")->currentText().contains("mixture"));
        const std::filesystem::path file = o.folder.filePath("mixture.session.json").toStdString();
        o.document.save(file);
        std::vector<std::string> warnings;
        QVERIFY(model::readSession(file, warnings).rule == compute::Rule::Mixture);
        o.document.undo();
        QCOMPARE(rule->currentText(), QString("product"));
        QTRY_COMPARE(o.document.trace()->at(9)->diagnostics.drift, product);
    }

    void plausibilityHasItsKind() {
        Opened o;
        auto* dial = o.find<QWidget>("dial.plausibility");
        auto* kind = dial->findChild<QComboBox*>("kind");
        QVERIFY(!kind->isEnabled());
        dial->findChild<QAbstractButton*>("switch")->click();
        QVERIFY(o.document.session().decoding.plausibility->kind == compute::PlausibilityKind::Relative);
        kind->setFocus();
        QTest::keyClick(kind, Qt::Key_Down);
        const auto plausibility = *o.document.session().decoding.plausibility;
        QVERIFY(plausibility.kind == compute::PlausibilityKind::TopP);
        QCOMPARE(plausibility.value, 0.1);
        auto* field = dial->findChild<QLineEdit*>("field");
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, "0.8");
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(o.document.session().decoding.plausibility->kind == compute::PlausibilityKind::TopP);
        QCOMPARE(o.document.session().decoding.plausibility->value, 0.8);
        o.document.undo();
        o.document.undo();
        QCOMPARE(kind->currentText(), QString("relative"));
    }
};

QTEST_MAIN(TestWindowDials)
#include "tst_windowdials.moc"
