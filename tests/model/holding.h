#pragma once
// Sources that can be held: a call into one waits, deaf to Stop, until the test lets it go on.

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "tests/model/scripted.h"

namespace counterpoint::tests {

/// Where calls wait. `after`: how many get through before one waits.
class Hold {
  public:
    void arrive() {
        std::unique_lock lock(m_mutex);
        if (m_open || m_after-- > 0) return;
        ++m_waiting;
        m_changed.notify_all();
        m_changed.wait(lock, [&] { return m_open; });
        --m_waiting;
    }
    void after(int calls) {
        const std::scoped_lock lock(m_mutex);
        m_after = calls;
        m_open = false;
    }
    void awaitCall() {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return m_waiting > 0; });
    }
    void release() {
        const std::scoped_lock lock(m_mutex);
        m_open = true;
        m_changed.notify_all();
    }

  private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
    int m_after = 0, m_waiting = 0;
    bool m_open = true;
};

/// What comes of a call that was held, once it goes on.
enum class Late { Answers, Throws, Stops };

class DeafSource : public ScriptedSource {
  public:
    DeafSource(Script script, const std::string& path, Late late) : ScriptedSource(std::move(script), path), m_late(late) {}
    Outcome forward(std::span<const TokenId> ids, std::int64_t rows, std::span<float> logits, std::stop_token stop) override {
        if (m_late == Late::Throws && stop.stop_requested()) return Outcome::Cancelled;
        const Outcome outcome = ScriptedSource::forward(ids, rows, logits, m_late == Late::Answers ? std::stop_token() : stop);
        if (m_late == Late::Throws && stop.stop_requested()) throw compute::Error({.what = "too late"});
        return outcome;
    }

  private:
    Late m_late;
};

/// The three scripted sources: poetry, the last of a step, waits at `hold` while it computes, "slow to open" while it is opened.
struct Held {
    std::shared_ptr<Hold> hold = std::make_shared<Hold>();
    std::shared_ptr<int> alive = std::make_shared<int>();   ///< held by every engine and lane that is not at its end
    std::shared_ptr<std::atomic<int>> opened = std::make_shared<std::atomic<int>>(0);   ///< sources asked for
    Late late = Late::Answers;

    model::SourceOpener opener() const {
        auto scripts = three();
        scripts["slow to open"] = scripts["poetry"];
        scripts["poetry"].onForward = [hold = hold](std::span<const TokenId>) { hold->arrive(); };
        return [scripts, hold = hold, alive = alive, opened = opened, late = late](const std::filesystem::path& path, const compute::OpenOptions&,
                                                                   std::stop_token) -> std::unique_ptr<compute::Source> {
            const std::string name = path.filename().string();
            ++*opened;
            if (name == "slow to open") hold->arrive();
            return std::make_unique<DeafSource>(scripts.at(name), path.string(), late);
        };
    }
    /// Engines and decode lanes that are not at their end.
    long lanes() const { return alive.use_count() - 1; }
};

}  // namespace counterpoint::tests
