#pragma once
// BankRow: a bank of the rack (R8): switch, weight, what is wrong with it; hover tells path, level, priors and whether
// its tokenizer is the one in use. A click shows its priors. Thread: the window thread.

#include <QCheckBox>
#include <QLabel>
#include <QMenu>
#include <QToolButton>
#include <QWidget>
#include <functional>

#include "model/document.h"
#include "widgets/valueslider.h"

namespace counterpoint::widgets {

class BankRow : public QWidget {
    Q_OBJECT
  public:
    /// objectName = "bankRow.<place in the rack>"
    BankRow(model::Document& document, std::size_t bank, QWidget* parent = nullptr);
    void refresh();

  protected:
    void mousePressEvent(QMouseEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void edit(const std::string& merge, const std::function<void(model::BankEntry&)>& change);
    std::string weightKey() const;
    void fillMenu();
    void move(int by);
    QString hover() const;
    model::Document& m_document;
    std::size_t m_bank;
    QCheckBox* m_switch;
    ValueSlider* m_weight;
    QToolButton *m_reset, *m_more;
    QLabel* m_state;
    QMenu m_menu;
};

}  // namespace counterpoint::widgets
