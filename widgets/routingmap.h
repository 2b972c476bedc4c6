#pragma once
// RoutingMap: the heat map of experts by positions, with what it is of above it: the layer and the measure, which are
// the view's, so that every plot of routing follows. Thread: the window thread.

#include <QComboBox>
#include <QWidget>

#include "model/document.h"
#include "widgets/plotpanel.h"

namespace counterpoint::widgets {

class RoutingMap : public QWidget {
    Q_OBJECT
  public:
    explicit RoutingMap(model::Document& document, QWidget* parent = nullptr);
    PlotPanel& panel() { return *m_panel; }
    void show(model::PlotData plot);

  private:
    void readView();
    model::Document& m_document;
    PlotPanel* m_panel;
    QComboBox *m_layer, *m_measure;
};

}  // namespace counterpoint::widgets
