#pragma once
// The two measurable skills of the demo and the choice of stories that teach one without touching the other.
//   rate of a story = 100 · (quotation marks, or animal words) / words
//   weight of story s: w_s ∝ exp(λ x_s − μ·f(y_s)), x the raised skill, y the other; λ so that E_w[x] = target, μ so
//   that the other skill's mean, its share of zero, its mean square and the story length stay those of the corpus
//   (exponential tilting).
// A tilt by x and a tilt by y multiply to a tilt by both, which is what the product rule R1 composes.
// Thread: any (pure). Errors: Error when the target cannot be reached.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace counterpoint::network::train {

enum class Skill { Dialogue, Animals };

struct SkillRate {
    double quotationMarks = 0;  ///< per 100 words
    double animalWords = 0;     ///< per 100 words
    double words = 0;
};

/// A word is a run of ASCII letters with inner apostrophes; quotation marks are " “ ”.
SkillRate skillRate(std::string_view text);
/// Lower case, with plurals.
std::span<const std::string_view> animalWords();

struct Tilt {
    std::vector<double> weight;   ///< [stories], sums to 1
    double effectiveStories = 0;  ///< 1/Σ w²
    SkillRate mean;               ///< E_w of the rates and of the words
    SkillRate corpus;             ///< the same unweighted
};

/// Weights under which `skill` has `gain` times its corpus mean and the other skill stays as it is; `otherGain` ≠ 1
/// makes stories that have the other skill that much likelier (a model may learn less of it than its stories hold).
Tilt tilt(std::span<const SkillRate> stories, Skill skill, double gain, double otherGain = 1);

}  // namespace counterpoint::network::train
