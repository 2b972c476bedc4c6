#include "compute/pool.h"

namespace counterpoint::compute {
namespace {

/// About 10 µs: long enough to meet the next layer's matrix, short enough to be no load.
constexpr int kSpins = 400;

inline void pauseBriefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

Pool& Pool::instance() {
    static Pool pool;
    return pool;
}

Pool::~Pool() {
    {
        const std::lock_guard lock(m_mutex);
        m_quit = true;
    }
    m_epoch.fetch_add(1);
    m_wake.notify_all();
    for (std::thread& t : m_threads) t.join();
}

void Pool::claim(int worker) {
    for (std::int64_t task = m_next.fetch_add(1); task < m_job.tasks; task = m_next.fetch_add(1))
        m_job.call(m_job.work, task, worker);
}

void Pool::runJob(int threads, const Job& job) {
    std::unique_lock<std::mutex> held(m_caller, std::defer_lock);
    if (threads <= 1 || job.tasks <= 1 || !held.try_lock()) {
        for (std::int64_t task = 0; task < job.tasks; ++task) job.call(job.work, task, 0);
        return;
    }
    {
        const std::lock_guard lock(m_mutex);
        while (static_cast<int>(m_threads.size()) < threads - 1) {
            const int worker = static_cast<int>(m_threads.size()) + 1;
            m_threads.emplace_back([this, worker] { live(worker); });
        }
        m_job = job;
        m_next = 0;
        m_wanted = threads - 1;
        m_epoch.fetch_add(1);
    }
    m_wake.notify_all();
    claim(0);
    std::unique_lock lock(m_mutex);
    m_wanted = 0;
    m_left.wait(lock, [this] { return m_inside == 0; });
}

void Pool::live(int worker) {
    std::uint64_t seen = 0;
    for (;;) {
        for (int spin = 0; spin < kSpins && m_epoch.load() == seen; ++spin) pauseBriefly();
        std::unique_lock lock(m_mutex);
        m_wake.wait(lock, [&] { return m_quit || m_epoch.load() != seen; });
        if (m_quit) return;
        seen = m_epoch.load();
        if (worker > m_wanted) continue;  // fewer threads are asked for, or the job is over
        ++m_inside;
        lock.unlock();
        claim(worker);
        lock.lock();
        if (--m_inside == 0) m_left.notify_one();
    }
}

}  // namespace counterpoint::compute
