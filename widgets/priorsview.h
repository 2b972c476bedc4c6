#pragma once
// PriorsView: the table of the priors as it is seen: columns as wide as their numbers, the names with what is left, and
// the selection in the bank's own indices, whatever the rows are sorted by. Thread: the window thread.

#include <QTableView>
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
    PriorsTable& m_table;
};

}  // namespace counterpoint::widgets
