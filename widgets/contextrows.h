#pragma once
// ContextRows: the rows of a form that say where a prior acts: the kind of context, and what that kind asks for; the
// others are hidden. Thread: the window thread.

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <optional>
#include <span>

#include "compute/priors/prior.h"
#include "widgets/valueslider.h"

namespace counterpoint::widgets {

class ContextRows : public QObject {
    Q_OBJECT
  public:
    /// Puts its rows at the end of `form`.
    ContextRows(QFormLayout& form, QObject* parent);
    /// `features`: of the bank, to choose from.
    void read(const compute::Context& when, std::span<const compute::Feature> features);
    /// `when` with what stands in the rows; nullopt: `refused` has said why it is none.
    std::optional<compute::Context> context(compute::Context when);

  Q_SIGNALS:
    void edited();
    void refused(const QString& what, const QString& reason);

  private:
    QLineEdit* line(const QString& name, const char* id, const QString& help);
    QFormLayout& m_form;
    QComboBox *m_kind, *m_feature;
    QLineEdit *m_pattern, *m_ids, *m_language;
    ValueSlider* m_chars;
    QWidget* m_rows[5] = {};
};

}  // namespace counterpoint::widgets
