// The compression dialog, offscreen, under mouse and keys, on a scripted base: what it shows is what the model's report
// says; Stop; saving a level and using one, with undo; without a trace; with an entry that is wrong; out of date.
#include <QApplication>
#include <QHeaderView>
#include <atomic>
#include <thread>

#include "tests/support/scratch.h"
#include "tests/widgets/compressopened.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::widgets;
using namespace counterpoint::tests;

class TestCompressDialog : public QObject, Scratch {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeKind::Light); }
    void init() {
        failOnAnyWarning();
        renew();
    }

    void itShowsTheReport() {
        const Opened o(folder());
        o.computed();
        const auto input = model::compressionInput(o.document->session(), 0, o.document->trace(), nullptr);
        const auto report = model::compressionReport(input).value();
        const auto& table = o.find<QTableWidget>("compress.levels");
        QCOMPARE(table.rowCount(), 4);
        QCOMPARE(table.columnCount(), 13);
        for (int row = 0; row < 4; ++row) {
            const model::CompressionLevel& level = report.levels[std::size_t(row)];
            const model::LevelKl& on = level.onTrace.value();
            QCOMPARE(o.level(row, 1), QString::number(level.report.priors));
            QCOMPARE(o.level(row, 2), QString::number(level.report.bytes));
            QCOMPARE(o.level(row, 3), formatNumber(level.report.paperRatio, 2));
            QCOMPARE(o.level(row, 4), formatNumber(level.report.trueRatio, 2));
            QCOMPARE(o.level(row, 5), formatCell(level.report.squaredError));
            const double cells[] = {on.kl.mean,        on.kl.most,         on.normBound.mean,
                                    on.normBound.most, on.rangeBound.mean, on.rangeBound.most};
            for (int i = 0; i < 6; ++i) QCOMPARE(o.level(row, 7 + i), formatCell(cells[i]));
            QVERIFY(table.item(row, 2)->textAlignment() & Qt::AlignRight);
        }
        QCOMPARE(o.level(1, 6), formatNumber(100 * report.levels[1].errorShare, 2));
        QCOMPARE(o.level(2, 6), QString("–"));
        // Each prior: a is Δ 1, 0.5, −1.5.
        QCOMPARE(o.find<QTableWidget>("compress.priors").rowCount(), 5);
        const QStringList a{
            "a", "3", formatCell(0.75), formatCell(1.5), formatCell(1), formatCell(0.5), formatNumber(50 / 3.5, 2)};
        for (int column = 0; column < a.size(); ++column) QCOMPARE(o.prior(0, column), a[column]);
        QCOMPARE(o.prior(3, 3), QString("–"));  // it demotes nothing
        QVERIFY(o.said("compress.count").contains("Grey"));
        QVERIFY2(o.merges().contains("Level 2: 5 priors became 4.") && o.merges().contains("Joined: 'a', 'b'."),
                 qPrintable(o.merges()));
        QVERIFY(o.merges().contains("'a' and 'against'") && o.merges().contains("signs conflict"));
        QVERIFY2(
            o.said("compress.state").contains("14 positions") && o.said("compress.state").contains("matched at 14"),
            qPrintable(o.said("compress.state")));
        const model::PlotData& plot = o.find<PlotView>("compress.plot").plot();
        QCOMPARE(plot.series.size(), 4u);
        QCOMPARE(plot.series[1].y.front(), report.levels[1].onTrace->kl.mean);
        QCOMPARE(plot.series[1].x.front(), double(report.levels[1].report.bytes));
    }

    void thePriorsSort() {
        const Opened o(folder());
        o.computed();
        QHeaderView& head = *o.find<QTableWidget>("compress.priors").horizontalHeader();
        const auto sortBy = [&](int column) {
            const QPoint at(head.sectionViewportPosition(column) + head.sectionSize(column) / 2, head.height() / 2);
            QTest::mouseClick(head.viewport(), Qt::LeftButton, {}, at);
        };
        sortBy(5);
        QCOMPARE(o.prior(0, 0) + o.prior(1, 0), QString("ca"));
        sortBy(5);
        QCOMPARE(o.prior(4, 0), QString("c"));
        sortBy(1);
        sortBy(1);
        QCOMPARE(o.prior(0, 0), QString("off"));  // one token
        sortBy(0);
        QCOMPARE(o.prior(0, 0) + o.prior(4, 0), QString("aagainst"));
    }

    void keepAndThreshold() {
        const Opened o(folder());
        o.computed();
        QCOMPARE(o.level(2, 1), QString("4"));
        auto& threshold = o.find<NumberField>("compress.threshold");
        threshold.setFocus();
        threshold.selectAll();
        QTest::keyClicks(&threshold, "1");
        QTest::keyClick(&threshold, Qt::Key_Return);
        QVERIFY(o.said("compress.state").contains("Out of date"));
        QCOMPARE(o.level(2, 1), QString("4"));  // only on request
        o.click("compress.compute");
        o.computed();
        QCOMPARE(o.level(2, 1), QString("5"));  // no cosine exceeds 1
        QVERIFY(o.merges().contains("Nothing was joined."));
        threshold.selectAll();
        QTest::keyClicks(&threshold, "-1");
        QTest::keyClick(&threshold, Qt::Key_Return);
        QCOMPARE(threshold.value(), 1.0);
        QVERIFY(!o.said("compress.said").isEmpty());
        threshold.selectAll();
        QTest::keyClicks(&threshold, "0.9");
        QTest::keyClick(&threshold, Qt::Key_Return);
        o.find<QComboBox>("compress.keep").setCurrentIndex(1);
        o.click("compress.compute");
        o.computed();
        QVERIFY(*o.dialog->work().report()->levels[2].bank == o.commands(2, compute::Keep::Size));
    }

    void withoutATrace() {
        const Opened o(folder(), false);
        o.computed();
        QCOMPARE(o.level(2, 1), QString("4"));
        for (int column = 7; column < 13; ++column) QCOMPARE(o.level(1, column), QString("–"));
        QVERIFY2(o.said("compress.state").contains("press Generate"), qPrintable(o.said("compress.state")));
        QVERIFY(o.find<PlotView>("compress.plot").plot().empty.find("press Generate") != std::string::npos);
        o.generate();
        WAIT_UNTIL(o.said("compress.state").contains("Out of date"));
        QCOMPARE(o.level(1, 7), QString("–"));
        o.click("compress.compute");
        o.computed();
        QVERIFY(o.level(1, 7) != QString("–") && o.said("compress.state").contains("14 positions"));
        QVERIFY(o.find<PlotView>("compress.plot").plot().empty.empty());
    }

    void dialsMakeItOutOfDate() {
        const Opened o(folder());
        o.computed();
        QVERIFY(!o.said("compress.state").contains("Out of date"));
        model::Session session = o.document->session();
        session.decoding.temperature = 2;
        o.document->setSession(session);
        QVERIFY(o.said("compress.state").contains("Out of date"));
        QVERIFY(o.find<QPushButton>("compress.use").isEnabled());  // the bank is what it was
        WAIT_UNTIL(!o.document->busy());
        o.document->undo();
        QVERIFY(!o.said("compress.state").contains("Out of date"));
        session = o.document->session();
        session.priors[0].overrides = {{"a", {{"enabled", false}}}};
        o.document->setSession(session);
        QVERIFY(o.said("compress.state").contains("Out of date"));
        QVERIFY(!o.find<QPushButton>("compress.use").isEnabled() && !o.find<QPushButton>("compress.save").isEnabled());
        o.click("compress.compute");
        o.computed();
        QCOMPARE(o.level(2, 1), QString("5"));  // a is off, so b has none to be joined to
    }

    void itStops() {
        const Opened o(folder(), true, 0, true);
        o.computed();
        const auto before = o.dialog->work().report();
        QVERIFY(before != nullptr && o.find<QPushButton>("compress.stop").isHidden());
        // While it waits for the lane: what was computed before stays.
        std::atomic<bool> held = true;
        o.document->engine().run(
            [&held](const std::stop_token&) {
                while (held) std::this_thread::yield();
            },
            "Waiting");
        o.click("compress.compute");
        o.click("compress.stop");
        held = false;
        o.computed();
        QVERIFY(o.said("compress.state").startsWith("Stopped. KL on trace 1"));
        QVERIFY(o.dialog->work().report() == before && o.level(0, 1) == "5");
        auto& banks = o.find<QComboBox>("compress.bank");
        banks.setFocus();
        QTest::keyClick(&banks, Qt::Key_End);  // the large one
        QCOMPARE(banks.currentText(), QString("large.bank.safetensors"));
        Q_EMIT banks.activated(banks.currentIndex());
        WAIT_UNTIL2(o.said("compress.state").contains("Level 2, ") && o.said("compress.state").contains("priors/s"),
                    qPrintable(o.said("compress.state")));
        QVERIFY(!o.find<QProgressBar>("compress.progress").isHidden());
        QVERIFY(!o.find<QPushButton>("compress.use").isEnabled());
        // A dial does not wait for it.
        model::Session session = o.document->session();
        session.decoding.temperature = 2;
        o.document->setSession(session);
        WAIT_UNTIL(o.document->trace()->session.decoding.temperature == 2.0);
        QVERIFY(o.dialog->work().working());
        o.click("compress.stop");
        o.computed();
        QCOMPARE(o.said("compress.state"), QString("Stopped. Nothing computed."));
        QVERIFY(o.dialog->work().report() == nullptr);
        QCOMPARE(o.level(0, 1) + o.level(2, 1), QString("––"));  // nor anything of the bank before
        QVERIFY(!o.find<QPushButton>("compress.use").isEnabled() && o.find<QPushButton>("compress.stop").isHidden());
        // And closing it stops it too: the lane is free for what comes next.
        o.click("compress.compute");
        WAIT_UNTIL(o.said("compress.state").contains("Level 2, "));
        o.click("compress.close");
        WAIT_UNTIL(!o.document->engine().analysing());
    }

    void saveALevel() {
        const Opened o(folder());
        o.computed();
        QCOMPARE(o.find<QPushButton>("compress.save").text(), QString("Save level 2 as…"));
        const std::string own = compute::readFile(folder() / "letters.bank.json");
        o.saveAs({});
        QVERIFY2(o.said("compress.said").contains("letters.level2.bank.safetensors"),
                 qPrintable(o.said("compress.said")));
        const compute::Bank saved = o.read("letters.level2.bank.safetensors");
        QVERIFY(saved == o.commands(2));
        QCOMPARE(saved.level, 2);
        QCOMPARE(std::filesystem::file_size(folder() / "letters.level2.bank.safetensors"),
                 o.dialog->work().report()->levels[2].report.bytes);
        QCOMPARE(QString::number(o.dialog->work().report()->levels[2].report.bytes), o.level(2, 2));
        o.select(3);
        QCOMPARE(o.find<QPushButton>("compress.save").text(), QString("Save level 3 as…"));
        o.saveAs(QString::fromStdString((folder() / "third").string()));
        QVERIFY(o.read("third.bank.safetensors") == o.commands(3));
        o.select(0);
        QVERIFY(!o.find<QPushButton>("compress.save").isEnabled());
        QCOMPARE(compute::readFile(folder() / "letters.bank.json"), own);
        QVERIFY(!o.document->canUndo() && !o.document->bankModified(0));
        for (const char* name : {"letters.bank.json", "wrong.bank.json"}) {  // never over a bank of the rack
            const std::string before = compute::readFile(folder() / name);
            const std::string said = errorOf([&] { o.document->saveOther(o.entry().content, folder() / "." / name); });
            QVERIFY2(said.find("a bank of the rack") != std::string::npos, said.c_str());
            QCOMPARE(compute::readFile(folder() / name), before);
        }
    }

    void useALevelAndUndo() {
        const Opened o(folder());
        o.computed();
        const std::string own = compute::readFile(folder() / "letters.bank.json");
        const model::Session before = o.document->session();
        o.click("compress.use");
        QCOMPARE(o.entry().bank, std::string("letters.level2.bank.safetensors"));
        QVERIFY(*o.entry().content == o.commands(2));
        QVERIFY(o.document->bankModified(0) && !std::filesystem::exists(folder() / "letters.level2.bank.safetensors"));
        QVERIFY(o.said("compress.said").contains("is not saved yet"));
        QVERIFY(o.said("compress.state").contains("Out of date") && !o.find<QPushButton>("compress.use").isEnabled());
        WAIT_UNTIL(!o.document->busy());
        QCOMPARE(o.document->trace()->priors->members().size(), 4u + 3u);
        o.document->undo();
        QVERIFY(o.document->session() == before && !o.document->canUndo() && !o.document->bankModified(0));
        QVERIFY(!o.said("compress.state").contains("Out of date") && o.find<QPushButton>("compress.use").isEnabled());
        // Saved first, it is that file; saving the bank later writes there and not into the person's own.
        o.saveAs({});
        o.click("compress.use");
        QCOMPARE(o.document->session().resolve(o.entry().bank), folder() / "letters.level2.bank.safetensors");
        QVERIFY(!o.document->bankModified(0));
        o.document->saveBank(0);
        QCOMPARE(compute::readFile(folder() / "letters.bank.json"), own);
        QVERIFY(o.read("letters.level2.bank.safetensors") == o.commands(2));
        o.click("compress.compute");
        o.computed();
        QCOMPARE(o.level(0, 1), QString("4"));
    }

    /// A file that another level was written over is not that level's any more.
    void twoLevelsOneFile() {
        const Opened o(folder());
        o.computed();
        const QString file = QString::fromStdString((folder() / "one.bank.safetensors").string());
        o.saveAs(file);
        o.select(3);
        o.click("compress.save");
        auto& files = o.find<QFileDialog>("compress.file");
        files.setOption(QFileDialog::DontConfirmOverwrite);
        files.findChild<QLineEdit*>("fileNameEdit")->setText(file);
        QTest::keyClick(files.findChild<QLineEdit*>("fileNameEdit"), Qt::Key_Return);
        WAIT_UNTIL(o.said("compress.said").startsWith("Level 3 is saved"));
        o.select(2);
        o.click("compress.use");
        QVERIFY(o.said("compress.said").contains("is not saved yet"));
        QCOMPARE(o.entry().bank, std::string("letters.level2.bank.safetensors"));
        QVERIFY(o.document->bankModified(0));
    }

    /// Asked for again on another bank in the same place it shows that one's, and saves nothing of the old one.
    void anotherBankInItsPlace() {
        const Opened o(folder());
        o.computed();
        model::Session session = o.document->session();
        std::swap(session.priors[0], session.priors[1]);
        o.document->setSession(session);
        WAIT_UNTIL(o.document->ready() && !o.document->busy());
        QVERIFY(o.said("compress.state").contains("Out of date"));
        openCompressDialog(*o.document, 0, o.window.get());
        o.computed();
        QVERIFY(!o.said("compress.state").contains("Out of date"));
        QCOMPARE(o.level(0, 1), QString("3"));
        const auto report = o.dialog->work().report();
        openCompressDialog(*o.document, 0, o.window.get());
        QVERIFY(!o.dialog->work().working() && o.dialog->work().report() == report);
    }

    void withAnEntryThatIsWrong() {
        const Opened o(folder(), true, 1);
        o.computed();
        const QString said = o.said("compress.problems");
        QVERIFY2(!o.find<QLabel>("compress.problems").isHidden() && said.contains("unknown") && said.contains("more"),
                 qPrintable(said));
        QVERIFY(o.find<QLabel>("compress.problems").toolTip().contains("nothing"));
        QCOMPARE(o.level(1, 1), QString("3"));
        QVERIFY(o.level(1, 7) != QString("–"));  // the rest is compressed and measured
        QCOMPARE(o.prior(1, 1), QString("1"));
        QCOMPARE(o.prior(2, 1), QString("0"));
        o.select(1);
        o.saveAs({});
        const compute::Bank saved = o.read("wrong.level1.bank.safetensors");
        QCOMPARE(saved.priors.size(), 3u);
        QVERIFY(saved.priors[2]->unusable);  // as it was written
    }

    void aBankOfAnotherTokenizer() {
        const Opened o(folder());
        o.computed();
        model::Session session = o.document->session();
        compute::Bank foreign = *session.priors[0].content;
        foreign.tokenizer = "another";
        session.priors[0].content = std::make_shared<const compute::Bank>(std::move(foreign));
        o.document->setSession(session);
        o.click("compress.compute");
        o.computed();
        QVERIFY2(o.said("compress.state").contains("another tokenizer"), qPrintable(o.said("compress.state")));
        QCOMPARE(o.level(1, 1), QString("–"));
        QVERIFY(!o.find<QPushButton>("compress.save").isEnabled());
        for (const model::Notice& notice : o.document->notices())
            QVERIFY(notice.level != model::Notice::Level::Failure);
    }

    void thePlotIsExported() {
        const Opened o(folder());
        o.computed();
        auto& panel = static_cast<PlotPanel&>(*o.find<PlotView>("compress.plot").parentWidget());
        panel.exportTo(FigureFormat::Svg, folder() / "levels.svg");
        for (const char* name : {"levels.svg", "levels.csv", "levels.json"})
            QVERIFY2(std::filesystem::exists(folder() / name), name);
        panel.exportTo(FigureFormat::Svg, folder() / "nowhere" / "levels.svg");
        QVERIFY(o.document->notices().back().level == model::Notice::Level::Failure);
    }
};

QTEST_MAIN(TestCompressDialog)
#include "tst_compressdialog.moc"
