#pragma once
// Outbox: what the lanes have to say, in order and without loss, until the owner drains it. Thread: any.

#include "model/engine.h"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace counterpoint::model {

class Outbox {
  public:
    void push(Event event) {
        {
            const std::scoped_lock lock(m_mutex);
            m_events.push_back(std::move(event));
        }
        m_filled.notify_all();
    }
    std::vector<Event> drain() {
        const std::scoped_lock lock(m_mutex);
        return std::exchange(m_events, {});
    }
    void wait() {
        std::unique_lock lock(m_mutex);
        m_filled.wait(lock, [&] { return !m_events.empty(); });
    }
    void wait(std::chrono::milliseconds atMost) {
        std::unique_lock lock(m_mutex);
        m_filled.wait_for(lock, atMost, [&] { return !m_events.empty(); });
    }

  private:
    std::mutex m_mutex;
    std::condition_variable m_filled;
    std::vector<Event> m_events;
};

}  // namespace counterpoint::model
