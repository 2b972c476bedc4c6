#pragma once
// NoticePanel: what the program has to say, one plain sentence each, details folded, closable; never modal. Shows the
// newest few, two lines of them at a time (the rest scrolls), so that the window keeps its size; a button closes all.
// Infos go by themselves, not from under the mouse; Document::pastNotices keeps them. Says whether there are any; who
// holds it shows and hides it. Thread: the window thread.

#include <QWidget>

#include "model/document.h"

class QHBoxLayout;
class QScrollArea;
class QVBoxLayout;

namespace counterpoint::widgets {

class NoticePanel : public QWidget {
    Q_OBJECT
  public:
    static constexpr int kInfoMs = 8000;
    explicit NoticePanel(model::Document& document, QWidget* parent = nullptr, int infoMs = kInfoMs);

  Q_SIGNALS:
    void occupied(bool any);

  private:
    void refresh();
    void goLater(int id);
    model::Document& m_document;
    QHBoxLayout* m_line;
    QScrollArea* m_scroll;
    QVBoxLayout* m_rows;
    QWidget* m_more = nullptr;  ///< closes all; null: every notice has a row
    int m_infoMs, m_timed = 0;  ///< ids up to m_timed have their timer
};

}  // namespace counterpoint::widgets
