// What a prior says of itself: names, its context in one line, η (R8).
#include "compute/priors/prior.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "compute/printable.h"

namespace counterpoint::compute {
namespace {

constexpr std::array<std::pair<std::string_view, Policy>, 5> kPolicies = {
    {{"exact id", Policy::ExactId},
     {"single token", Policy::SingleToken},
     {"single token with a leading space", Policy::SingleTokenSpace},
     {"first token", Policy::FirstToken},
     {"first token with a leading space", Policy::FirstTokenSpace}}};

std::string idsText(const std::vector<TokenId>& ids) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i) text += ' ' + std::to_string(ids[i]);
    return ids.size() > kShown ? text + " ..." : text;
}

bool sameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool sameDelta(const Prior& a, const Prior& b) {
    return std::equal(a.delta.begin(), a.delta.end(), b.delta.begin(), b.delta.end(), [](const auto& x, const auto& y) {
        return x.first == y.first && sameNumber(x.second, y.second);
    });
}

}  // namespace

std::string_view policyName(Policy policy) { return kPolicies[static_cast<std::size_t>(policy)].first; }

std::optional<Policy> policyOf(std::string_view name) {
    for (const std::string_view plain : {" without a leading space", " without leading space"})
        if (name.ends_with(plain)) name.remove_suffix(plain.size());
    const std::string_view spaces[] = {" with a leading space", " with leading space"};
    const auto space =
        std::find_if(std::begin(spaces), std::end(spaces), [&](std::string_view end) { return name.ends_with(end); });
    if (space != std::end(spaces)) name.remove_suffix(space->size());
    for (const auto& [known, policy] : kPolicies) {
        if (name != known) continue;
        if (space == std::end(spaces) || policy == Policy::ExactId) return policy;
        return policy == Policy::SingleToken  ? std::optional(Policy::SingleTokenSpace)
               : policy == Policy::FirstToken ? std::optional(Policy::FirstTokenSpace)
                                              : std::nullopt;
    }
    return std::nullopt;
}

std::string describe(const Context& context) {
    const auto named = [](const std::string& text) { return printable(shortened(text)); };
    switch (context.kind) {
        case ContextKind::Regex:
            return "after /" + named(context.pattern) + "/";
        case ContextKind::Tokens:
            return "after ids" + idsText(context.ids);
        case ContextKind::CodeBlock:
            return context.language.empty() ? "inside code" : "inside `" + named(context.language) + "` code";
        case ContextKind::Feature:
            return "inside '" + named(context.name) + "'";
        case ContextKind::Always:
            break;
    }
    return "always";
}

bool operator==(const Prior& a, const Prior& b) {
    const auto plain = [](const Prior& p) {
        return std::tie(p.name, p.kind, p.task, p.promote, p.demote, p.policy, p.when, p.enabled, p.source, p.merged,
                        p.unknown, p.unusable, p.written, p.problems);
    };
    const double none = std::numeric_limits<double>::infinity();  // no η is infinite
    return plain(a) == plain(b) && sameDelta(a, b) && sameNumber(a.quality, b.quality) &&
           sameNumber(a.confidence, b.confidence) && sameNumber(a.deltaPlus, b.deltaPlus) &&
           sameNumber(a.deltaMinus, b.deltaMinus) && sameNumber(a.eta.value_or(none), b.eta.value_or(none));
}

Eta etaOf(const Prior& prior, std::optional<double> override) {
    const double q = prior.quality;
    Eta e;
    e.raw = q == 0   ? -std::numeric_limits<double>::infinity()
            : q == 1 ? std::numeric_limits<double>::infinity()
                     : std::log(q / (1 - q));
    const std::optional<double> given = override ? override : prior.eta;
    e.overridden = given && std::isfinite(*given);
    if (e.overridden) {
        e.eta = *given;
        return e;
    }
    e.off = !(q >= 0.5);
    e.capped = q > kMostQuality;
    e.eta = e.off ? 0 : e.capped ? kEtaCap : e.raw;
    return e;
}

}  // namespace counterpoint::compute
