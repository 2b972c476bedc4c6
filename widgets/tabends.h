#pragma once
// TabEnds: an event filter for tab bars that are scrolled. Qt cuts the titles at their ends; here they end in "…", or
// are not drawn where not even that fits. Thread: the window thread.

#include <QTabBar>

namespace counterpoint::widgets {

class TabEnds : public QObject {
    Q_OBJECT
  public:
    using QObject::QObject;
    /// What stands in the bar for tab `index`: its title, a part of it, or nothing.
    static QString shownTitle(const QTabBar& bar, int index);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    bool m_painting = false;
};

}  // namespace counterpoint::widgets
