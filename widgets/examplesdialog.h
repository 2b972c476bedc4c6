#pragma once
// ExamplesDialog: a prior from two sets of texts, preferred and not: what is read, the candidate tokens with their
// weighted log-odds and ticks, Δ, context, the quality on held-out texts, and the bank it goes into (one undo step of
// the session; no file is written). Beside the window, never in its way: the work is the analysis lane's.
// Thread: the window thread.

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

#include "widgets/examplecandidates.h"
#include "widgets/exampleform.h"
#include "widgets/examplesets.h"
#include "widgets/exampleswork.h"

namespace counterpoint::widgets {

class ExamplesDialog : public QDialog {
    Q_OBJECT
  public:
    explicit ExamplesDialog(model::Document& document, QWidget* parent = nullptr, model::SourceOpener opener = {});
    ExamplesWork& work() { return *m_work; }
    QSize sizeHint() const override { return {980, 760}; }

  private:
    QWidget* makeEnd();
    void refresh();
    void refreshQuality();
    void refreshConfidence();  ///< of the ticked tokens: reads all training texts, so only where these have changed
    void refreshBanks();
    void priorEdited();
    compute::Prior prior() const;  ///< throws what building it throws
    std::shared_ptr<const compute::Bank> chosenBank() const;
    void add();

    model::Document& m_document;
    ExamplesWork* m_work;
    ExampleSets* m_sets;
    ExampleCandidates* m_candidates;
    ExampleForm* m_form;
    QComboBox* m_bank;
    QLabel *m_said, *m_quality, *m_confidence;
    QPushButton *m_estimate, *m_stop, *m_add;
    QProgressBar* m_progress;
};

/// The one of `parent`, in front; made where there is none.
void openExamplesDialog(model::Document& document, QWidget* parent, model::SourceOpener opener = {});

}  // namespace counterpoint::widgets
