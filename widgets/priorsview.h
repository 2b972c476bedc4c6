#pragma once
// PriorsView: the table of the priors as it is seen: columns as wide as their numbers, names, kinds and tasks with what
// is left, as far as they are long; a selected row keeps its colour; the selection in the bank's own indices, whatever
// the rows are sorted by. Thread: the window thread.

#include <QTableView>
#include <array>
#include <vector>

#include "widgets/priorstable.h"

namespace counterpoint::widgets {

constexpr auto kNoPrior = static_cast<std::size_t>(-1);
constexpr int kLeastNameWidth = 110;

class PriorsView : public QTableView {
    Q_OBJECT
  public:
    explicit PriorsView(PriorsTable& table, QWidget* parent = nullptr);
    std::size_t current() const;                          ///< prior of the current row; kNoPrior: none
    std::vector<std::size_t> selected() const;            ///< ascending
    void select(const std::vector<std::size_t>& priors);  ///< the first of them that is shown becomes the current one

  protected:
    void resizeEvent(QResizeEvent* event) override;

  private:
    static constexpr int kTexts = PriorsTable::Task + 1;  ///< Name, Kind, Task
    void measure();
    void share();
    PriorsTable& m_table;
    std::array<int, kTexts> m_least{}, m_wanted{};  ///< pixels
    model::BankPtr m_measured;
};

}  // namespace counterpoint::widgets
