#pragma once
// Toy models opened by the torch module's own kernels, without the module: written, opened, fed.

#include <QTemporaryDir>
#include <stdexcept>

#include "compute/network/modelsource.h"
#include "tests/support/scratch.h"
#include "tests/support/toymodel.h"

namespace counterpoint::tests {

using compute::OpenOptions;
using compute::Outcome;
using compute::TokenId;

inline std::unique_ptr<compute::Source> open(const std::filesystem::path& directory, const OpenOptions& options = {},
                                             std::int64_t tokens = 300) {
    return network::openOnCpu(directory, std::make_shared<CountingTokenizer>(tokens), options, {});
}

inline std::vector<TokenId> someIds(std::size_t n, TokenId vocabulary = 300) {
    std::vector<TokenId> ids(n);
    for (std::size_t i = 0; i < n; ++i)
        ids[i] = static_cast<TokenId>((i * i * 31 + i * 7 + 3) % static_cast<std::size_t>(vocabulary));
    return ids;
}

/// All rows, feeding `step` tokens at a time (0: all at once).
inline std::vector<float> allRows(compute::Source& source, const std::vector<TokenId>& ids, std::size_t step) {
    const auto V = static_cast<std::size_t>(source.info().logitWidth);
    std::vector<float> rows(ids.size() * V);
    for (std::size_t from = 0; from < ids.size();) {
        const std::size_t n = step == 0 ? ids.size() : std::min(step, ids.size() - from);
        const Outcome outcome = source.forward(std::span(ids).subspan(from, n), static_cast<std::int64_t>(n),
                                               std::span(rows).subspan(from * V, n * V), {});
        if (outcome != Outcome::Done) throw std::runtime_error("cancelled");
        from += n;
    }
    return rows;
}

/// Model directories of one test.
class ToyFolder {
  public:
    std::filesystem::path folder(const std::string& name) const {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }
    std::filesystem::path written(const std::string& name, const Toy& toy) const {
        toy.write(folder(name));
        return folder(name);
    }
    static Toy plain(unsigned seed = 1) {
        Toy toy;
        toy.fill(seed);
        return toy;
    }

  private:
    QTemporaryDir m_folder;
};

}  // namespace counterpoint::tests
