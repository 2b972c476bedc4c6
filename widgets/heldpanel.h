#pragma once
// HeldPanel: what the session holds of priors or of routing, and that this version keeps it without letting it act. A
// bank can be switched off and a source set to route as published, since either keeps the session from decoding
// otherwise. Never empty: with nothing to list it says so in one sentence. Thread: the window thread.

#include <QScrollArea>

#include "model/document.h"

class QVBoxLayout;

namespace counterpoint::widgets {

class HeldPanel : public QScrollArea {
    Q_OBJECT
  public:
    enum class Of { Priors, Routing };
    HeldPanel(model::Document& document, Of of, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {280, 120}; }

  private:
    void refresh();
    void banks();
    void routes();
    void say(const QString& sentence);
    model::Document& m_document;
    Of m_of;
    QVBoxLayout* m_column = nullptr;
    compute::OrderedJson m_shown;  ///< what the rows were built from
};

}  // namespace counterpoint::widgets
