#include "widgets/dialbinding.h"

#include "compute/dial.h"
#include "compute/error.h"

namespace counterpoint::widgets {
namespace {

using model::Session;

struct Binding {
    std::string_view id;
    DialValue (*get)(const Session&);
    void (*set)(Session&, const DialValue&);
};

DialValue real(double x) { return {.real = x}; }
DialValue whole(std::uint64_t n) { return {.real = static_cast<double>(n), .integer = n}; }

constexpr Binding kBindings[] = {
    {"rule", [](const Session& s) { return real(static_cast<double>(s.rule)); },
     [](Session& s, const DialValue& v) { s.rule = static_cast<compute::Rule>(static_cast<int>(v.real)); }},
    {"temperature", [](const Session& s) { return real(s.decoding.temperature); },
     [](Session& s, const DialValue& v) { s.decoding.temperature = v.real; }},
    {"top_k", [](const Session& s) { return whole(static_cast<std::uint64_t>(s.decoding.topK)); },
     [](Session& s, const DialValue& v) { s.decoding.topK = static_cast<std::int64_t>(v.integer); }},
    {"top_p", [](const Session& s) { return real(s.decoding.topP); },
     [](Session& s, const DialValue& v) { s.decoding.topP = v.real; }},
    {"min_p", [](const Session& s) { return real(s.decoding.minP); },
     [](Session& s, const DialValue& v) { s.decoding.minP = v.real; }},
    {"eos_policy", [](const Session& s) { return real(static_cast<double>(s.decoding.eosPolicy)); },
     [](Session& s, const DialValue& v) {
         s.decoding.eosPolicy = static_cast<compute::EosPolicy>(static_cast<int>(v.real));
     }},
    {"plausibility",
     [](const Session& s) {
         DialValue v =
             real(s.decoding.plausibility ? s.decoding.plausibility->value : compute::dial("plausibility").initial);
         v.on = s.decoding.plausibility.has_value();
         if (v.on) v.choice = static_cast<int>(s.decoding.plausibility->kind);
         return v;
     },
     [](Session& s, const DialValue& v) {
         if (!v.on) return s.decoding.plausibility.reset();
         if (!s.decoding.plausibility) s.decoding.plausibility.emplace();
         s.decoding.plausibility->value = v.real;
         s.decoding.plausibility->kind = static_cast<compute::PlausibilityKind>(v.choice);
     }},
    {"floor", [](const Session& s) { return real(s.decoding.floor); },
     [](Session& s, const DialValue& v) { s.decoding.floor = v.real; }},
    {"common_shift", [](const Session& s) { return real(s.decoding.commonShift ? 1 : 0); },
     [](Session& s, const DialValue& v) { s.decoding.commonShift = v.real != 0; }},
    {"kl_budget",
     [](const Session& s) {
         DialValue v = real(s.decoding.klBudget.value_or(compute::dial("kl_budget").initial));
         v.on = s.decoding.klBudget.has_value();
         return v;
     },
     [](Session& s, const DialValue& v) { s.decoding.klBudget = v.on ? std::optional(v.real) : std::nullopt; }},
    {"active_epsilon", [](const Session& s) { return real(s.decoding.activeEpsilon); },
     [](Session& s, const DialValue& v) { s.decoding.activeEpsilon = v.real; }},
    {"seed", [](const Session& s) { return whole(s.decoding.seed); },
     [](Session& s, const DialValue& v) { s.decoding.seed = v.integer; }},
    {"stream", [](const Session& s) { return whole(s.decoding.stream); },
     [](Session& s, const DialValue& v) { s.decoding.stream = static_cast<std::uint32_t>(v.integer); }},
    {"max_new_tokens", [](const Session& s) { return whole(static_cast<std::uint64_t>(s.decoding.maxNewTokens)); },
     [](Session& s, const DialValue& v) { s.decoding.maxNewTokens = static_cast<std::int64_t>(v.integer); }},
};

const Binding& binding(std::string_view id) {
    for (const Binding& b : kBindings)
        if (b.id == id) return b;
    throw compute::Error({.where = "dial '" + std::string(id) + "'", .what = "the window knows no such dial"});
}

}  // namespace

DialValue dialValue(const Session& session, std::string_view id) { return binding(id).get(session); }

void setDialValue(Session& session, std::string_view id, const DialValue& value) {
    const compute::DialSpec& spec = compute::dial(id);
    if (value.on)
        compute::requireInBounds(
            spec, spec.kind == compute::DialKind::Integer ? static_cast<double>(value.integer) : value.real);
    binding(id).set(session, value);
}

}  // namespace counterpoint::widgets
