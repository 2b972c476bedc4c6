#pragma once
// PriorEntries: the entries of one prior as they became tokens, and the line that adds a text. Enter promotes,
// Shift+Enter demotes, Delete takes the selected ones out; what is asked for is told, the owner changes the bank.
// Thread: the window thread.

#include <QLineEdit>
#include <QTableWidget>
#include <QWidget>
#include <vector>

#include "model/bankedit.h"
#include "model/document.h"
#include "model/priortally.h"

namespace counterpoint::widgets {

class PriorEntries : public QWidget {
    Q_OBJECT
  public:
    explicit PriorEntries(QWidget* parent = nullptr);
    /// `factor`: of a prior of `set`, that is kept; nullptr: nothing is known of it. `tokenizer` writes the tokens.
    void read(const compute::Factor* factor, const model::PriorSetPtr& set, const compute::Tokenizer* tokenizer);
    std::vector<std::size_t> selectedRows() const;  ///< ascending
    /// The last column: how often each token stands in the trace where the prior matched.
    void count(const model::PriorTally::Of& tally);

  Q_SIGNALS:
    void added(counterpoint::model::Side side, const std::string& text);
    void removed(const std::vector<std::size_t>& rows);  ///< ascending
    void selected();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void add(model::Side side);
    QLineEdit* m_entry;
    QTableWidget* m_table;
    /// What the table was filled from, and the set it lives in.
    const compute::Factor* m_shown = nullptr;
    model::PriorSetPtr m_set;
};

}  // namespace counterpoint::widgets
