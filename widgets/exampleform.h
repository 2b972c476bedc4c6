#pragma once
// ExampleForm: what a person says of the prior from examples: its names, how Δ is made of the ticked tokens, and where
// it acts. Thread: the window thread.

#include <QComboBox>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <span>

#include "model/examples.h"
#include "widgets/numberfield.h"

class QFormLayout;

namespace counterpoint::widgets {

class ExampleForm : public QGroupBox {
    Q_OBJECT
  public:
    explicit ExampleForm(QWidget* parent = nullptr);
    bool isNamed() const { return !m_name->text().isEmpty(); }
    /// All but where it comes from.
    model::ExamplePrior options() const;
    /// Shows the fields that are asked for, and why the context is none among these features; empty: it is one.
    std::string refresh(std::span<const compute::Feature> features);

  Q_SIGNALS:
    void renamed();  ///< names, kind, task
    void edited();   ///< what its quality depends on

  private:
    void makeNames(QFormLayout& form);
    void makeDelta(QFormLayout& form);
    void makeContext(QFormLayout& form);
    compute::Context context() const;
    std::string contextProblem(std::span<const compute::Feature> features) const;
    QLineEdit *m_name, *m_kind, *m_task, *m_pattern;
    QComboBox *m_delta, *m_when;
    NumberField *m_plus, *m_minus, *m_chars;
    QLabel* m_contextSaid;
};

}  // namespace counterpoint::widgets
