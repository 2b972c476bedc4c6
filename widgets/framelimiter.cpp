#include "widgets/framelimiter.h"

#include <QEvent>
#include <QWidget>
#include <algorithm>
#include <utility>

namespace counterpoint::widgets {

FrameLimiter::FrameLimiter(QWidget* target, std::function<void()> draw)
    : QObject(target), m_target(target), m_draw(std::move(draw)) {
    m_timer.setSingleShot(true);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &FrameLimiter::fire);
    target->installEventFilter(this);
}

void FrameLimiter::request() {
    m_pending = true;
    if (m_timer.isActive() || !m_target->isVisible()) return;
    const qint64 since = m_since.isValid() ? m_since.elapsed() : kFrameMs;
    m_timer.start(static_cast<int>(std::clamp<qint64>(kFrameMs - since, 0, kFrameMs)));
}

void FrameLimiter::now() {
    m_timer.stop();
    fire();
}

void FrameLimiter::fire() {
    if (!m_pending || !m_target->isVisible()) return;
    m_pending = false;
    m_since.start();
    m_draw();
}

bool FrameLimiter::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Show && m_pending && !m_timer.isActive()) fire();
    return QObject::eventFilter(watched, event);
}

}  // namespace counterpoint::widgets
