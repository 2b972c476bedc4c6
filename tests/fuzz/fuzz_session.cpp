// A session: what is read is read again, equal, from what is written of it, here and in another folder.
#include "compute/dial.h"
#include "model/session.h"
#include "tests/fuzz/fuzz.h"

using namespace counterpoint;
using namespace counterpoint::fuzz;

namespace {

void checkBounds(const model::Session& session) {
    const model::Decoding& d = session.decoding;
    const std::pair<const char*, double> values[] = {{"temperature", d.temperature},
                                                     {"top_k", static_cast<double>(d.topK)},
                                                     {"top_p", d.topP},
                                                     {"min_p", d.minP},
                                                     {"floor", d.floor},
                                                     {"max_new_tokens", static_cast<double>(d.maxNewTokens)},
                                                     {"kl_budget", d.klBudget.value_or(0)},
                                                     {"active_epsilon", d.activeEpsilon}};
    for (const auto& [name, value] : values) compute::requireInBounds(compute::dial(name), value);
    if (d.plausibility) compute::requireInBounds(compute::dial("plausibility"), d.plausibility->value);
}

/// Every path leads to the same place from where the session is saved.
void checkPaths(const model::Session& session, const model::Session& moved) {
    const auto same = [&](const std::string& a, const std::string& b) {
        require(a.empty() == b.empty() && (a.empty() || session.resolve(a) == moved.resolve(b)),
                "a path leads to the same place from another folder", a);
    };
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        same(session.source(i).path, moved.source(i).path);
        same(session.source(i).tokenizer, moved.source(i).tokenizer);
    }
    for (std::size_t i = 0; i < session.priors.size(); ++i) same(session.priors[i].bank, moved.priors[i].bank);
}

void check(const model::Session& session, const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) requireSentence(warning);
    checkBounds(session);
    const std::string text = model::toJson(session).dump(2);
    std::vector<std::string> again;
    const model::Session same = model::sessionFromJson(compute::parseOrderedJson(text, "again"), session.file, again);
    require(same == session, "a session comes back", text);
    require(again.size() == warnings.size(), "its warnings come back", text);
    require(model::toJson(same).dump(2) == text, "it is written the same");

    const compute::Recipe recipe = model::toRecipe(session, {2, 3}, 1);
    require(recipe.specialists.size() == session.specialists.size(), "every specialist is a term");
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        session.uses(i);
        session.sourceKey(i);
    }
    require(model::alignedTo(session, session.sourceNames()).has_value(), "a session fits its own rack");

    const std::filesystem::path other = folder().path() / "below" / "moved.session.json";
    checkPaths(session, model::rebased(session, other));
    model::writeSession(session, other);
    std::vector<std::string> moved;
    require(model::readSession(other, moved) == model::rebased(session, other), "a saved session comes back", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const bool made = std::filesystem::create_directory(folder().path() / "below");
    require(made, "a folder below can be made");
    const std::filesystem::path file = folder().put("x.session.json", asText(data, size));
    accepts([&] {
        std::vector<std::string> warnings;
        const model::Session session = model::readSession(file, warnings);
        check(session, warnings);
    });
    return 0;
}
