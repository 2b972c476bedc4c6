#pragma once
// ExamplesDialog: a prior from two sets of texts, preferred and not: what is read, the candidate tokens with their
// weighted log-odds and ticks, Δ, context, the quality on held-out texts, and the bank it goes into (one undo step of
// the session; no file is written). Beside the window, never in its way: the work is the analysis lane's.
// Thread: the window thread.

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTableWidget>
#include <set>

#include "widgets/exampleswork.h"
#include "widgets/numberfield.h"

class QBoxLayout;
class QFormLayout;

namespace counterpoint::widgets {

class ExamplesDialog : public QDialog {
    Q_OBJECT
  public:
    explicit ExamplesDialog(model::Document& document, QWidget* parent = nullptr, model::SourceOpener opener = {});
    ExamplesWork& work() { return *m_work; }
    QSize sizeHint() const override { return {980, 760}; }

  private:
    QWidget* makeSets();
    QWidget* makeCandidates();
    QWidget* makePrior();
    QWidget* makeEnd();
    QPushButton* button(const char* name, const QString& text, const QString& help, std::function<void()> run);
    void ask(std::optional<bool> preferred, bool folder);
    void refresh();
    void refreshSources();
    void refreshTraces();
    void refreshCandidates();
    void refreshQuality();
    void refreshBanks();
    void tickBeyond();  ///< those whose |z| is above the threshold
    void priorEdited();
    compute::Context context() const;
    std::string contextProblem() const;
    compute::Prior prior() const;  ///< throws what building it throws
    std::vector<compute::Candidate> ticked() const;
    std::shared_ptr<const compute::Bank> chosenBank() const;
    void add();

    model::Document& m_document;
    ExamplesWork* m_work;
    std::shared_ptr<const ExamplesWork::Proposal> m_proposal;  ///< of the table
    std::vector<std::size_t> m_order;                          ///< candidate of each row
    std::set<compute::TokenId> m_ticks;
    int m_sortBy = 2;  ///< |z|
    bool m_descending = true, m_filling = false;
    QTableWidget *m_sources, *m_traces, *m_candidates;
    QLabel *m_problems, *m_split, *m_count, *m_contextSaid, *m_said, *m_quality;
    NumberField *m_every, *m_seed, *m_threshold, *m_plus, *m_minus, *m_chars;
    QLineEdit *m_name, *m_kind, *m_task, *m_pattern;
    QComboBox *m_delta, *m_when, *m_bank;
    QPushButton *m_remove, *m_estimate, *m_stop, *m_add;
    QProgressBar* m_progress;
};

/// The one of `parent`, in front; made where there is none.
void openExamplesDialog(model::Document& document, QWidget* parent, model::SourceOpener opener = {});

}  // namespace counterpoint::widgets
