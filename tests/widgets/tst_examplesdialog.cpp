// The dialog of a prior from examples, offscreen, under mouse and keys, on a scripted base: files and thumbs in, ticks,
// Δ and context, the estimate with Stop, and a bank that undo gives back; no file is written.
#include <QApplication>
#include <QHeaderView>
#include <QSignalSpy>

#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/widgets/examplesopened.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::widgets;
using namespace counterpoint::tests;

class TestExamplesDialog : public QObject, Scratch {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeKind::Light); }
    void init() {
        failOnAnyWarning();
        renew();
    }

    void setsAreReadAndProposed() {
        const Opened o(folder());
        QVERIFY(!o.find<QPushButton>("examples.add").isEnabled());
        QVERIFY(!o.find<QPushButton>("examples.estimate").isEnabled());
        o.choose("examples.addPreferred", "good.jsonl");
        WAIT_UNTIL(o.said("examples.problems").contains("no token stands in the not preferred texts"));
        o.choose("examples.addOther", "bad.jsonl");
        WAIT_UNTIL(o.candidates().rowCount() == 6);  // a b c and the ends w y z: x and u are held out
        QCOMPARE(o.said("examples.split"), QString("Training: 3 preferred, 3 not. Held out: 2 preferred, 2 not."));
        QVERIFY(o.find<QLabel>("examples.problems").isHidden());
        const auto& sources = o.find<QTableWidget>("examples.sources");
        QCOMPARE(sources.rowCount(), 2);
        QCOMPARE(sources.item(0, 0)->text() + sources.item(0, 1)->text() + sources.item(0, 2)->text(),
                 QString("good.jsonl50"));
        QCOMPARE(sources.item(1, 0)->text() + sources.item(1, 1)->text() + sources.item(1, 2)->text(),
                 QString("bad.jsonl05"));
        QVERIFY(o.ticked(letter('a')) && o.ticked(letter('c')) && !o.ticked(letter('b')) && !o.ticked(letter('y')));
        QCOMPARE(o.said("examples.count"), QString("2 of 6 ticked"));
        const int a = o.rowOf(letter('a'));
        QCOMPARE(o.cell(a, 0), QString("a"));
        QCOMPARE(o.cell(a, 4), formatCell(12));
        QCOMPARE(o.cell(a, 5), formatCell(0));
        QCOMPARE(o.cell(a, 6), QString("3"));
        QVERIFY(o.cell(o.rowOf(letter('c')), 2).startsWith(QChar(0x2212)));
        o.find<QTableWidget>("examples.sources").setCurrentCell(1, 0);
        o.click("examples.remove");
        WAIT_UNTIL(o.candidates().rowCount() == 0 && o.said("examples.problems").contains("not preferred texts"));
    }

    void theSplitFollowsItsFields() {
        const Opened o(folder());
        o.bothSets();
        const auto type = [&](const char* name, const char* text) {
            auto& field = o.find<NumberField>(name);
            field.setFocus();
            field.selectAll();
            QTest::keyClicks(&field, text);
            QTest::keyClick(&field, Qt::Key_Return);
        };
        type("examples.every", "5");
        WAIT_UNTIL(o.said("examples.split") == "Training: 4 preferred, 4 not. Held out: 1 preferred, 1 not.");
        QVERIFY(o.rowOf(letter('x')) < 0 && o.rowOf(letter('y')) >= 0);
        type("examples.seed", "1");
        WAIT_UNTIL(o.rowOf(letter('x')) >= 0 && o.rowOf(letter('y')) < 0);
    }

    void theTableSorts() {
        const Opened o(folder());
        o.bothSets();
        QHeaderView& head = *o.candidates().horizontalHeader();
        const auto sortBy = [&](int column) {
            const QPoint at(head.sectionViewportPosition(column) + head.sectionSize(column) / 2, head.height() / 2);
            QTest::mouseClick(head.viewport(), Qt::LeftButton, {}, at);
        };
        sortBy(3);  // log-odds, the largest first
        QCOMPARE(o.cell(0, 1), QString::number(letter('a')));
        QCOMPARE(o.cell(5, 1), QString::number(letter('c')));
        sortBy(3);
        QCOMPARE(o.cell(0, 1), QString::number(letter('c')));
        sortBy(0);  // by the token's text
        QCOMPARE(o.cell(0, 0), QString("a"));
        QCOMPARE(o.cell(5, 0), QString("z"));
        QVERIFY(o.ticked(letter('a')) && o.ticked(letter('c')) && !o.ticked(letter('z')));
    }

    void ticksAreAPersons() {
        const Opened o(folder());
        o.bothSets();
        QTableWidget& table = o.candidates();
        table.setFocus();
        table.setCurrentCell(o.rowOf(letter('c')), 0);
        QTest::keyClick(&table, Qt::Key_Space);
        QVERIFY(!o.ticked(letter('c')));
        QCOMPARE(o.said("examples.count"), QString("1 of 6 ticked"));
        auto& threshold = o.find<NumberField>("examples.threshold");
        threshold.setFocus();
        threshold.selectAll();
        QTest::keyClicks(&threshold, "0.5");
        QTest::keyClick(&threshold, Qt::Key_Return);
        QVERIFY(o.ticked(letter('c')) && !o.ticked(letter('y')));  // y is on both sides alike
        threshold.selectAll();
        QTest::keyClicks(&threshold, "900");
        QTest::keyClick(&threshold, Qt::Key_Return);
        QVERIFY(!o.ticked(letter('a')));
        QVERIFY(!o.find<QPushButton>("examples.add").isEnabled());
    }

    /// What the prior will be given: a and c stand in all three training texts of their side, z in one.
    void confidenceIsShownBeforeThePriorIsAdded() {
        const Opened o(folder());
        QCOMPARE(o.said("examples.confidence"), QString());
        o.bothSets();
        const QString one = "Confidence c = " + formatNumber(1) + ":";
        WAIT_UNTIL2(o.said("examples.confidence").startsWith(one), qPrintable(o.said("examples.confidence")));
        QVERIFY2(o.said("examples.confidence").contains("not applied"), qPrintable(o.said("examples.confidence")));
        o.candidates().item(o.rowOf(letter('a')), 0)->setCheckState(Qt::Unchecked);
        QVERIFY2(o.said("examples.confidence").startsWith(one), qPrintable(o.said("examples.confidence")));
        o.candidates().item(o.rowOf(letter('z')), 0)->setCheckState(Qt::Checked);
        const double third = (1 + 1.0 / 3) / 2;
        QVERIFY2(o.said("examples.confidence").startsWith("Confidence c = " + formatNumber(third) + ":"),
                 qPrintable(o.said("examples.confidence")));
        o.find<QComboBox>("examples.delta").setCurrentIndex(1);
        QVERIFY2(o.said("examples.confidence").contains("Δ = c·δ₊"), qPrintable(o.said("examples.confidence")));
        o.click("examples.add");
        QVERIFY(std::abs(o.bank().priors.at(0)->confidence - third) < 1e-12);
    }

    void itGoesIntoTheBankAndBack() {
        const Opened o(folder());
        o.bothSets();
        QVERIFY(o.said("examples.quality").contains("q = 0.5"));
        o.click("examples.estimate");
        WAIT_UNTIL(o.dialog->work().quality().has_value());
        const model::QualityEstimate estimate = *o.dialog->work().quality();
        // A held-out text: 4 of "a" (or "c") of 9, the rest is pushed down a little.
        QCOMPARE(estimate.positions(), 36);
        QCOMPARE(estimate.support().seen, 16);
        QCOMPARE(estimate.support().right, 16);
        QCOMPARE(estimate.everywhere.seen, 36);
        QCOMPARE(estimate.q, 17.0 / 18);
        QCOMPARE(estimate.texts, std::size_t(4));
        const QString said = o.said("examples.quality");
        QVERIFY2(said.contains("right at 16 of 16 positions whose token it weighs"), qPrintable(said));
        QVERIFY2(said.contains(QString("%1 of 36 that it moves").arg(estimate.everywhere.right)), qPrintable(said));
        QVERIFY2(said.contains("95 %: " + formatNumber(estimate.counted.low)), qPrintable(said));
        QVERIFY2(said.contains("counts positions, which are not independent"), qPrintable(said));
        QVERIFY2(said.contains("the weights of texts are not used"), qPrintable(said));

        o.find<QLineEdit>("examples.name").setText("likes a");
        o.find<QLineEdit>("examples.task").setText("letters");
        QVERIFY(o.dialog->work().quality().has_value());  // words change no quality
        const bool modified = o.document->bankModified(0);
        QVERIFY(!modified && !o.document->canUndo());
        o.click("examples.add");
        QCOMPARE(o.bank().priors.size(), std::size_t(1));
        const compute::Prior& prior = *o.bank().priors[0];
        QCOMPARE(prior.name, std::string("likes a"));
        QCOMPARE(prior.task, std::string("letters"));
        QCOMPARE(prior.quality, estimate.q);
        QCOMPARE(prior.confidence, 1.0);
        QCOMPARE(prior.delta.size(), std::size_t(2));
        QVERIFY(prior.source.find("good.jsonl (5 preferred, 0 not)") != std::string::npos);
        QCOMPARE(o.bank().tokenizer, std::optional<std::string>(ByteTokenizer(300).fingerprint()));
        QVERIFY(o.said("examples.said").contains("likes a"));
        QVERIFY(o.document->bankModified(0));
        QCOMPARE(compute::readFile(o.folder / "letters.bank.json"), std::string(kBank));
        o.document->undo();
        QVERIFY(o.bank().priors.empty() && !o.bank().tokenizer && !o.document->canUndo());
        QVERIFY(!o.document->bankModified(0));
        o.document->redo();
        QCOMPARE(o.bank().priors.size(), std::size_t(1));
        o.click("examples.add");
        QCOMPARE(o.bank().priors[1]->name, std::string("likes a 2"));
    }

    void deltaAndContext() {
        const Opened o(folder());
        o.bothSets();
        QVERIFY(!o.find<NumberField>("examples.plus").isEnabled());
        o.find<QComboBox>("examples.delta").setCurrentIndex(1);
        for (const auto& [name, text] : {std::pair("examples.plus", "2.5"), std::pair("examples.minus", "1.5")}) {
            auto& field = o.find<NumberField>(name);
            field.setFocus();
            field.selectAll();
            QTest::keyClicks(&field, text);
            QTest::keyClick(&field, Qt::Key_Return);
        }
        o.find<QComboBox>("examples.context").setCurrentIndex(1);
        auto& pattern = o.find<QLineEdit>("examples.pattern");
        QVERIFY(!pattern.isHidden());
        pattern.setText("b(");
        QVERIFY(!o.said("examples.contextProblem").isEmpty());
        QVERIFY(!o.find<QPushButton>("examples.add").isEnabled());
        pattern.setText("b$");
        QVERIFY(o.find<QLabel>("examples.contextProblem").isHidden());
        o.click("examples.estimate");
        WAIT_UNTIL(o.dialog->work().quality().has_value());
        QCOMPARE(o.dialog->work().quality()->everywhere.seen, 16);  // after a "b" alone
        QCOMPARE(o.dialog->work().quality()->q, 17.0 / 18);
        o.click("examples.add");
        const compute::Prior& prior = *o.bank().priors.at(0);
        QVERIFY(prior.delta.empty());
        QCOMPARE(prior.promote, (std::vector<compute::PriorEntry>{{.text = {}, .id = letter('a')}}));
        QCOMPARE(prior.demote, (std::vector<compute::PriorEntry>{{.text = {}, .id = letter('c')}}));
        QCOMPARE(prior.deltaPlus, 2.5);
        QCOMPARE(prior.deltaMinus, 1.5);
        QCOMPARE(prior.when.pattern, std::string("b$"));
        QCOMPARE(prior.quality, 17.0 / 18);
        pattern.setText("x$");  // what was estimated is of another prior
        QVERIFY(!o.dialog->work().quality().has_value());
        o.find<QComboBox>("examples.context").setCurrentIndex(2);
        for (const char* bad : {"", "b", "1 -2", "99999999999"}) {
            pattern.setText(QLatin1String(bad));
            QVERIFY2(o.said("examples.contextProblem").contains("ids"), bad);
        }
        pattern.setText("101, 100");
        o.click("examples.add");
        QCOMPARE(o.bank().priors.back()->when.ids, (std::vector<TokenId>{101, 100}));
        QCOMPARE(o.bank().priors.back()->quality, 0.5);
    }

    void theEstimateStops() {
        const Opened o(folder());
        o.bothSets();
        *o.held = true;
        o.click("examples.estimate");
        QVERIFY(o.find<QProgressBar>("examples.progress").isVisible());
        QVERIFY(!o.find<QPushButton>("examples.estimate").isEnabled() &&
                !o.find<QPushButton>("examples.add").isEnabled());
        WAIT_UNTIL(o.said("examples.quality").startsWith("Scoring held-out texts"));
        o.click("examples.stop");
        *o.held = false;
        WAIT_UNTIL(!o.dialog->work().estimating());
        QVERIFY2(o.said("examples.quality").contains("stopped after"), qPrintable(o.said("examples.quality")));
        QVERIFY(o.find<QPushButton>("examples.stop").isHidden());
    }

    /// A dial that is moved while texts are scored is answered meanwhile.
    void aDialDoesNotWaitForTheEstimate() {
        const Opened o(folder(), 1);
        o.bothSets();
        *o.held = true;
        o.click("examples.estimate");
        WAIT_UNTIL(o.said("examples.quality").startsWith("Scoring held-out texts"));
        int answers = 0;
        QObject::connect(o.document.get(), &model::Document::recomposed, o.document.get(), [&] { ++answers; });
        model::Session session = o.document->session();
        session.decoding.temperature = 0.5;
        o.document->setSession(session);
        WAIT_UNTIL(answers > 0);
        QVERIFY(o.dialog->work().estimating());
        QCOMPARE(o.document->trace()->session.decoding.temperature, 0.5);
        *o.held = false;
        WAIT_UNTIL(!o.dialog->work().estimating());
    }

    /// What is estimated meanwhile is of a prior that is no longer asked for.
    void anEditForgetsTheEstimateUnderWay() {
        const Opened o(folder());
        o.bothSets();
        *o.held = true;
        o.click("examples.estimate");
        WAIT_UNTIL(o.said("examples.quality").startsWith("Scoring held-out texts"));
        o.find<QComboBox>("examples.delta").setCurrentIndex(1);
        *o.held = false;
        WAIT_UNTIL(!o.dialog->work().estimating());
        QVERIFY2(o.said("examples.quality").startsWith("Not estimated"), qPrintable(o.said("examples.quality")));
        o.click("examples.add");
        QCOMPARE(o.bank().priors.at(0)->quality, 0.5);
    }

    void closingStopsToo() {
        const Opened o(folder());
        o.bothSets();
        *o.held = true;
        o.click("examples.estimate");
        WAIT_UNTIL(o.said("examples.quality").startsWith("Scoring held-out texts"));
        o.click("examples.close");
        *o.held = false;
        WAIT_UNTIL(o.window->findChild<ExamplesDialog*>("examplesDialog") == nullptr);
        WAIT_UNTIL(!o.document->engine().analysing());
    }

    void smallSetsAreTold() {
        const Opened o(folder());
        o.lines("good.jsonl", {"aaaaaaaaaa"});
        o.bothSets();
        QVERIFY(o.said("examples.quality").startsWith("Quality cannot be estimated"));
        QVERIFY(!o.find<QPushButton>("examples.estimate").isEnabled());
        o.click("examples.add");
        QCOMPARE(o.bank().priors.at(0)->quality, 0.5);
    }

    void badFilesAreTold() {
        const Opened o(folder());
        compute::writeFile(o.folder / "mixed.jsonl", "{\"text\":\"aa\",\"preferred\":true}\n{\"text\":7}\n");
        o.choose("examples.addBoth", "mixed.jsonl");
        WAIT_UNTIL(o.said("examples.problems").contains("mixed.jsonl, line 2"));
        QCOMPARE(o.find<QTableWidget>("examples.sources").item(0, 1)->text(), QString("1"));
        o.dialog->work().addFile(o.folder / "none.txt", true);
        WAIT_UNTIL(o.said("examples.problems").contains("none.txt"));
    }

    void tracesHaveThumbs() {
        const Opened o(folder(), 2);
        auto& traces = o.find<QTableWidget>("examples.traces");
        QCOMPARE(traces.rowCount(), 2);
        const auto thumb = [&](int row, int column) {
            traces.setFocus();
            traces.setCurrentCell(row, column);
            QTest::keyClick(&traces, Qt::Key_Space);
        };
        thumb(0, 1);
        thumb(1, 2);
        WAIT_UNTIL(o.dialog->work().proposal() != nullptr && o.dialog->work().proposal()->texts.size() == 2);
        const auto& texts = o.dialog->work().proposal()->texts;
        QCOMPARE(texts[0].example.ids.size(), std::size_t(6));
        QVERIFY(texts[0].example.preferred && !texts[1].example.preferred);
        thumb(0, 2);  // the other thumb: not both
        QCOMPARE(o.dialog->work().thumbOf(o.document->traces()[0]->id), std::optional(false));
        QCOMPARE(traces.item(0, 1)->checkState(), Qt::Unchecked);
        thumb(0, 2);
        QVERIFY(!o.dialog->work().thumbOf(o.document->traces()[0]->id).has_value());
    }

    void aBankOfAnotherTokenizerIsRefused() {
        const Opened o(folder());
        o.bothSets();
        model::Session session = o.document->session();
        compute::Bank other = o.bank();
        other.tokenizer = "another";
        session.priors[0].content = std::make_shared<const compute::Bank>(other);
        o.document->setSession(session);
        o.click("examples.add");
        QVERIFY(o.bank().priors.empty());
        QVERIFY(o.document->notices().back().sentence.find("another tokenizer") != std::string::npos);
    }

    /// Of banks with one name the chosen one stays chosen.
    void theChosenBankStays() {
        const Opened o(folder());
        compute::writeFile(folder() / "copy.bank.json", kBank);
        o.document->addBank(folder() / "copy.bank.json");
        auto& banks = o.find<QComboBox>("examples.bank");
        WAIT_UNTIL(banks.count() == 2 && o.document->ready() && !o.document->busy());
        QCOMPARE(banks.itemText(0), banks.itemText(1));
        banks.setCurrentIndex(1);
        model::Session session = o.document->session();
        session.decoding.temperature = 2;
        o.document->setSession(session);
        QCOMPARE(banks.currentIndex(), 1);
    }
};

QTEST_MAIN(TestExamplesDialog)
#include "tst_examplesdialog.moc"
