#pragma once
// What a tokenizer must keep on every text: shared by the targets of tokenizer.json and GGUF.

#include <array>

#include "compute/text/tokenizer.h"
#include "compute/text/utf8stream.h"
#include "tests/fuzz/fuzz.h"

namespace counterpoint::fuzz {

/// Spaces, digits, marks that compose, scripts, a family emoji, the paragraph separator, what looks like control tokens
/// (HAZARDS A14, A24, A28).
inline constexpr std::array<std::string_view, 8> kTexts = {
    "",
    "Once upon a time, there's 12345.",
    "   Title\n\t/roadmaps !!!  ",
    "e\u0301\u00e9 \u212b \ufb01 \u0130\u0307 \u1e9b\u0323",
    "\u4e2d\u6587 \u0e20\u0e32\u0e29\u0e32 \u0939\u093f\u0928\u094d\u0926\u0940 \u202eabc",
    "\U0001F468\u200d\U0001F469\u200d\U0001F467 \u2029\u00a0\u2581x\u0120",
    "<s>a</s> <unk> <0x0A> [PAD7] <|endoftext|> ab  ab",
    std::string_view("a\0b \x7f", 5)};

struct TokenizerRules {
    bool lossless = false;  ///< decode(encode(text)) is the text
    std::optional<compute::TokenId> unknown;
};

inline void checkIds(const compute::Tokenizer& tokenizer, const std::vector<compute::TokenId>& ids) {
    std::string whole, streamed;
    compute::Utf8Stream stream;
    bool first = true;
    for (const compute::TokenId id : ids) {
        require(tokenizer.isToken(id), "an encoded id is a token");
        if (tokenizer.isControl(id)) {
            require(tokenizer.bytes(id).empty(), "a control token adds nothing to a text");
            continue;
        }
        const std::string_view bytes = first ? tokenizer.firstBytes(id) : tokenizer.bytes(id);
        first = false;
        whole += bytes;
        streamed += stream.push(bytes);
    }
    streamed += stream.finish();
    require(whole == tokenizer.decode(ids), "a text is its tokens' bytes", whole);
    require(streamed == compute::toValidUtf8(whole), "a streamed text is the whole", streamed);
}

inline void checkTexts(const compute::Tokenizer& tokenizer, const TokenizerRules& rules) {
    for (const std::string_view text : kTexts)
        accepts([&] {
            const std::vector<compute::TokenId> ids = tokenizer.encode(text, {});
            require(ids == tokenizer.encode(text, {}), "a text gives the same ids twice", text);
            checkIds(tokenizer, ids);
            for (const compute::TokenId id : ids)
                require(!tokenizer.isControl(id) || id == rules.unknown, "plain text gives no control token", text);
            if (rules.lossless) require(tokenizer.decode(ids) == text, "a byte-level text comes back", text);
            checkIds(tokenizer, tokenizer.encode(text, {.controlTokens = true}));
        });
}

inline void checkVocabulary(const compute::Tokenizer& tokenizer) {
    const auto size = static_cast<compute::TokenId>(tokenizer.size());
    const auto isId = [&](compute::TokenId id) { return id >= 0 && id < size; };
    for (compute::TokenId id = 0; id < size; ++id) {
        if (tokenizer.isControl(id)) require(tokenizer.bytes(id).empty(), "a control token has no bytes");
        require(tokenizer.isToken(id) || tokenizer.bytes(id).empty(), "a hole has no bytes");
        tokenizer.piece(id);
        tokenizer.firstBytes(id);
    }
    for (const auto& id : {tokenizer.bos(), tokenizer.eos()})
        require(!id || (isId(*id) && tokenizer.isControl(*id)), "BOS and EOS are control tokens");
    require(!tokenizer.addsBos() || tokenizer.bos(), "who adds BOS has one");
    for (const auto& ids : {tokenizer.before(), tokenizer.after()})
        for (const compute::TokenId id : ids) require(tokenizer.isToken(id), "a template is made of tokens");
    for (const compute::AddedToken& token : tokenizer.addedTokens())
        require(tokenizer.isToken(token.id), "an added token is a token", token.content);
    require(!tokenizer.isToken(-1) && !tokenizer.isToken(size), "ids end at the size");
}

}  // namespace counterpoint::fuzz
