#pragma once
// A token for eyes, in tables and sentences: what it adds to a text, not how its vocabulary spells it ("Ġz" is "␣z").
// Thread: any. Errors: none.

#include <string>

#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

/// Spaces as "␣", line ends "↵", tabs "⇥", control tokens by name, bytes that are no text "<0xE2>"; "id 310" where the
/// tokenizer has no such token.
COUNTERPOINT_API std::string tokenLabel(const Tokenizer& tokenizer, TokenId token);

/// Tokens in a sentence: "␣the" "y", six of them at most; with its id where the label is another token's too, or may be
/// one: a control token, bytes that are no text, a byte of a byte fallback.
COUNTERPOINT_API std::string tokenLabels(const Tokenizer& tokenizer, std::span<const TokenId> tokens);

}  // namespace counterpoint::compute
