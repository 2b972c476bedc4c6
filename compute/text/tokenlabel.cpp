#include "compute/text/tokenlabel.h"

#include <algorithm>

#include "compute/printable.h"
#include "compute/text/utf8stream.h"

namespace counterpoint::compute {
namespace {

std::string hexBytes(std::string_view bytes) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    std::string text;
    for (const char c : bytes) {
        const auto b = static_cast<unsigned char>(c);
        text += {'<', '0', 'x', kDigits[b >> 4], kDigits[b & 15], '>'};
    }
    return text;
}

std::string visible(std::string_view utf8) {
    std::string text;
    for (const char c : utf8) {
        const auto b = static_cast<unsigned char>(c);
        if (c == ' ')
            text += "␣";
        else if (c == '\n')
            text += "↵";
        else if (c == '\t')
            text += "⇥";
        else if (b < 0x20 || b == 0x7F)
            text += hexBytes({&c, 1});
        else
            text += c;
    }
    return text;
}

/// Bytes that a text can hold as they are.
bool isText(std::string_view bytes) { return !bytes.empty() && toValidUtf8(bytes) == bytes; }

}  // namespace

std::string tokenLabel(const Tokenizer& tokenizer, TokenId token) {
    if (!tokenizer.isToken(token)) return "id " + std::to_string(token);
    const std::string_view bytes = tokenizer.bytes(token);
    if (tokenizer.isControl(token) || bytes.empty()) return tokenizer.piece(token);
    return isText(bytes) ? visible(bytes) : hexBytes(bytes);
}

std::string tokenLabels(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
    constexpr std::size_t kShown = 6;
    const std::span<const TokenId> shown = tokens.first(std::min(tokens.size(), kShown));
    const auto isOthersToo = [&](TokenId token, const std::string& label) {
        return std::any_of(shown.begin(), shown.end(),
                           [&](TokenId other) { return other != token && tokenLabel(tokenizer, other) == label; });
    };
    std::string text;
    for (const TokenId token : shown) {
        const std::string label = tokenLabel(tokenizer, token);
        const bool named =
            tokenizer.isControl(token) || !isText(tokenizer.bytes(token)) || tokenizer.piece(token).starts_with("<0x");
        text += (text.empty() ? "\"" : " \"") + printable(shortened(label)) + '"';
        if (named || isOthersToo(token, label)) text += " (id " + std::to_string(token) + ')';
    }
    return tokens.size() > kShown ? text + " and " + std::to_string(tokens.size() - kShown) + " more" : text;
}

}  // namespace counterpoint::compute
