#pragma once
// A session whose rack has one bank.

#include "model/session.h"
#include "tests/support/banks.h"

namespace counterpoint::tests {

inline model::Session sessionOf(compute::Bank bank) {
    model::Session s;
    s.priors.resize(1);
    s.priors[0].bank = "b.bank.json";
    s.priors[0].content = std::make_shared<const compute::Bank>(std::move(bank));
    return s;
}

}  // namespace counterpoint::tests
