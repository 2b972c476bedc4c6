#pragma once
// PriorDetail: the prior that is looked at (the view's), whole: η with where it comes from, q, c, δ₊, δ₋ and policy,
// its context, what it does at the cursor (added to the token there; drift with it and without it, two compositions of
// one position), its entries as they became tokens, provenance and what is wrong with it. η edits the session, the rest
// the bank's value; a slider's drag is one undo step. A token of the distribution can be dropped on it. Thread: the
// window thread.

#include <QComboBox>
#include <QLabel>
#include <QScrollArea>
#include <QToolButton>
#include <functional>
#include <optional>
#include <vector>

#include "widgets/contextrows.h"
#include "widgets/priorentries.h"
#include "widgets/priorspanel.h"

class QFormLayout;

namespace counterpoint::widgets {

class PriorDetail : public QScrollArea {
    Q_OBJECT
  public:
    /// `panel`: has the table both are about.
    PriorDetail(model::Document& document, PriorsPanel& panel, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {320, 420}; }
    QSize minimumSizeHint() const override;

  protected:
    void showEvent(QShowEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

  private:
    using Change = std::function<void(compute::Prior&)>;
    void makeWeights(QFormLayout& form);
    ValueSlider* number(const QString& name, const char* id, const QString& help, double compute::Prior::*field,
                        const ValueRange& range);
    void refresh();
    void readWeights(const compute::Prior& prior);
    void makeEntries();
    void readContext(const compute::Prior& prior);
    void readCursor();
    void edit(const std::string& merge, const Change& change, const std::optional<compute::Feature>& feature = {});
    void editContext();
    void refuse(const QString& what, const QString& reason);
    /// What was refused does not stay in a field: there stands what holds.
    void attemptOrRestore(const std::function<void()>& change);
    model::Document& m_document;
    PriorsPanel& m_panel;
    FrameLimiter m_limiter;
    std::size_t m_prior = static_cast<std::size_t>(-1);
    QWidget* m_body;
    QFormLayout* m_form = nullptr;
    QLabel *m_nothing, *m_name, *m_problem, *m_etaText, *m_contextText, *m_cursor, *m_source;
    ValueSlider* m_eta = nullptr;
    QToolButton* m_reset = nullptr;
    std::vector<std::function<void(const compute::Prior&)>> m_readers;
    QComboBox* m_policy = nullptr;
    ContextRows* m_when = nullptr;
    PriorEntries* m_entries = nullptr;
};

}  // namespace counterpoint::widgets
