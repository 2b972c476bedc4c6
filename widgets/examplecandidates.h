#pragma once
// ExampleCandidates: the candidate tokens of the dialog of a prior from examples: their weighted log-odds and counts,
// sorted by any column, and which of them are ticked. Thread: the window thread.

#include <QGroupBox>
#include <QLabel>
#include <QTableWidget>
#include <set>

#include "widgets/exampleswork.h"
#include "widgets/numberfield.h"

namespace counterpoint::widgets {

class ExampleCandidates : public QGroupBox {
    Q_OBJECT
  public:
    using ProposalPtr = std::shared_ptr<const ExamplesWork::Proposal>;
    explicit ExampleCandidates(QWidget* parent = nullptr);
    /// Another proposal: those beyond the threshold are ticked.
    void read(const ProposalPtr& proposal);
    const ProposalPtr& proposal() const { return m_proposal; }
    std::vector<compute::Candidate> ticked() const;
    bool anyTicked() const { return !m_ticks.empty(); }
    void sayCount();  ///< says how many are ticked

  Q_SIGNALS:
    void ticksChanged();  ///< by a person

  private:
    void tickBeyond();  ///< those whose |z| is above the threshold
    void refresh();
    void sortRows();
    ProposalPtr m_proposal;            ///< of the table
    std::vector<std::size_t> m_order;  ///< candidate of each row
    std::set<compute::TokenId> m_ticks;
    int m_sortBy = 2;  ///< |z|
    bool m_descending = true, m_filling = false;
    QTableWidget* m_table;
    QLabel* m_count;
    NumberField* m_threshold;
};

}  // namespace counterpoint::widgets
