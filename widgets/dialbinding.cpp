#include "widgets/dialbinding.h"

#include "compute/dial.h"
#include "compute/error.h"

namespace counterpoint::widgets {
namespace {

using model::Decoding;

struct Binding {
    std::string_view id;
    DialValue (*get)(const Decoding&);
    void (*set)(Decoding&, const DialValue&);
};

DialValue real(double x) { return {.real = x}; }
DialValue whole(std::uint64_t n) { return {.real = static_cast<double>(n), .integer = n}; }

constexpr Binding kBindings[] = {
    {"temperature", [](const Decoding& d) { return real(d.temperature); },
     [](Decoding& d, const DialValue& v) { d.temperature = v.real; }},
    {"top_k", [](const Decoding& d) { return whole(static_cast<std::uint64_t>(d.topK)); },
     [](Decoding& d, const DialValue& v) { d.topK = static_cast<std::int64_t>(v.integer); }},
    {"top_p", [](const Decoding& d) { return real(d.topP); }, [](Decoding& d, const DialValue& v) { d.topP = v.real; }},
    {"min_p", [](const Decoding& d) { return real(d.minP); }, [](Decoding& d, const DialValue& v) { d.minP = v.real; }},
    {"eos_policy", [](const Decoding& d) { return real(static_cast<double>(d.eosPolicy)); },
     [](Decoding& d, const DialValue& v) { d.eosPolicy = static_cast<compute::EosPolicy>(static_cast<int>(v.real)); }},
    {"plausibility",
     [](const Decoding& d) {
         DialValue v = real(d.plausibility ? d.plausibility->value : compute::dial("plausibility").initial);
         v.on = d.plausibility.has_value();
         if (v.on) v.choice = static_cast<int>(d.plausibility->kind);
         return v;
     },
     [](Decoding& d, const DialValue& v) {
         if (!v.on) return d.plausibility.reset();
         if (!d.plausibility) d.plausibility.emplace();
         d.plausibility->value = v.real;
         d.plausibility->kind = static_cast<compute::PlausibilityKind>(v.choice);
     }},
    {"floor", [](const Decoding& d) { return real(d.floor); },
     [](Decoding& d, const DialValue& v) { d.floor = v.real; }},
    {"common_shift", [](const Decoding& d) { return real(d.commonShift ? 1 : 0); },
     [](Decoding& d, const DialValue& v) { d.commonShift = v.real != 0; }},
    {"kl_budget",
     [](const Decoding& d) {
         DialValue v = real(d.klBudget.value_or(compute::dial("kl_budget").initial));
         v.on = d.klBudget.has_value();
         return v;
     },
     [](Decoding& d, const DialValue& v) { d.klBudget = v.on ? std::optional(v.real) : std::nullopt; }},
    {"active_epsilon", [](const Decoding& d) { return real(d.activeEpsilon); },
     [](Decoding& d, const DialValue& v) { d.activeEpsilon = v.real; }},
    {"seed", [](const Decoding& d) { return whole(d.seed); },
     [](Decoding& d, const DialValue& v) { d.seed = v.integer; }},
    {"stream", [](const Decoding& d) { return whole(d.stream); },
     [](Decoding& d, const DialValue& v) { d.stream = static_cast<std::uint32_t>(v.integer); }},
    {"max_new_tokens", [](const Decoding& d) { return whole(static_cast<std::uint64_t>(d.maxNewTokens)); },
     [](Decoding& d, const DialValue& v) { d.maxNewTokens = static_cast<std::int64_t>(v.integer); }},
};

const Binding& binding(std::string_view id) {
    for (const Binding& b : kBindings)
        if (b.id == id) return b;
    throw compute::Error({.where = "dial '" + std::string(id) + "'", .what = "the window knows no such dial"});
}

}  // namespace

DialValue dialValue(const model::Session& session, std::string_view id) { return binding(id).get(session.decoding); }

void setDialValue(model::Session& session, std::string_view id, const DialValue& value) {
    const compute::DialSpec& spec = compute::dial(id);
    if (value.on)
        compute::requireInBounds(
            spec, spec.kind == compute::DialKind::Integer ? static_cast<double>(value.integer) : value.real);
    binding(id).set(session.decoding, value);
}

}  // namespace counterpoint::widgets
