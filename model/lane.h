#pragma once
// Lane: the decode lane as the others see it: what it says, and which call into a source it is in. A call may never return (a script
// whose loop has no end); the lane is then left behind: from that moment on it says nothing, and if the call returns after all,
// LeftBehind ends the lane before it touches anything but its own. Both happen under one mutex: a lane that has come back from its
// call cannot be left behind. Thread: push and inSource the lane, the others any.

#include "model/outbox.h"

namespace counterpoint::model {

/// Ends a lane that was left behind. Nobody is told: no std::exception, and no Error.
struct LeftBehind {};

class Lane {
  public:
    explicit Lane(Outbox& outbox) : m_outbox(outbox) {}

    void push(Event event) {
        const std::scoped_lock lock(m_mutex);
        if (!m_leftBehind) m_outbox.push(std::move(event));
    }

    /// work(), which is a call into the source of `path`.
    template <class Work>
    auto inSource(const std::string& path, bool opening, const Work& work) {
        begin(path, opening);
        auto result = [&] {
            try {
                return work();
            } catch (...) {
                end();
                throw;
            }
        }();
        end();
        return result;
    }

    std::optional<SourceCall> call() const {
        const std::scoped_lock lock(m_mutex);
        return m_call;
    }
    /// False where the lane is in no call.
    bool leaveBehind() {
        const std::scoped_lock lock(m_mutex);
        m_leftBehind = m_call.has_value();
        return m_leftBehind;
    }
    bool leftBehind() const {
        const std::scoped_lock lock(m_mutex);
        return m_leftBehind;
    }

  private:
    void begin(const std::string& path, bool opening) {
        const std::scoped_lock lock(m_mutex);
        m_call = SourceCall{path, opening, std::chrono::steady_clock::now()};
    }
    void end() {
        const std::scoped_lock lock(m_mutex);
        if (m_leftBehind) throw LeftBehind{};
        m_call.reset();
    }

    Outbox& m_outbox;
    mutable std::mutex m_mutex;
    std::optional<SourceCall> m_call;
    bool m_leftBehind = false;
};

}  // namespace counterpoint::model
