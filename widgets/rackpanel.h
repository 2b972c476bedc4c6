#pragma once
// RackPanel: the base and the specialists in rack order (R1), then the banks (R8): one SourceRow or BankRow each, drag
// or Alt+Up/Down to reorder, solo, buttons that ask for a further specialist or bank. Rows are kept while the names
// stay, so that a drag is never interrupted by what it changes. Thread: the window thread.

#include <QScrollArea>
#include <QToolButton>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/document.h"
#include "widgets/bankrow.h"
#include "widgets/sourcerow.h"

class QVBoxLayout;

namespace counterpoint::widgets {

class RackPanel : public QScrollArea {
    Q_OBJECT
  public:
    explicit RackPanel(model::Document& document, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {300, 420}; }
    /// Row i: 0 the base, then the specialists.
    SourceRow* row(std::size_t i) { return m_rows.at(i); }
    std::size_t rowCount() const { return m_rows.size(); }

  Q_SIGNALS:
    void addRequested();
    void addBankRequested();

  private:
    void rebuild();
    void refresh();
    void refreshBanks();
    void lights();
    void move(std::size_t source, int to);
    void solo(std::size_t source, bool on);
    model::Document& m_document;
    QVBoxLayout* m_column;
    std::vector<SourceRow*> m_rows;
    std::vector<BankRow*> m_banks;
    std::vector<std::string> m_names;
    std::map<std::string, bool> m_beforeSolo;  ///< switches as they stood; empty: nobody is solo
    std::string m_solo;
};

}  // namespace counterpoint::widgets
