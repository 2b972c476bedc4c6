#pragma once
// Toy models with routed layers, read with their routing, for the tests of them.

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/fixture.h"
#include "tests/support/goldenmodel.h"
#include "tests/support/scratch.h"
#include "tests/support/toysource.h"

namespace counterpoint::tests {

using compute::ExpertId;
using compute::OpenOptions;
using compute::Outcome;
using compute::RoutingMode;
using compute::RoutingRow;
using compute::SourceRouting;
using compute::TokenId;

inline constexpr double kOff = -std::numeric_limits<double>::infinity();

inline SourceRouting coupled(double rho = 0.7, double alpha = 0.6, std::uint64_t seed = 11) {
    SourceRouting routing;
    routing.noise.mode = RoutingMode::Coupled;
    routing.noise.coupling.groups = compute::windowsOf(5);
    routing.noise.coupling.rho = rho;
    routing.noise.coupling.alpha = alpha;
    routing.noise.seed = seed;
    return routing;
}

inline bool same(const RoutingRow& a, const RoutingRow& b) {
    return a.logits == b.logits && a.experts == b.experts && a.weights == b.weights;
}

/// A text read by one source: logits and routing of every position.
struct Reading {
    std::vector<float> logits;
    std::vector<RoutingRow> routing;
    bool operator==(const Reading& o) const {
        return logits == o.logits &&
               std::equal(routing.begin(), routing.end(), o.routing.begin(), o.routing.end(), same);
    }
};

inline Reading read(compute::Source& source, std::span<const TokenId> ids, std::size_t step) {
    const auto V = static_cast<std::size_t>(source.info().logitWidth);
    Reading reading;
    for (std::size_t from = 0; from < ids.size(); from += step) {
        const std::size_t n = std::min(step, ids.size() - from);
        std::vector<float> rows(n * V);
        if (source.forward(ids.subspan(from, n), static_cast<std::int64_t>(n), rows, {}) != Outcome::Done)
            throw std::runtime_error("cancelled");
        reading.logits.insert(reading.logits.end(), rows.begin(), rows.end());
        if (source.routing().size() != n) throw std::runtime_error("not a row for each id");
        reading.routing.insert(reading.routing.end(), source.routing().begin(), source.routing().end());
    }
    return reading;
}

/// The models with routed layers.
inline std::vector<std::string> mixtures() {
    std::vector<std::string> names;
    for (const std::string& name : goldenNames())
        if (GoldenModel(name).config().contains("num_experts_per_tok")) names.push_back(name);
    return names;
}

inline std::vector<ExpertId> expertsOf(const RoutingRow& row, std::size_t layer, std::size_t K) {
    return {row.experts.begin() + static_cast<std::ptrdiff_t>(layer * K),
            row.experts.begin() + static_cast<std::ptrdiff_t>((layer + 1) * K)};
}

/// A test of them in a folder of its own.
class Mixtures : public Scratch {
  protected:
    std::unique_ptr<compute::Source> open(const GoldenModel& model, const OpenOptions& options = {}) const {
        model.write(folder());
        return tests::open(folder(), options, model.vocabulary());
    }
    static std::vector<TokenId> someOf(const GoldenModel& model, std::size_t n) {
        std::vector<TokenId> ids = model.ids();
        ids.resize(n);
        return ids;
    }
    static void addMixtures() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : mixtures()) QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
    }
};

}  // namespace counterpoint::tests
