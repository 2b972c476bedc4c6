#pragma once
// The levels of R10, each from the members of the one before. A member is a prior with what it became. Internal to
// compute. Errors: none. Thread: any.

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compute/priors/bank.h"
#include "compute/priors/hierarchy.h"

namespace counterpoint::compute {

struct Member {
    PriorPtr prior;
    Factor factor;
    double eta = 0;
    double stake = 1;      ///< of the bank it came from
    std::size_t bank = 0;  ///< which one that is
    bool acts = false;     ///< else it stays as it is at every level

    double scale() const { return std::abs(factor.delta.front()); }
    /// Δ with the sign of η: a prior of negative η pushes the other way.
    double push(std::size_t j) const { return eta < 0 ? -factor.delta[j] : factor.delta[j]; }
};
using Members = std::vector<Member>;
using Indices = std::vector<std::size_t>;

struct LevelStep {
    Members members;
    double squaredError = 0;
    std::vector<std::vector<std::string>> merged;
    std::vector<std::string> apart;
};

LevelStep oneBitLevel(const Members& before);
LevelStep mergedLevel(const Members& before, const CompressOptions& options);
LevelStep aggregatedLevel(const Members& before);

/// Bits by the paper's formula: n signs and a scale where all magnitudes are one, else n numbers of 32.
double paperBits(const Member& member);

/// Members that act, by task and context (and bank); groups in the order of their first.
std::vector<Indices> groupsOf(const Members& members, bool acrossBanks);
std::vector<std::string> namesOf(const Members& members, const Indices& of);
/// A prior in the place of several: what they share, the mean of q and c, the names of what it is made of.
Prior joined(const Members& members, const Indices& of);
/// A prior of explicit η and Δ as a member beside `first`.
Member memberOf(Prior prior, const Member& first);
std::string inQuotes(const std::string& name);
std::string shownNumber(double value);  ///< three digits
/// The first 100 of them, then how many more there are.
void bound(std::vector<std::string>& sentences, const std::string& what);

/// Names that are taken; a new one is told from them by a number.
class Names {
  public:
    explicit Names(const Members& members);
    std::string take(const std::string& wanted);

  private:
    std::set<std::string> m_taken;
};

}  // namespace counterpoint::compute
