#pragma once
// ContextRows: the rows of a form that say where a prior acts: the kind of context, and what that kind asks for; the
// others are hidden. Thread: the window thread.

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <optional>
#include <span>
#include <vector>

#include "compute/priors/bank.h"
#include "widgets/valueslider.h"

namespace counterpoint::widgets {

class ContextRows : public QObject {
    Q_OBJECT
  public:
    /// Puts its rows at the end of `form`.
    ContextRows(QFormLayout& form, QObject* parent);
    /// `features`: of the bank, to choose from. A kind that was chosen and still waits for what it asks for stays shown
    /// until another prior is, `of` being its name.
    void read(const std::string& of, const compute::Context& when, std::span<const compute::Feature> features);
    /// `when` with what stands in the rows; nullopt: it is no context, and `refused` has said why.
    std::optional<compute::Context> context(compute::Context when);
    /// The feature as it stands in the rows, a new one or one of the bank's; nullopt: the kind is another.
    std::optional<compute::Feature> feature() const;

  Q_SIGNALS:
    void edited();
    void refused(const QString& what, const QString& reason);

  private:
    QLineEdit* line(const QString& name, const char* id, const QString& help);
    void choose(int kind);
    void chooseFeature(const QString& name);
    void waitFor(QWidget& row);
    void showRows(int kind);
    /// What the chosen kind still asks for; null: nothing.
    QWidget* missing() const;
    QFormLayout& m_form;
    QComboBox *m_kind, *m_feature;
    QLineEdit *m_pattern, *m_ids, *m_language, *m_open, *m_close;
    ValueSlider* m_chars;
    QWidget* m_rows[7] = {};
    std::vector<compute::Feature> m_features;  ///< of the bank
    std::string m_of;
    compute::Context m_when;  ///< as it was read last
    bool m_waiting = false;   ///< what is shown is not whole, and not the context's
};

}  // namespace counterpoint::widgets
