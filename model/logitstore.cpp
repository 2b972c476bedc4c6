#include "model/logitstore.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "compute/error.h"

namespace counterpoint::model {

using compute::Error;
using compute::Position;

namespace {

constexpr std::size_t kRowsPerPage = 256;
constexpr std::size_t kPages = 1 << 14;  // 4 million rows
constexpr std::uint64_t kSlabBytes = 4u << 20;

/// Bytes that all stores of the process hold in memory: the budget is one for all traces.
std::atomic<std::uint64_t> g_inMemory{0};

[[noreturn]] void fail(const std::string& what, int error) {
    throw Error({.where = "stored log-probabilities",
                 .what = what,
                 .expected = {},
                 .found = std::strerror(error),
                 .advice = "free some space in the temporary folder (TMPDIR) or close traces",
                 .details = {}});
}

/// An unlinked temporary file that only grows; its space is reserved before it is mapped, because a mapped page without
/// disk behind it ends the program.
class SpillFile {
  public:
    SpillFile() = default;
    SpillFile(const SpillFile&) = delete;
    SpillFile& operator=(const SpillFile&) = delete;
    ~SpillFile() {
        if (m_fd >= 0) ::close(m_fd);
    }
    float* map(std::uint64_t bytes) {
        if (m_fd < 0) open();
        if (const int error = ::posix_fallocate(m_fd, m_size, static_cast<off_t>(bytes)); error != 0)
            fail("there is no room for the rows of this trace", error);
        void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m_fd, m_size);
        if (data == MAP_FAILED) fail("the temporary file cannot be mapped", errno);
        m_size += static_cast<off_t>(bytes);
        return static_cast<float*>(data);
    }

  private:
    void open() {
        std::string name = (std::filesystem::temp_directory_path() / "counterpoint-rows-XXXXXX").string();
        m_fd = ::mkostemp(name.data(), O_CLOEXEC);
        if (m_fd < 0) fail("the temporary file " + name + " cannot be made", errno);
        ::unlink(name.c_str());
    }
    int m_fd = -1;
    off_t m_size = 0;
};

/// Owns row memory; rows never move. One writer. Shared by the stores that branch from it.
class Arena {
  public:
    explicit Arena(std::uint64_t budgetBytes) : m_budget(budgetBytes) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        for (const Slab& s : m_slabs) {
            if (s.mapped)
                ::munmap(s.data, s.bytes);
            else
                std::free(s.data);
            if (!s.mapped) g_inMemory -= s.bytes;
        }
    }
    float* take(std::size_t floats) {
        const std::uint64_t bytes = floats * sizeof(float);
        if (m_slabs.empty() || m_used + bytes > m_slabs.back().bytes) grow(bytes);
        float* row = m_slabs.back().data + m_used / sizeof(float);
        m_used += bytes;
        m_total += bytes;
        return row;
    }
    std::uint64_t total() const { return m_total; }

  private:
    struct Slab {
        float* data;
        std::uint64_t bytes;
        bool mapped;
    };
    void grow(std::uint64_t atLeast) {
        constexpr std::uint64_t kPageBytes = 4096;
        const std::uint64_t bytes = (std::max(atLeast, kSlabBytes) + kPageBytes - 1) / kPageBytes * kPageBytes;
        m_slabs.reserve(m_slabs.size() + 1);
        if (g_inMemory.load() + bytes <= m_budget) {
            auto* data = static_cast<float*>(std::malloc(bytes));
            if (data == nullptr) throw std::bad_alloc();
            g_inMemory += bytes;
            m_slabs.push_back({data, bytes, false});
        } else {
            m_slabs.push_back({m_spill.map(bytes), bytes, true});
        }
        m_used = 0;
    }
    std::uint64_t m_budget;
    std::vector<Slab> m_slabs;
    std::uint64_t m_used = 0;
    std::atomic<std::uint64_t> m_total{0};
    SpillFile m_spill;
};

/// One row and what it alone is asked for; no row: the source was not fed.
struct Kept {
    const float* row = nullptr;
    compute::RowFacts facts;
    std::shared_ptr<const compute::RoutingRow> routing;
};

}  // namespace

/// Row pointers stand in pages that never move; `count` is published after the row is whole, so readers need no lock.
struct LogitStore::State {
    std::int64_t vocabulary = 0;
    std::size_t sources = 0;
    std::uint64_t budget = 0;
    Position first = 0;  // written once, before count leaves 0
    std::atomic<std::size_t> count{0};
    std::atomic<std::uint64_t> routed{0};  // bytes of routing rows
    std::array<std::atomic<Kept*>, kPages> pages{};
    std::shared_ptr<Arena> arena;
    std::vector<std::shared_ptr<Arena>> inherited;

    ~State() {
        for (auto& page : pages) delete[] page.load();
    }
    Kept* slot(std::size_t index) const {
        return pages[index / kRowsPerPage].load(std::memory_order_acquire) + (index % kRowsPerPage) * sources;
    }
    Kept* newSlot(std::size_t index) {
        if (index / kRowsPerPage >= kPages) fail("the trace is longer than a store can hold", EFBIG);
        auto& page = pages[index / kRowsPerPage];
        if (page.load(std::memory_order_relaxed) == nullptr)
            page.store(new Kept[kRowsPerPage * sources](), std::memory_order_release);
        return slot(index);
    }
};

LogitStore::LogitStore(std::int64_t vocabulary, std::size_t sources, std::uint64_t budgetBytes)
    : m_state(std::make_unique<State>()) {
    m_state->vocabulary = vocabulary;
    m_state->sources = sources;
    m_state->budget = budgetBytes;
    m_state->arena = std::make_shared<Arena>(budgetBytes);
}

LogitStore::~LogitStore() = default;

void LogitStore::append(const compute::RawRows& rows) {
    State& s = *m_state;
    const std::size_t count = s.count.load(std::memory_order_relaxed);
    const auto wrong = [&](const std::string& what, std::int64_t expected, std::int64_t found) {
        throw Error({.where = "stored log-probabilities, position " + std::to_string(rows.position),
                     .what = what,
                     .expected = std::to_string(expected),
                     .found = std::to_string(found),
                     .advice = {},
                     .details = {}});
    };
    if (rows.rows.size() != s.sources)
        wrong("wrong number of sources", static_cast<std::int64_t>(s.sources),
              static_cast<std::int64_t>(rows.rows.size()));
    if (count > 0 && rows.position != end()) wrong("rows must follow each other", end(), rows.position);
    for (const auto& row : rows.rows)
        if (!row.empty() && row.size() != static_cast<std::size_t>(s.vocabulary))
            wrong("wrong row width", s.vocabulary, static_cast<std::int64_t>(row.size()));

    Kept* slot = s.newSlot(count);
    // Rows that an append before left half done, when its memory was refused, are no longer there.
    std::fill_n(slot, s.sources, Kept{});
    for (std::size_t i = 0; i < s.sources; ++i) {
        const std::vector<float>& row = rows.rows[i];
        if (row.empty()) continue;
        float* data = s.arena->take(row.size());
        std::copy(row.begin(), row.end(), data);
        const bool routed = i < rows.routing.size() && !rows.routing[i].experts.empty();
        slot[i] = {data, compute::factsOf(row, rows.rows[0].empty() ? row : rows.rows[0]),
                   routed ? std::make_shared<const compute::RoutingRow>(rows.routing[i]) : nullptr};
    }
    for (std::size_t i = 0; i < s.sources; ++i)
        if (const compute::RoutingRow* row = slot[i].routing.get())
            s.routed += std::as_bytes(std::span(row->logits)).size() + std::as_bytes(std::span(row->experts)).size() +
                        std::as_bytes(std::span(row->weights)).size();
    if (count == 0) s.first = rows.position;
    s.count.store(count + 1, std::memory_order_release);
}

std::int64_t LogitStore::vocabulary() const { return m_state->vocabulary; }
std::size_t LogitStore::sources() const { return m_state->sources; }

Position LogitStore::first() const { return m_state->count.load(std::memory_order_acquire) > 0 ? m_state->first : 0; }

Position LogitStore::end() const {
    const std::size_t count = m_state->count.load(std::memory_order_acquire);
    return count > 0 ? m_state->first + static_cast<Position>(count) : 0;
}

std::span<const float> LogitStore::row(Position position, std::size_t source) const {
    const State& s = *m_state;
    const std::size_t count = s.count.load(std::memory_order_acquire);
    if (count == 0 || position < s.first || source >= s.sources) return {};
    const auto index = static_cast<std::size_t>(position - s.first);
    if (index >= count) return {};
    const float* data = s.slot(index)[source].row;
    return data == nullptr ? std::span<const float>{} : std::span(data, static_cast<std::size_t>(s.vocabulary));
}

std::shared_ptr<const compute::RoutingRow> LogitStore::routing(Position position, std::size_t source) const {
    return row(position, source).empty()
               ? nullptr
               : m_state->slot(static_cast<std::size_t>(position - m_state->first))[source].routing;
}

std::vector<std::shared_ptr<const compute::RoutingRow>> LogitStore::routing(Position position) const {
    std::vector<std::shared_ptr<const compute::RoutingRow>> all;
    for (std::size_t i = 0; i < m_state->sources; ++i) all.push_back(routing(position, i));
    if (std::all_of(all.begin(), all.end(), [](const auto& row) { return row == nullptr; })) all.clear();
    return all;
}

compute::SourceRows<float> LogitStore::rows(Position position) const {
    compute::SourceRows<float> rows;
    rows.position = position;
    for (std::size_t i = 0; i < m_state->sources; ++i) rows.rows.push_back(row(position, i));
    if (rows.rows.empty() || rows.rows[0].empty()) return rows;
    const Kept* kept = m_state->slot(static_cast<std::size_t>(position - m_state->first));
    for (std::size_t i = 0; i < m_state->sources; ++i) rows.facts.push_back(kept[i].facts);
    return rows;
}

std::uint64_t LogitStore::bytes() const { return m_state->arena->total() + m_state->routed.load(); }

std::shared_ptr<LogitStore> LogitStore::branch(Position end) const {
    const State& s = *m_state;
    auto child = std::make_shared<LogitStore>(s.vocabulary, s.sources, s.budget);
    State& c = *child->m_state;
    c.inherited = s.inherited;
    c.inherited.push_back(s.arena);
    const Position last = std::min(end, this->end());
    const std::size_t count = last > first() ? static_cast<std::size_t>(last - first()) : 0;
    for (std::size_t i = 0; i < count; ++i) std::copy_n(s.slot(i), s.sources, c.newSlot(i));
    c.first = first();
    c.count.store(count, std::memory_order_release);
    return child;
}

}  // namespace counterpoint::model
