#pragma once
// The window in the Priors perspective with a bank of four priors over the letters, and a person's hand on its table.

#include <QFile>
#include <QLineEdit>
#include <QTableView>

#include "compute/files/atomicfile.h"
#include "tests/app/opened.h"
#include "widgets/priorstable.h"

namespace counterpoint::tests {

namespace fs = std::filesystem;
using widgets::PriorsTable;

/// 'a' is id 0.
inline constexpr const char* kBank = R"({"format":"counterpoint.bank/1","name":"letters","tokenizer":null,"priors":[
 {"name":"vowels","kind":"letters","task":"all","quality":0.9,"promote":[0,4,8],"demote":[25],"when":{"kind":"always"}},
 {"name":"after b","kind":"pair","task":"some","quality":0.8,"confidence":0.5,"promote":["c"],"policy":"single token",
  "when":{"kind":"regex","pattern":"b$"},"source":"by hand"},
 {"name":"doubtful","kind":"letters","quality":0.3,"promote":[12],"when":{"kind":"always"}},
 {"name":"certain","kind":"pair","quality":0.999,"promote":[13,99],"when":{"kind":"regex","pattern":"never"}}]})";

class BankFolder {
  public:
    BankFolder() { compute::writeFile(file(), kBank); }
    fs::path file() const { return fs::path(m_dir.path().toStdString()) / "letters.bank.json"; }
    QByteArray bytes() const {
        QFile f(QString::fromStdString(file().string()));
        return f.open(QIODevice::ReadOnly) ? f.readAll() : QByteArray();
    }
    model::Session session() const {
        model::Session s = tests::session();
        model::BankEntry entry;
        entry.bank = file().string();
        s.priors.push_back(entry);
        return s;
    }

  private:
    QTemporaryDir m_dir;
};

/// A window in the Priors perspective with the bank read.
struct Editor : Opened {
    explicit Editor(const BankFolder& folder) : Opened(folder.session(), "Priors") {
        WAIT_UNTIL(document.ready() && document.session().priors.at(0).content);
        QCoreApplication::processEvents();
        document.beginHere();
    }
    QTableView& view() { return *find<QTableView>("priors.table"); }
    PriorsTable& table() { return static_cast<PriorsTable&>(*view().model()); }
    QString cell(int row, int column) { return table().index(row, column).data().toString(); }
    QStringList column(int column) {
        QStringList all;
        for (int row = 0; row < table().rowCount(); ++row) all << cell(row, column);
        return all;
    }
    void click(int row, int column, Qt::KeyboardModifiers keys = {}) {
        QTest::mouseClick(view().viewport(), Qt::LeftButton, keys,
                          view().visualRect(table().index(row, column)).center());
    }
    /// As a person edits a cell: double click, type, Enter.
    void type(int row, int column, const QString& text) {
        const QPoint at = view().visualRect(table().index(row, column)).center();
        QTest::mouseClick(view().viewport(), Qt::LeftButton, {}, at);
        QTest::mouseDClick(view().viewport(), Qt::LeftButton, {}, at);
        auto* editor = view().viewport()->findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        editor->selectAll();
        QTest::keyClicks(editor, text);
        QTest::keyClick(editor, Qt::Key_Return);
        WAIT_UNTIL(view().viewport()->findChild<QLineEdit*>() == nullptr);
    }
    QAction* action(const char* id) { return window->actions().action(id); }
    const compute::Prior& prior(std::size_t i) { return *document.session().priors[0].content->priors.at(i); }
    compute::PriorOverride said(const char* name) { return model::overrideOf(document.session().priors[0], name); }
    void settle() {
        WAIT_UNTIL(!document.busy());
        QCoreApplication::processEvents();
    }
};

}  // namespace counterpoint::tests
