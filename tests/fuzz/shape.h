#pragma once
// What holds of every configuration that a reader takes, whatever file it came from.

#include <cmath>

#include "compute/network/architectures.h"
#include "tests/fuzz/fuzz.h"

namespace counterpoint::fuzz {

inline void checkRotary(const network::Rotary& rotary, const network::Shape& shape) {
    require(!rotary.frequencies.empty() && static_cast<std::int64_t>(rotary.frequencies.size()) * 2 <= shape.headDim,
            "rotary positions turn a part of the head");
    require(std::isfinite(rotary.factor) && rotary.factor > 0, "the rotary factor is a number");
    network::Angles angles;
    for (const std::int64_t position : {std::int64_t{0}, std::int64_t{1}, std::int64_t{50}, shape.maxPositions - 1}) {
        network::prepareAngles(rotary, position, 1, angles);
        for (std::size_t i = 0; i < angles.cosine.size(); ++i)
            require(std::isfinite(angles.cosine[i]) && std::isfinite(angles.sine[i]), "rotary positions are numbers",
                    rotary.scaling);
    }
}

inline void checkShape(const network::Shape& s) {
    for (const std::int64_t n :
         {s.vocabulary, s.hidden, s.intermediate, s.layers, s.heads, s.keyValueHeads, s.headDim, s.maxPositions})
        require(n >= 1 && n <= std::int64_t{1} << 32, "sizes are usable", s.architecture);
    require(s.heads % s.keyValueHeads == 0, "the heads divide into groups");
    require(static_cast<std::int64_t>(s.kinds.size()) == s.layers, "every layer has its kind");
    for (const network::LayerKind& kind : s.kinds)
        require(kind.window >= 0 && kind.rotary >= -1 && kind.rotary < static_cast<int>(s.rotaries.size()),
                "a layer's kind is usable");
    for (const double x : {static_cast<double>(s.normEpsilon), static_cast<double>(s.attentionScale), s.embeddingScale})
        require(std::isfinite(x) && x > 0, "what scales is a number above 0", s.architecture);
    for (const float cap : {s.attentionCap, s.logitCap}) require(std::isfinite(cap) && cap >= 0, "a cap is a number");
    for (const network::Rotary& rotary : s.rotaries) checkRotary(rotary, s);
}

}  // namespace counterpoint::fuzz
