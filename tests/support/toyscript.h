#pragma once
// A toy TorchScript of 300 tokens, its formula beside it, and what tests of such files share.

#include <cmath>

#include "compute/sources/source.h"
#include "tests/support/scratch.h"
#include "tests/support/scripts.h"
#include "tests/support/toyfiles.h"
#include "tests/support/toysource.h"

namespace counterpoint::tests {

inline constexpr std::int64_t kScriptWidth = 300;

/// logits after token t: w[id_t] + 0.1 · the sum of w[id_s] over s ≤ t.
inline const char* const kScriptForward = R"(
def forward(self, ids: Tensor) -> Tensor:
    x = self.w[ids]
    return x + 0.1 * torch.cumsum(x, 1)
)";
/// The same with a cache; `step` adds `self.mark`, so that a test sees who has spoken.
inline const char* const kScriptSteps = R"(
def prefill(self, ids: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.w[ids]
    s = torch.cumsum(x, 1)
    return x + 0.1 * s, s[:, -1:]
def step(self, ids: Tensor, cache: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.w[ids]
    s = cache + x
    return x + 0.1 * s + self.mark, s
)";

inline ScriptText toyScript(std::string methods, float mark = 0.0F) {
    ScriptText text;
    text.methods = std::move(methods);
    text.parameters = {
        {"w", {kScriptWidth, kScriptWidth}, toyNumbers(static_cast<std::size_t>(kScriptWidth * kScriptWidth), 3, 1.0F)},
        {"mark", {1}, {mark}}};
    return text;
}

/// What the toy's formula gives, in float64.
inline std::vector<double> scriptRows(const std::vector<TokenId>& ids) {
    const std::vector<float> w = toyNumbers(static_cast<std::size_t>(kScriptWidth * kScriptWidth), 3, 1.0F);
    std::vector<double> sum(static_cast<std::size_t>(kScriptWidth)), rows;
    for (const TokenId id : ids)
        for (std::size_t v = 0; v < sum.size(); ++v) {
            const double x = w[static_cast<std::size_t>(id) * sum.size() + v];
            sum[v] += x;
            rows.push_back(x + 0.1 * sum[v]);
        }
    return rows;
}

inline double apart(const std::vector<float>& rows, const std::vector<double>& wanted) {
    double worst = rows.size() == wanted.size() ? 0.0 : 1e9;
    for (std::size_t i = 0; i < rows.size() && i < wanted.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(rows[i]) - wanted[i]));
    return worst;
}

/// Base of a test class: scripts written to its scratch folder.
class ScriptFolder : protected Scratch {
  protected:
    std::filesystem::path script(const ScriptText& text, const std::string& name = "toy.pt") const {
        scriptWriter().write(folder() / name, text);
        return folder() / name;
    }
    static std::unique_ptr<compute::Source> openScript(const std::filesystem::path& file,
                                                       const OpenOptions& options = {}) {
        return compute::openSource(file, options, {});
    }
};

}  // namespace counterpoint::tests
