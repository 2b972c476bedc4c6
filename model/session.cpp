#include "model/session.h"

#include "compute/error.h"

#include <algorithm>

namespace counterpoint::model {

using compute::Error;
using compute::TokenId;

std::filesystem::path Session::resolve(const std::string& path) const {
    const std::filesystem::path given(path);
    if (given.is_absolute()) return given.lexically_normal();
    const std::filesystem::path folder =
        file.empty() ? std::filesystem::current_path() : std::filesystem::absolute(file).parent_path();
    return (folder / given).lexically_normal();
}

std::vector<std::string> Session::sourceNames() const {
    std::vector<std::string> names{base.name};
    for (const SourceEntry& s : specialists) names.push_back(s.name);
    return names;
}

int Session::referenceIndex(const SourceEntry& entry) const {
    if (entry.reference == "none") return compute::kReferenceNone;
    if (entry.reference == "base" || entry.reference == base.name) return 0;
    for (std::size_t i = 0; i < specialists.size(); ++i)
        if (specialists[i].name == entry.reference) return static_cast<int>(i) + 1;
    throw Error({.where = (file.empty() ? "" : file.string() + ", ") + "source '" + entry.name + "'",
                 .what = "its reference '" + entry.reference + "' is not in the rack",
                 .expected = "the name of a source, \"base\" or \"none\"",
                 .found = {},
                 .advice = {},
                 .details = {}});
}

bool Session::uses(std::size_t i) const {
    if (i == 0) return true;
    const auto counts = [](const SourceEntry& s) { return s.enabled && s.weight != 0.0; };
    if (counts(source(i))) return true;
    return std::any_of(specialists.begin(), specialists.end(), [&](const SourceEntry& s) {
        return counts(s) && referenceIndex(s) == static_cast<int>(i);
    });
}

std::string Session::sourceKey(std::size_t i) const {
    const SourceEntry& entry = source(i);
    std::string key = resolve(entry.path).string();
    for (const std::string& more : {entry.sourceInFile, entry.tokenizer.empty() ? entry.tokenizer : resolve(entry.tokenizer).string()})
        if (!more.empty()) key += "\n" + more;
    return key;
}

Decoding storedDials(Decoding decoding) {
    const Decoding defaults;
    decoding.maxNewTokens = defaults.maxNewTokens;
    decoding.addBos = defaults.addBos;
    decoding.scorePrompt = defaults.scorePrompt;
    decoding.unknown = defaults.unknown;
    return decoding;
}

compute::Recipe toRecipe(const Session& session, const std::vector<TokenId>& statedStopIds, std::uint64_t revision) {
    const Decoding& d = session.decoding;
    compute::Recipe recipe;
    recipe.revision = revision;
    recipe.rule = session.rule;
    recipe.sourceNames = session.sourceNames();
    for (std::size_t i = 0; i < session.specialists.size(); ++i) {
        const SourceEntry& s = session.specialists[i];
        compute::SpecialistTerm term{.name = s.name,
                                     .source = static_cast<int>(i) + 1,
                                     .reference = session.referenceIndex(s),
                                     .enabled = s.enabled,
                                     .weight = s.weight,
                                     .mask = s.mask};
        if (term.mask.tokens) {
            auto& tokens = *term.mask.tokens;
            std::sort(tokens.begin(), tokens.end());
            tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        }
        recipe.specialists.push_back(std::move(term));
    }
    recipe.eosPolicy = d.eosPolicy;
    recipe.stopIds = d.stopIds.value_or(statedStopIds);
    std::sort(recipe.stopIds.begin(), recipe.stopIds.end());
    recipe.stopIds.erase(std::unique(recipe.stopIds.begin(), recipe.stopIds.end()), recipe.stopIds.end());
    recipe.floor = d.floor;
    recipe.plausibility = d.plausibility;
    recipe.commonShift = d.commonShift;
    recipe.klBudget = d.klBudget;
    recipe.activeEpsilon = d.activeEpsilon;
    recipe.temperature = d.temperature;
    recipe.topK = d.topK;
    recipe.topP = d.topP;
    recipe.minP = d.minP;
    recipe.seed = d.seed;
    recipe.stream = d.stream;
    return recipe;
}

std::optional<Session> alignedTo(const Session& session, const std::vector<std::string>& sources) {
    Session aligned = session;
    aligned.base.name = sources.empty() ? session.base.name : sources.front();
    aligned.specialists.clear();
    std::vector<bool> found(session.specialists.size(), false);
    for (std::size_t i = 1; i < sources.size(); ++i) {
        const auto entry = std::find_if(session.specialists.begin(), session.specialists.end(),
                                        [&](const SourceEntry& s) { return s.name == sources[i]; });
        if (entry == session.specialists.end()) {
            SourceEntry gone;
            gone.name = sources[i];
            gone.enabled = false;
            aligned.specialists.push_back(std::move(gone));
            continue;
        }
        found[static_cast<std::size_t>(entry - session.specialists.begin())] = true;
        aligned.specialists.push_back(*entry);
        if (entry->reference == session.base.name) aligned.specialists.back().reference = "base";
    }
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!found[i] && session.uses(i + 1)) return std::nullopt;
    // A reference that has no row can only belong to a source without a say.
    for (SourceEntry& s : aligned.specialists) {
        const bool known = s.reference == "none" || s.reference == "base" ||
                           std::find(sources.begin(), sources.end(), s.reference) != sources.end();
        if (!known) s.reference = "base";
    }
    return aligned;
}

Session rebased(const Session& session, const std::filesystem::path& file) {
    Session moved = session;
    moved.file = std::filesystem::absolute(file).lexically_normal();
    const std::filesystem::path folder = moved.file.parent_path();
    const auto rebase = [&](std::string& path) {
        if (path.empty() || std::filesystem::path(path).is_absolute()) return;
        path = session.resolve(path).lexically_relative(folder).generic_string();
    };
    for (std::size_t i = 0; i < moved.sourceCount(); ++i) {
        rebase(moved.source(i).path);
        rebase(moved.source(i).tokenizer);
    }
    for (BankEntry& b : moved.priors) rebase(b.bank);
    return moved;
}

}  // namespace counterpoint::model
