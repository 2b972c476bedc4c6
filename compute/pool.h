#pragma once
// A small pool of sleeping threads, one for the whole program. run() calls work(task, worker) for every task of
// 0..tasks-1, on the caller and on up to threads-1 others; tasks are claimed one by one, so a thread that wakes late
// costs nothing. Results may not depend on which worker took a task (worker, in 0..threads-1, only picks scratch
// memory). A second caller meanwhile runs its tasks alone. work must not throw. Thread: any.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "compute/export.h"

namespace counterpoint::compute {

class COUNTERPOINT_API Pool {
  public:
    static Pool& instance();
    ~Pool();

    template <class Work>
    void run(int threads, std::int64_t tasks, const Work& work) {
        const auto call = [](const void* w, std::int64_t task, int worker) {
            (*static_cast<const Work*>(w))(task, worker);
        };
        runJob(threads, {call, &work, tasks});
    }

  private:
    struct Job {
        void (*call)(const void*, std::int64_t, int);
        const void* work;
        std::int64_t tasks;
    };
    void runJob(int threads, const Job& job);
    void claim(int worker);
    void live(int worker);

    std::mutex m_caller;  ///< held by the one caller that has the workers
    std::mutex m_mutex;   ///< guards what follows
    std::condition_variable m_wake, m_left;
    std::vector<std::thread> m_threads;
    Job m_job{};
    int m_wanted = 0, m_inside = 0;
    bool m_quit = false;
    std::atomic<std::uint64_t> m_epoch{0};
    std::atomic<std::int64_t> m_next{0};
};

}  // namespace counterpoint::compute
