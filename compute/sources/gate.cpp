// The compatibility gate (HAZARDS A2): logits are added by id, so an id must mean the same everywhere.
#include <algorithm>
#include <functional>
#include <map>

#include "compute/error.h"
#include "compute/sources/source.h"
#include "compute/text/tokenlabel.h"

namespace counterpoint::compute {
namespace {

struct Side {
    const std::string& name;
    const Tokenizer& tokenizer;
};

std::string show(const Tokenizer& tokenizer, TokenId id) {
    return '\'' + tokenLabel(tokenizer, id) + (tokenizer.isControl(id) ? "' (control)" : "'");
}

bool sameMeaning(const Side& a, const Side& b, TokenId id) {
    const bool token = a.tokenizer.isToken(id);
    if (token != b.tokenizer.isToken(id) || a.tokenizer.isControl(id) != b.tokenizer.isControl(id)) return false;
    if (a.tokenizer.bytes(id) != b.tokenizer.bytes(id)) return false;
    // Control tokens have no bytes; what tells them apart is their name.
    return !token || !a.tokenizer.isControl(id) || a.tokenizer.piece(id) == b.tokenizer.piece(id);
}

/// "id 100 is 'the' in 'base' and 'cat' in 'math', id 101 …" for the first three that differ; "" when all agree.
std::string firstDifferences(const Side& a, const Side& b, TokenId from, TokenId to) {
    std::string text;
    int shown = 0;
    for (TokenId id = from; id < to; ++id) {
        if (sameMeaning(a, b, id)) continue;
        if (++shown > 3) return text + " and more";
        text += (text.empty() ? "id " : ", id ") + std::to_string(id) + " is " + show(a.tokenizer, id) + " in '" +
                a.name + "' and " + show(b.tokenizer, id) + " in '" + b.name + "'";
    }
    return text;
}

std::string idText(const std::optional<TokenId>& id) { return id ? std::to_string(*id) : "none"; }

std::map<TokenId, std::pair<std::string, bool>> addedOf(const Tokenizer& tokenizer) {
    std::map<TokenId, std::pair<std::string, bool>> added;
    for (const AddedToken& token : tokenizer.addedTokens()) added[token.id] = {token.content, token.special};
    return added;
}

using Refuse = std::function<void(const std::string& what, const std::string& advice)>;

/// Recordings answer for their own text only: it must be one text, the shorter a beginning of the longer.
void requireOneText(const Source& base, const Source& other, const Refuse& refuse) {
    const std::span<const TokenId> a = base.recorded(), b = other.recorded();
    if (a.empty() || b.empty()) return;
    const std::size_t common = std::min(a.size(), b.size());
    const auto differing = std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(common), b.begin()).first;
    const auto at = static_cast<std::size_t>(differing - a.begin());
    if (at < common)
        refuse("they are recordings of different texts: token " + std::to_string(at) + " is id " +
                   std::to_string(a[at]) + " in one and id " + std::to_string(b[at]) + " in the other",
               "record both over the same tokens");
}

/// Without a tokenizer on one side ids are all there is to compare.
void requireSameIds(const std::string& baseName, const Source& base, const std::string& otherName, const Source& other,
                    const Refuse& refuse) {
    if ((base.tokenizer() == nullptr) != (other.tokenizer() == nullptr))
        refuse("nothing says what the ids of '" + (base.tokenizer() == nullptr ? baseName : otherName) +
                   "' mean, since it has no tokenizer",
               "give its entry in the session a \"tokenizer\"");
    if (base.info().logitWidth != other.info().logitWidth)
        refuse("'" + baseName + "' has " + std::to_string(base.info().logitWidth) + " ids, '" + otherName + "' " +
                   std::to_string(other.info().logitWidth),
               "compose sources that share one vocabulary");
}

}  // namespace

std::vector<std::string> requireComposable(const std::string& baseName, const Source& base,
                                           const std::string& otherName, const Source& other) {
    const auto refuseFor = [&](const std::string& what, const std::string& advice) {
        throw Error({.where = "sources '" + baseName + "' and '" + otherName + "'",
                     .what = "they cannot be composed: " + what,
                     .advice = advice});
    };
    requireOneText(base, other, refuseFor);
    const auto tokenizerA = base.tokenizer(), tokenizerB = other.tokenizer();
    if (tokenizerA == nullptr || tokenizerB == nullptr) {
        requireSameIds(baseName, base, otherName, other, refuseFor);
        return {};
    }
    const Side a{baseName, *tokenizerA}, b{otherName, *tokenizerB};
    const auto refuse = [&](const std::string& what) { refuseFor(what, "compose models that share one tokenizer"); };
    std::vector<std::string> notices;
    const std::int64_t sizeA = a.tokenizer.size(), sizeB = b.tokenizer.size();
    const auto common = static_cast<TokenId>(std::min(sizeA, sizeB));
    const std::string differing = firstDifferences(a, b, 0, common);
    if (!differing.empty()) refuse(differing);
    // A longer table may only hold padding: ids without a token.
    const Side& longer = sizeA > sizeB ? a : b;
    for (TokenId id = common; id < static_cast<TokenId>(std::max(sizeA, sizeB)); ++id)
        if (longer.tokenizer.isToken(id))
            refuse("'" + longer.name + "' has a token " + show(longer.tokenizer, id) + " at id " + std::to_string(id) +
                   ", the other ends at " + std::to_string(common - 1));
    if (a.tokenizer.bos() != b.tokenizer.bos())
        refuse("BOS is id " + idText(a.tokenizer.bos()) + " in one and id " + idText(b.tokenizer.bos()) +
               " in the other");
    if (a.tokenizer.eos() != b.tokenizer.eos())
        refuse("EOS is id " + idText(a.tokenizer.eos()) + " in one and id " + idText(b.tokenizer.eos()) +
               " in the other");
    const auto addedA = addedOf(a.tokenizer), addedB = addedOf(b.tokenizer);
    for (const auto* side : {&addedA, &addedB})
        for (const auto& [id, token] : *side) {
            const auto& others = side == &addedA ? addedB : addedA;
            const auto it = others.find(id);
            if (id < common && (it == others.end() || it->second != token))
                refuse("the added token '" + token.first + "' (id " + std::to_string(id) + ") is not the same in both");
        }
    if (a.tokenizer.dropsLeadingSpace() != b.tokenizer.dropsLeadingSpace())
        notices.push_back("'" + baseName + "' and '" + otherName +
                          "' treat the space before a text differently; the base's rule is used.");
    return notices;
}

}  // namespace counterpoint::compute
