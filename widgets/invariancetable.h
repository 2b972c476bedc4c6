#pragma once
// InvarianceTable: R15 for a person: a verdict in one sentence, the tests with statistic and p-value, and what they
// speak of: one layer, given its inputs. Of the present trace's picture, while it is made; where there is none a
// sentence says why. Thread: the window thread.

#include <QLabel>
#include <QTableWidget>
#include <QWidget>
#include <memory>

#include "model/document.h"
#include "model/routingpicture.h"

namespace counterpoint::widgets {

class InvarianceTable : public QWidget {
    Q_OBJECT
  public:
    explicit InvarianceTable(model::Document& document, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {480, 220}; }

  protected:
    void showEvent(QShowEvent* event) override;

  private:
    void refresh();
    void fill(const model::InvariancePanel& panel);
    model::Document& m_document;
    std::shared_ptr<const model::InvariancePanel> m_shown;
    QLabel *m_verdict, *m_scope;
    QTableWidget* m_table;
};

}  // namespace counterpoint::widgets
