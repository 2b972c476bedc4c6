#pragma once
// LogitStore: every source's log-probability rows of a trace, append-only; rows are immutable once appended and readable
// while it grows. Memory up to a budget, one for all stores of the process, then a mapped file (posix_fallocate'd, unlinked)
// behind it. What a row alone is asked for (RowFacts) is computed once, when it is kept.
// Shapes: row (position, source) = float[V], an unused source's row is empty. Thread: append from one lane; reads from any.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"

namespace counterpoint::model {

class LogitStore {
  public:
    LogitStore(std::int64_t vocabulary, std::size_t sources, std::uint64_t budgetBytes = 2ull << 30);
    ~LogitStore();
    LogitStore(const LogitStore&) = delete;
    LogitStore& operator=(const LogitStore&) = delete;

    /// Positions must be appended in order, the first may be any.
    void append(const compute::RawRows& rows);
    std::int64_t vocabulary() const;
    std::size_t sources() const;
    compute::Position first() const;          ///< position of the first row (0 when empty)
    compute::Position end() const;            ///< one past the last row
    /// Empty span: that source gave no row there. Valid as long as the store lives.
    std::span<const float> row(compute::Position position, std::size_t source) const;
    /// Where input position `position` − 1 went in that source; null: no routed experts.
    std::shared_ptr<const compute::RoutingRow> routing(compute::Position position, std::size_t source) const;
    /// [M] of one position; empty: no source has routed experts.
    std::vector<std::shared_ptr<const compute::RoutingRow>> routing(compute::Position position) const;
    /// All sources of one position with their facts, ready for compose().
    compute::SourceRows<float> rows(compute::Position position) const;
    std::uint64_t bytes() const;  ///< of this store alone, what it shares with another left out
    /// A store that shares rows [first, end) of this one and can be appended to on its own (branches); nothing is
    /// copied.
    std::shared_ptr<LogitStore> branch(compute::Position end) const;

  private:
    struct State;
    std::unique_ptr<State> m_state;
};

}  // namespace counterpoint::model
