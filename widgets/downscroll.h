#pragma once
// A panel that scrolls down and never sideways: it is as wide as what it holds needs, so that nothing is cut off.
// Thread: the window thread.

#include <QScrollArea>

namespace counterpoint::widgets {

class DownScroll : public QScrollArea {
  public:
    DownScroll(const char* name, QWidget* parent);
    QSize minimumSizeHint() const override;
};

}  // namespace counterpoint::widgets
