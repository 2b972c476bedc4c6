#pragma once
// ExpertSwitches: the routed experts of one layer as a table: a switch each (off: ℓ = −∞) and a bias in nats (R12).
// Both change the law of a token. Space switches the selected rows, a typed number is the bias; the table only says
// what was asked for, and shows what it is told. Thread: the window thread.

#include <QComboBox>
#include <QTableWidget>
#include <QWidget>

#include "compute/files/json.h"
#include "compute/sources/source.h"

namespace counterpoint::widgets {

class ExpertSwitches : public QWidget {
    Q_OBJECT
  public:
    explicit ExpertSwitches(QWidget* parent = nullptr);
    /// `layer`: among the routed ones.
    void show(const compute::RouterInfo& routers, int layer, const compute::OrderedJson& routing);
    QTableWidget& table() { return *m_table; }

  Q_SIGNALS:
    void layerChosen(int layer);
    void biasAsked(qint64 layer, qint64 expert, double bias);  ///< of the model's layer; −∞: off
    void refused(const QString& reason);

  private:
    void write();
    void changed(const QTableWidgetItem& item);
    compute::RouterInfo m_routers;
    compute::OrderedJson m_routing;
    int m_asked = -1, m_layer = 0;
    QComboBox* m_layers;
    QTableWidget* m_table;
};

}  // namespace counterpoint::widgets
