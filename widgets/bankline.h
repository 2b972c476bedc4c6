#pragma once
// BankLine: which bank of the rack the bank editor shows (R8), its switch and weight, and below them what is wrong with
// it. Choosing another one changes the view, that the editor follows. Thread: the window thread.

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QWidget>
#include <functional>

#include "model/document.h"
#include "widgets/valueslider.h"

class QHBoxLayout;

namespace counterpoint::widgets {

class BankLine : public QWidget {
    Q_OBJECT
  public:
    explicit BankLine(model::Document& document, QWidget* parent = nullptr);
    /// The rack as it is now, and this bank of it; −1: none.
    void read(int bank);
    QHBoxLayout& buttons() { return *m_buttons; }  ///< at the end of the line

  private:
    QWidget* makeLine();
    void readBanks();
    void readBank();
    void choose(int bank);
    void edit(const std::string& merge, const std::function<void(model::BankEntry&)>& change);
    model::Document& m_document;
    int m_bank = -1;
    QCheckBox* m_switch;
    QComboBox* m_banks;
    ValueSlider* m_weight;
    QHBoxLayout* m_buttons;
    QLabel* m_problem;
};

}  // namespace counterpoint::widgets
