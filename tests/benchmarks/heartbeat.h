#pragma once
// Heartbeat: the longest time in which the event loop of this thread did not come round. A timer of 0 ms fires once the
// loop has nothing else to do, so a beat comes at the end of a turn and the gap holds all of the turn's work. The gap
// that is still open when it is asked counts too: a loop that is blocked for good cannot hide. Thread: the loop's.

#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <vector>

namespace counterpoint::benchmarks {

class Heartbeat {
  public:
    Heartbeat() {
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer, [this] { beat(); });
        m_clock.start();
        m_timer.start(0);
    }
    void restart() {
        m_gaps.clear();
        m_clock.restart();
    }
    double longestMs() {
        beat();
        return *std::max_element(m_gaps.begin(), m_gaps.end());
    }
    std::size_t beats() const { return m_gaps.size(); }

  private:
    void beat() {
        m_gaps.push_back(static_cast<double>(m_clock.nsecsElapsed()) * 1e-6);
        m_clock.restart();
    }
    QTimer m_timer;
    QElapsedTimer m_clock;
    std::vector<double> m_gaps;
};

}  // namespace counterpoint::benchmarks
