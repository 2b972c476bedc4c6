// Banks in the window: a bank saved as another file in either format, several banks of one rack, what solo and undo
// give back.
#include <QComboBox>
#include <QLabel>
#include <QSet>
#include <algorithm>
#include <cmath>

#include "compute/priors/bank.h"
#include "tests/app/editor.h"
#include "tests/app/exporting.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

/// Whose q, c, c·η, support, hits and effect each stand in another order.
constexpr const char* kOrders = R"({"format":"counterpoint.bank/1","name":"orders","priors":[
 {"name":"one","task":"First","quality":0.6,"confidence":0.9,"promote":[0,1,2,3],"delta_plus":3},
 {"name":"Two","source":"Elsewhere","quality":0.9,"confidence":0.2,"promote":[4,5],"delta_plus":0.01},
 {"name":"three","kind":"Third","quality":0.8,"confidence":0.6,"promote":[0,4,8,12,16,20,24],
  "when":{"kind":"regex","pattern":"[a-m]$"}},
 {"name":"Four","quality":0.7,"confidence":0.4,"promote":[22,23,25],"when":{"kind":"regex","pattern":"never"}}]})";

/// A second bank at the end of the rack, shown.
void addSecond(Editor& o, const char* text) {
    const fs::path file = o.folder.filePath("second.bank.json").toStdString();
    compute::writeFile(file, text);
    o.document.addBank(file);
    WAIT_UNTIL(o.document.session().priors.back().content != nullptr);
    QCoreApplication::processEvents();
    o.document.beginHere();
    auto* banks = o.find<QComboBox>("banks");
    QVERIFY(banks->count() == static_cast<int>(o.document.session().priors.size()));
    banks->setCurrentIndex(banks->count() - 1);
    Q_EMIT banks->activated(banks->count() - 1);
    QCoreApplication::processEvents();
}

QStringList acting(const Editor& o) {
    QStringList names;
    for (const auto& m : o.document.priors()->members())
        if (m.acts) names << QString::fromStdString(m.prior->name);
    return names;
}

compute::Bank readAgain(const fs::path& file) {
    std::vector<std::string> warnings;
    return compute::readBank(file, warnings);
}

}  // namespace

class TestWindowBanks : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void aBankIsSavedAsAnotherFile_data() {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("written");
        QTest::newRow("JSON") << "copy.bank.json"
                              << "copy.bank.json";
        QTest::newRow("tensors") << "copy.bank.safetensors"
                                 << "copy.bank.safetensors";
        QTest::newRow("without an ending") << "copy"
                                           << "copy.bank.json";
        QTest::newRow("half an ending") << "copy.safetensors"
                                        << "copy.bank.safetensors";
    }
    void aBankIsSavedAsAnotherFile() {
        QFETCH(QString, typed);
        QFETCH(QString, written);
        const BankFolder folder;
        Editor o(folder);
        o.type(0, PriorsTable::Quality, "0.75");
        o.type(1, PriorsTable::EtaColumn, "1.25");  // the session's
        const compute::Bank edited = *o.document.session().priors[0].content;
        const QString file = o.folder.filePath(written);
        o.action("priors.saveAs")->trigger();
        answer(o.window->fileDialog(), o.folder.filePath(typed));
        QVERIFY(QFileInfo::exists(file));
        QCOMPARE(o.document.session().priors[0].bank, file.toStdString());
        QVERIFY(!o.document.bankModified(0));
        QVERIFY(o.find<QComboBox>("banks")->currentText().contains(written));
        QVERIFY(!o.find<QComboBox>("banks")->currentText().contains("●"));
        QVERIFY(*o.document.session().priors[0].content == edited);
        QCOMPARE(folder.bytes(), QByteArray(kBank));  // the one that was opened stays as it was
        QVERIFY(readAgain(file.toStdString()) == edited);

        // A session that names it opens the same bank in another window, its η with it.
        const fs::path named = o.folder.filePath("s.session.json").toStdString();
        o.document.save(named);
        std::vector<std::string> warnings;
        Opened other(model::readSession(named, warnings), "Priors");
        WAIT_UNTIL(other.document.ready() && other.document.session().priors.at(0).content);
        QVERIFY(*other.document.session().priors[0].content == edited);
        QCOMPARE(model::overrideOf(other.document.session().priors[0], "after b").eta.value_or(0), 1.25);

        // Undo names the first file again, with what was edited in it.
        o.document.undo();
        QCOMPARE(o.document.session().priors[0].bank, folder.file().string());
        QVERIFY(o.document.bankModified(0));
    }

    /// What the table says of a bank's priors is said of that bank's, wherever it stands in the rack.
    void theSecondBankOfARack() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"one", "Two", "three", "Four"}));
        QCOMPARE(o.column(PriorsTable::Support), (QStringList{"4", "2", "7", "3"}));
        QCOMPARE(o.column(PriorsTable::EtaColumn), (QStringList{"0.4055", "2.1972", "1.3863", "0.8473"}));
        o.type(1, PriorsTable::EtaColumn, "0.5");
        QCOMPARE(o.cell(1, PriorsTable::EtaColumn), QString("0.5000"));
        QVERIFY(o.document.session().priors[0].overrides.empty());
        QCOMPARE(model::overrideOf(o.document.session().priors[1], "Two").eta.value_or(0), 0.5);
        o.click(0, PriorsTable::Name);
        o.action("priors.delete")->trigger();
        QCOMPARE(o.document.session().priors[0].content->priors.size(), std::size_t{4});
        QCOMPARE(o.document.session().priors[1].content->priors.size(), std::size_t{3});
    }

    /// Its ids mean other tokens and do not act, so there is nothing to join.
    void aBankOfAnotherTokenizerIsNotMergedByItsIds() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, R"({"format":"counterpoint.bank/1","name":"foreign","tokenizer":"another","priors":[
 {"name":"a","quality":0.9,"promote":[1,2]},{"name":"b","quality":0.9,"promote":[2,3]}]})");
        o.click(0, PriorsTable::Name);
        o.click(1, PriorsTable::Name, Qt::ShiftModifier);
        const model::Session before = o.document.session();
        o.action("priors.merge")->trigger();
        QVERIFY(o.document.session() == before);
        const std::string told = o.document.notices().back().sentence;
        QVERIFY2(told.find("it was made for another tokenizer") != std::string::npos, told.c_str());
    }

    /// Once more gives back what acted: switched-off priors and banks stay off.
    void soloGivesBackWhatStood() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        o.click(0, PriorsTable::Kind);
        QTest::keyClick(&o.view(), Qt::Key_Space);  // "one" is off
        model::Session off = o.document.session();
        model::BankEntry third = off.priors[0];
        third.bank = "third.bank.json";
        third.enabled = false;
        off.priors.push_back(third);
        o.document.setSession(off);
        const QStringList before = acting(o);
        QCOMPARE(before, (QStringList{"vowels", "after b", "certain", "Two", "three", "Four"}));
        o.click(2, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), (QStringList{"three"}));
        QVERIFY(!o.document.session().priors[0].enabled && o.document.session().priors[1].enabled);
        o.click(3, PriorsTable::Kind);  // another one alone, and then as it was before the first
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), (QStringList{"Four"}));
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), before);
        QVERIFY(o.document.session() == off);
    }

    /// Solo remembers what it changed in every bank, and nothing once another hand has been at it.
    void soloForgetsWhatOthersChanged() {
        const BankFolder folder;
        Editor o(folder);
        o.click(0, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        o.document.undo();
        o.click(1, PriorsTable::Kind);
        QTest::keyClick(&o.view(), Qt::Key_Space);  // off by hand, after the solo that was undone
        const QStringList before = acting(o);
        o.click(0, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), before);
    }
    void soloInOneBankAfterAnother() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        const model::Session before = o.document.session();
        auto* banks = o.find<QComboBox>("banks");
        const auto show = [&](int bank) {
            banks->setCurrentIndex(bank);
            Q_EMIT banks->activated(bank);
            QCoreApplication::processEvents();
        };
        show(0);
        o.click(0, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        show(1);
        o.click(2, PriorsTable::Kind);
        o.action("priors.solo")->trigger();
        QCOMPARE(acting(o), (QStringList{"three"}));
        o.action("priors.solo")->trigger();
        QVERIFY(o.document.session() == before);
    }

    /// The dialog asks about the name that was typed. What stands under the name it becomes is not written over.
    void aNameThatGetsAnEndingWritesOverNothing() {
        const BankFolder folder;
        Editor o(folder);
        const QString bank = o.folder.filePath("habits.bank.json"), session = o.folder.filePath("habits.session.json");
        for (const QString& file : {bank, session}) compute::writeFile(file.toStdString(), "somebody's");
        o.type(0, PriorsTable::Quality, "0.75");
        for (const char* id : {"priors.saveAs", "priors.newBank", "file.saveAs"}) {
            o.forgetNotices();
            o.action(id)->trigger();
            answer(o.window->fileDialog(), o.folder.filePath("habits"));
            QVERIFY2(newestNotice(o.document).contains("there is such a file already"), id);
            QVERIFY(o.document.bankModified(0));
            QCOMPARE(o.document.session().priors.size(), std::size_t{1});
        }
        for (const QString& file : {bank, session})
            QCOMPARE(compute::readFile(file.toStdString()), std::string("somebody's"));
        // A bank of the rack is not made new under it.
        o.action("priors.newBank")->trigger();
        o.window->fileDialog().setOption(QFileDialog::DontConfirmOverwrite);
        answer(o.window->fileDialog(), QString::fromStdString(folder.file().string()));
        o.window->fileDialog().setOption(QFileDialog::DontConfirmOverwrite, false);
        QCOMPARE(folder.bytes(), QByteArray(kBank));
        // Under a free name it is.
        o.action("priors.newBank")->trigger();
        answer(o.window->fileDialog(), o.folder.filePath("fresh"));
        WAIT_UNTIL(o.document.session().priors.size() == 2 && o.document.session().priors[1].content);
        QVERIFY(QFileInfo::exists(o.folder.filePath("fresh.bank.json")));
        QCOMPARE(o.document.session().priors[1].content->name, std::string("fresh"));
    }

    void everyEditIsOneStepOfUndo() {
        const BankFolder folder;
        Editor o(folder);
        o.click(0, PriorsTable::Name);
        o.action("priors.duplicate")->trigger();
        o.action("priors.split")->trigger();
        QCOMPARE(o.table().rowCount(), 6);
        o.document.undo();
        QCOMPARE(o.table().rowCount(), 5);
        o.document.undo();
        QCOMPARE(o.table().rowCount(), 4);
        QVERIFY(!o.document.canUndo());
        o.type(0, PriorsTable::Quality, "0.75");
        o.type(0, PriorsTable::Quality, "0.8");
        o.document.undo();
        QCOMPARE(o.prior(0).quality, 0.75);
        o.document.undo();
        QCOMPARE(o.prior(0).quality, 0.9);
        QVERIFY(!o.document.canUndo());
    }

    void rowsAreFoundByAllTheirWords() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        auto* search = o.find<QLineEdit>("priors.search");
        for (const auto& [words, found] : {std::pair("ONE", "one"), std::pair("first", "one"),
                                           std::pair("elseWHERE", "Two"), std::pair("third", "three")}) {
            search->setText(words);
            QCOMPARE(o.column(PriorsTable::Name), QStringList{found});
        }
        search->setText("one third");  // of two priors
        QCOMPARE(o.table().rowCount(), 0);
    }

    /// Each column puts its own numbers in order, either way, what has none last.
    void everyColumnSorts() {
        const BankFolder folder;
        Editor o(folder);
        addSecond(o, kOrders);
        o.decode();
        o.settle();
        QSet<QStringList> orders;
        for (int column = PriorsTable::Quality; column < PriorsTable::kColumns; ++column) {
            for (const auto order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
                o.view().sortByColumn(column, order);
                std::vector<double> numbers;
                for (QString text : o.column(column)) {
                    bool ok = false;
                    const double number = text.replace(QChar(0x2212), '-').toDouble(&ok);
                    numbers.push_back(ok ? number : order == Qt::AscendingOrder ? INFINITY : -INFINITY);
                }
                QVERIFY2(order == Qt::AscendingOrder ? std::is_sorted(numbers.begin(), numbers.end())
                                                     : std::is_sorted(numbers.rbegin(), numbers.rend()),
                         qPrintable(QString::number(column) + ": " + o.column(column).join(' ')));
            }
            orders.insert(o.column(PriorsTable::Name));
        }
        QVERIFY2(orders.size() >= 6, qPrintable(QString::number(orders.size())));  // q and η are one
        o.view().sortByColumn(PriorsTable::Name, Qt::AscendingOrder);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"Four", "one", "three", "Two"}));
        o.view().sortByColumn(PriorsTable::Name, Qt::DescendingOrder);
        QCOMPARE(o.column(PriorsTable::Name), (QStringList{"Two", "three", "one", "Four"}));
    }

    /// What the session sets goes, and what the bank sets: one step.
    void aResetEtaIsDerivedAgain() {
        const BankFolder folder;
        Editor o(folder);
        compute::Prior own = o.prior(0);
        own.eta = 2;
        o.document.setSession(model::withPrior(o.document.session(), 0, 0, own));
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("2.0000"));
        o.type(0, PriorsTable::EtaColumn, "3");
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("3.0000"));
        o.click(0, PriorsTable::Kind);
        o.action("priors.resetEta")->trigger();
        QVERIFY(!o.prior(0).eta && !o.said("vowels").eta);
        QCOMPARE(o.cell(0, PriorsTable::EtaColumn), QString("2.1972"));
        o.document.undo();
        QCOMPARE(o.prior(0).eta.value_or(0), 2.0);
        QCOMPARE(o.said("vowels").eta.value_or(0), 3.0);
    }

    /// A place that cannot be written is told, and the session names the old file still.
    void aBankThatCannotBeSavedStays() {
        const BankFolder folder;
        Editor o(folder);
        o.type(0, PriorsTable::Quality, "0.75");
        o.action("priors.saveAs")->trigger();
        const QString nowhere = o.folder.filePath("none/copy.bank.json");
        WAIT_UNTIL(o.window->fileDialog().isVisible());
        Q_EMIT o.window->fileDialog().fileSelected(nowhere);
        o.window->fileDialog().reject();
        QVERIFY2(o.document.notices().back().sentence.find("none") != std::string::npos,
                 o.document.notices().back().sentence.c_str());
        QCOMPARE(o.document.session().priors[0].bank, folder.file().string());
        QVERIFY(o.document.bankModified(0));
    }
};

QTEST_MAIN(TestWindowBanks)
#include "tst_windowbanks.moc"
