#pragma once
// HeldPanel: what the session's file says of routing. It acts in a new decode; a source can be set to route as published,
// which a source without routed experts needs before the session decodes. Never empty: with nothing to list it says so
// in one sentence. Thread: the window thread.

#include <QScrollArea>

#include "model/document.h"

class QVBoxLayout;

namespace counterpoint::widgets {

class HeldPanel : public QScrollArea {
    Q_OBJECT
  public:
    explicit HeldPanel(model::Document& document, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {280, 120}; }

  private:
    void refresh();
    void routes();
    void say(const QString& sentence);
    model::Document& m_document;
    QVBoxLayout* m_column = nullptr;
    compute::OrderedJson m_shown;  ///< what the rows were built from
};

}  // namespace counterpoint::widgets
