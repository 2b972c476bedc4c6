#pragma once
// The tokenizer that a GGUF file carries: tokens, kinds, scores or merges, BOS and EOS.
//   tokenizer.ggml.model "llama"  SentencePiece's BPE by score, with byte tokens ("▁" for a space; a dummy prefix space
//                                 unless add_space_prefix says no)
//   tokenizer.ggml.model "gpt2"   byte-level BPE; tokenizer.ggml.pre names how a text is split before
// Control tokens are found in a text only where control tokens are asked for, user-defined ones always. Ids whose token
// is "[PAD<id>]" are holes. Any other model or split is refused by its name (HAZARDS A14), and so is a table that is
// short of its lists, has a token of no known type or one text for two tokens. Thread: the tokenizer's const methods
// from any thread. Errors: Error naming the file and the key.

#include <memory>
#include <string>
#include <vector>

#include "compute/files/gguf.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

COUNTERPOINT_API std::shared_ptr<const Tokenizer> openGgufTokenizer(const Gguf& gguf);

/// The stop set (HAZARDS A8): tokenizer.ggml.eos_token_id, eot_token_id and eom_token_id, sorted. One that the
/// vocabulary does not have is left out with a notice, which is appended, and so is a tokenizer.ggml.bos_token_id.
COUNTERPOINT_API std::vector<TokenId> ggufStopIds(const Gguf& gguf, const Tokenizer& tokenizer,
                                                  std::vector<std::string>& notices);

}  // namespace counterpoint::compute
