// R8: what the entries of a prior become with one tokenizer.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "compute/error.h"
#include "compute/printable.h"
#include "compute/priors/prior.h"
#include "compute/text/tokenlabel.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

std::string inQuotes(std::string_view text) { return '"' + printable(shortened(text)) + '"'; }

bool takesSpace(Policy policy) { return policy == Policy::SingleTokenSpace || policy == Policy::FirstTokenSpace; }
bool takesFirst(Policy policy) { return policy == Policy::FirstToken || policy == Policy::FirstTokenSpace; }

/// What ids add to a text when none of them is its first.
std::string spelled(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
    std::string text;
    for (const TokenId id : ids) text += tokenizer.bytes(id);
    return text;
}

/// The ids of `text` as it stands inside a longer one; empty where the tokenizer has none that spell it. Alone it would
/// get a tokenizer's own blank: then it is encoded without its blank, or behind something short that stays apart.
std::vector<TokenId> idsInside(const Tokenizer& tokenizer, const std::string& text) {
    std::vector<TokenId> ids = tokenizer.encode(text);
    if (spelled(tokenizer, ids) == text) return ids;
    if (text.starts_with(' ')) {
        ids = tokenizer.encode(std::string_view(text).substr(1));
        if (spelled(tokenizer, ids) == text) return ids;
    }
    for (const std::string before : {"\n", ".", ")", "a"}) {
        const std::vector<TokenId> alone = tokenizer.encode(before);
        ids = tokenizer.encode(before + text);
        if (ids.size() <= alone.size() || !std::equal(alone.begin(), alone.end(), ids.begin())) continue;
        ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(alone.size()));
        if (spelled(tokenizer, ids) == text) return ids;
    }
    return {};
}

/// Why a text has no ids.
std::string unspelled(const Tokenizer& tokenizer, const std::string& text) {
    const std::vector<TokenId> ids = tokenizer.encode(text);
    if (ids.empty()) return "the tokenizer makes nothing of it";
    return "no tokens of this tokenizer spell it, it becomes " + tokenLabels(tokenizer, ids);
}

/// A control token of that name: a text is never one.
std::string controlAdvice(const Tokenizer& tokenizer, const std::string& text) {
    for (const AddedToken& added : tokenizer.addedTokens())
        if (added.content == text) return "; it is the name of id " + std::to_string(added.id) + ", which can be given";
    return {};
}

class Resolver {
  public:
    Resolver(const Prior& prior, const IdSpace& space) : m_prior(prior), m_space(space) {}

    Factor run() {
        const double c = m_prior.confidence;
        for (const PriorEntry& entry : m_prior.promote) add(entry, Side::Promote, c * m_prior.deltaPlus);
        for (const PriorEntry& entry : m_prior.demote) add(entry, Side::Demote, -c * m_prior.deltaMinus);
        for (const auto& [id, delta] : m_prior.delta) add({.text = {}, .id = id}, Side::Delta, delta);
        settle();
        report();
        reportContext();
        return std::move(m_factor);
    }

  private:
    enum class Side { Promote, Demote, Delta };
    struct Hit {
        TokenId token;
        std::size_t entry;  ///< of Factor::entries
        Side side;
        double delta;
    };
    const Prior& m_prior;
    const IdSpace& m_space;
    Factor m_factor;
    std::vector<Hit> m_hits;

    void add(const PriorEntry& entry, Side side, double delta) {
        Became& became = m_factor.entries.emplace_back();
        became.entry = entry.id == kNoToken ? entry.text : std::to_string(entry.id);
        if (entry.id == kNoToken)
            takeText(entry.text, became);
        else
            takeId(entry.id, became);
        if (became.problem.empty()) m_hits.push_back({became.token, m_factor.entries.size() - 1, side, delta});
    }

    void takeId(TokenId id, Became& became) const {
        const std::string label = "id " + std::to_string(id);
        if (m_space.foreignIds)
            became.problem = label + " is an id of another tokenizer, which the bank was made for.";
        else if (id < 0 || (m_space.size >= 0 && id >= m_space.size))
            became.problem = label + " is outside the vocabulary" +
                             (m_space.size >= 0 ? " of " + std::to_string(m_space.size) + " ids." : ".");
        else if (m_space.tokenizer != nullptr && !m_space.tokenizer->isToken(id))
            became.problem = label + " is no token of this tokenizer.";
        else
            became.token = id;
    }

    void takeText(const std::string& text, Became& became) const {
        const auto refuse = [&](const std::string& why) { became.problem = inQuotes(text) + ' ' + why + '.'; };
        if (m_prior.policy == Policy::ExactId) {
            TokenId id = kNoToken;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            if (!digits) return refuse("is no id, which the policy \"exact id\" asks for");
            if (error != std::errc() || end != text.data() + text.size())
                return refuse("is larger than any token's id");
            return takeId(id, became);
        }
        if (m_space.tokenizer == nullptr) return refuse("cannot become a token without a tokenizer: give its id");
        if (text.empty()) return refuse("is empty, and so is no token");
        if (!utf8::isValid(text)) return refuse("is not valid UTF-8");
        try {
            takeTokens(text, became);
        } catch (const Error& error) {
            became.problem = Error({.where = inQuotes(text), .what = error.sentence()}).sentence();
        }
    }

    void takeTokens(const std::string& text, Became& became) const {
        const Tokenizer& tokenizer = *m_space.tokenizer;
        const std::string_view policy = policyName(m_prior.policy);
        const bool bare = takesSpace(m_prior.policy) && !text.starts_with(' ');  // written with its blank it has one
        const std::string whole = (bare ? " " : "") + text;
        const std::vector<TokenId> ids = idsInside(tokenizer, whole);
        if (ids.empty()) {
            became.problem = inQuotes(text) + " cannot become a token by the policy \"" + std::string(policy) +
                             "\": " + unspelled(tokenizer, whole) + controlAdvice(tokenizer, text) + '.';
        } else if (ids.size() > 1 && !takesFirst(m_prior.policy)) {
            became.problem = inQuotes(text) + " is " + std::to_string(ids.size()) + " tokens by the policy \"" +
                             std::string(policy) + "\", " + tokenLabels(tokenizer, ids) +
                             controlAdvice(tokenizer, text) + "; choose a policy that takes the first, or give an id.";
        } else {
            takeId(ids.front(), became, text);
        }
    }

    /// A token that a text became may still lie outside of what a source has.
    void takeId(TokenId id, Became& became, const std::string& text) const {
        if (m_space.size >= 0 && id >= m_space.size)
            became.problem = inQuotes(text) + " is id " + std::to_string(id) + ", outside the vocabulary of " +
                             std::to_string(m_space.size) + " ids.";
        else
            became.token = id;
    }

    /// One Δ a token, ascending.
    void settle() {
        std::sort(m_hits.begin(), m_hits.end(),
                  [](const Hit& a, const Hit& b) { return std::pair(a.token, a.entry) < std::pair(b.token, b.entry); });
        for (auto from = m_hits.begin(); from != m_hits.end();) {
            const auto to = std::find_if(from, m_hits.end(), [&](const Hit& hit) { return hit.token != from->token; });
            settle(std::span(from, to));
            from = to;
        }
    }

    void settle(std::span<const Hit> hits) {
        const auto of = [&](Side side) {
            return std::find_if(hits.begin(), hits.end(), [&](const Hit& hit) { return hit.side == side; });
        };
        const auto final = of(Side::Delta);
        const bool both = of(Side::Promote) != hits.end() && of(Side::Demote) != hits.end();
        const Hit* counts = final != hits.end() ? &*final : both ? nullptr : &hits.front();
        for (const Hit& hit : hits) {
            if (&hit == counts) continue;
            if (counts == nullptr)
                refuse(hit, "is promoted and demoted at once, so it does neither");
            else if (hit.side != counts->side)
                refuse(hit, "has an explicit delta, which is final: the list adds nothing to it");
            else
                refuse(hit, "stands twice and counts once");
        }
        if (counts == nullptr) return;
        if (counts->delta == 0) return refuse(*counts, "has a delta of 0, so it is not in the support");
        if (!(std::abs(counts->delta) <= kMostDelta))
            return refuse(*counts, std::isfinite(counts->delta) ? "has a delta beyond 1e30, so it does not act"
                                                                : "has a delta that is not finite, so it does not act");
        m_factor.entries[counts->entry].delta = counts->delta;
        m_factor.tokens.push_back(counts->token);
        m_factor.delta.push_back(counts->delta);
    }

    void refuse(const Hit& hit, const std::string& why) {
        Became& became = m_factor.entries[hit.entry];
        const std::string id = "id " + std::to_string(hit.token);
        became.problem = (became.entry == std::to_string(hit.token) ? id : inQuotes(became.entry) + " (" + id + ")") +
                         ' ' + why + '.';
    }

    /// The first id of the context that no text can have.
    void reportContext() {
        if (m_prior.when.kind != ContextKind::Tokens) return;
        for (const TokenId id : m_prior.when.ids) {
            Became became;
            takeId(id, became);
            if (became.problem.empty()) continue;
            m_factor.neverMatches = true;
            m_factor.problems.push_back("Its context never matches: " + became.problem);
            return;
        }
    }

    void report() {
        constexpr std::size_t kTold = 20;
        std::size_t n = 0;
        for (const Became& became : m_factor.entries)
            if (!became.problem.empty() && ++n <= kTold) m_factor.problems.push_back(became.problem);
        if (n > kTold)
            m_factor.problems.push_back(std::to_string(n - kTold) + " more entries do not act as they are written.");
        if (m_factor.tokens.empty() && !m_factor.entries.empty())
            m_factor.problems.push_back("None of its entries acts, so the support is empty.");
    }
};

}  // namespace

Factor resolve(const Prior& prior, const IdSpace& ids) {
    return prior.unusable ? Factor{} : Resolver(prior, ids).run();
}

}  // namespace counterpoint::compute
