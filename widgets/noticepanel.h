#pragma once
// NoticePanel: what the program has to say, one plain sentence each, details folded, closable; never modal. Shows the
// newest few; a button closes all. Says whether there are any; who holds it shows and hides it. Thread: the window thread.

#include <QWidget>

#include "model/document.h"

class QVBoxLayout;

namespace counterpoint::widgets {

class NoticePanel : public QWidget {
    Q_OBJECT
  public:
    explicit NoticePanel(model::Document& document, QWidget* parent = nullptr);

  Q_SIGNALS:
    void occupied(bool any);

  private:
    void refresh();
    model::Document& m_document;
    QVBoxLayout* m_rows;
};

}  // namespace counterpoint::widgets
