#pragma once
// Tokenizer: text <-> ids, with the bytes of every token kept. Three readers behind one interface: tokenizer.json
// (BPE or Unigram), tokenizer.model (module spm), and ids only (a recording without a tokenizer). The decode of a
// sequence is the concatenation of token bytes with the model's own rule for the first piece (a SentencePiece dummy
// prefix space is dropped once, at the start of the text). Thread: const methods from any thread. Errors: Error naming
// the file and the component that is not supported.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/export.h"
#include "compute/step.h"

namespace counterpoint::compute {

struct AddedToken {
    TokenId id = kNoToken;
    std::string content;
    bool special = false;
    bool lstrip = false, rstrip = false, normalized = false, singleWord = false;
};

struct EncodeOptions {
    bool controlTokens = false;  ///< false: text that looks like a control token is ordinary text (HAZARDS A24)
};

class COUNTERPOINT_API Tokenizer {
  public:
    virtual ~Tokenizer();
    /// Number of ids with a token; ids are 0..size()-1 (an id without a token inside has isToken(id) false).
    virtual std::int64_t size() const = 0;
    /// Ordinary text to ids, without BOS or EOS.
    virtual std::vector<TokenId> encode(std::string_view utf8, EncodeOptions options = {}) const = 0;
    /// Raw bytes the token adds to a text when it is not first; empty for control tokens.
    virtual std::string_view bytes(TokenId id) const = 0;
    /// The same for the first token of a text that is no control token: bytes() without the tokenizer's own space.
    virtual std::string_view firstBytes(TokenId id) const;
    /// For eyes: the piece as the vocabulary names it ("▁the", "Ġthe", "<0x0A>", "</s>"); "[id 310]" when there is
    /// none.
    virtual std::string piece(TokenId id) const = 0;
    virtual bool isToken(TokenId id) const = 0;
    virtual bool isControl(TokenId id) const = 0;
    /// true: the space that the first piece of a text carries is the tokenizer's own and not part of the text.
    virtual bool dropsLeadingSpace() const = 0;
    virtual std::optional<TokenId> bos() const = 0;
    virtual std::optional<TokenId> eos() const = 0;
    /// What the tokenizer's files say about adding BOS before a text.
    virtual bool addsBos() const = 0;
    /// What the tokenizer's template puts before and after a text, BOS first where addsBos(); encode() adds none of it.
    virtual std::span<const TokenId> before() const { return {}; }
    virtual std::span<const TokenId> after() const { return {}; }
    virtual std::span<const AddedToken> addedTokens() const = 0;
    /// SHA-256 over the id -> bytes map, added tokens and special ids; equal fingerprints = composable.
    virtual std::string fingerprint() const = 0;

    /// Bytes of a whole sequence (control tokens give nothing; the leading-space rule applied).
    std::string decode(std::span<const TokenId> ids) const;
};

/// tokenizer.json, else tokenizer.model (through the module spm), with tokenizer_config.json's special tokens, in a
/// model directory.
COUNTERPOINT_API std::shared_ptr<const Tokenizer> openTokenizer(const std::filesystem::path& directory);
/// BPE (byte-level, with byte fallback, or plain) or Unigram from a tokenizer.json.
COUNTERPOINT_API std::shared_ptr<const Tokenizer> openTokenizerJson(const std::filesystem::path& file);

}  // namespace counterpoint::compute
