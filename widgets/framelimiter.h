#pragma once
// FrameLimiter: any number of requests become at most one call of `draw` a tick and at most 60 a second; every request
// is followed by at least one call. While the target is hidden nothing is drawn; the call is made up for as it
// shows, so that no frame shows it blank or old. Thread: the target's.

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>

class QWidget;

namespace counterpoint::widgets {

class FrameLimiter : public QObject {
    Q_OBJECT
  public:
    static constexpr int kFrameMs = 16;
    FrameLimiter(QWidget* target, std::function<void()> draw);
    void request();
    bool pending() const { return m_pending; }
    /// What is pending, at once: before a paint that would show what was.
    void now();
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void fire();
    QWidget* m_target;
    std::function<void()> m_draw;
    QTimer m_timer;
    QElapsedTimer m_since;
    bool m_pending = false;
};

}  // namespace counterpoint::widgets
