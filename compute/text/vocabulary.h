#pragma once
// The table behind every tokenizer: id -> piece, bytes, flags; added tokens; BOS and EOS. Both readers (tokenizer.json
// and the module spm) fill one and leave all but encode() to VocabularyTokenizer. fingerprint = SHA-256 over size; per
// id: flags, length, bytes; per added token: id, special, length, content; bos; eos (integers little-endian, 64 bits).
// Thread: const methods from any thread.

#include <string>
#include <unordered_map>
#include <vector>

#include "compute/export.h"
#include "compute/text/tokenizer.h"

namespace counterpoint::compute {

struct Vocabulary {
    struct Entry {
        std::string piece;   ///< as the files name it
        std::string bytes;   ///< what it adds to a text; empty for control tokens
        bool token = false;  ///< false: a hole in the ids
        bool control = false;
    };
    std::vector<Entry> entries;     ///< [size]
    std::vector<AddedToken> added;  ///< by id
    std::unordered_map<TokenId, std::string>
        first;  ///< bytes at the start of a text, where the rule below gives others
    bool dropsLeadingSpace = false;
    bool addsBos = false;
    std::optional<TokenId> bos, eos;
    std::vector<TokenId> before, after;  ///< what the template puts around a text
};

/// What a model directory's tokenizer_config.json and special_tokens_map.json say; absent keys are nothing.
struct SpecialTokens {
    std::optional<std::string> bos, eos;
    std::optional<bool> addBos;
    std::string where;  ///< the file that said so
};
COUNTERPOINT_API SpecialTokens readSpecialTokens(const std::filesystem::path& directory);
/// Sets bos, eos and addsBos (and BOS in `before`) from the directory's files, which win over the tokenizer's own; BOS
/// and EOS become control tokens. Errors: a name that is no token.
COUNTERPOINT_API void applySpecialTokens(Vocabulary& vocabulary, const SpecialTokens& special);

class COUNTERPOINT_API VocabularyTokenizer : public Tokenizer {
  public:
    explicit VocabularyTokenizer(Vocabulary vocabulary);
    ~VocabularyTokenizer() override;
    std::int64_t size() const override { return static_cast<std::int64_t>(m_vocabulary.entries.size()); }
    std::string_view bytes(TokenId id) const override;
    std::string_view firstBytes(TokenId id) const override;
    std::string piece(TokenId id) const override;
    bool isToken(TokenId id) const override;
    bool isControl(TokenId id) const override;
    bool dropsLeadingSpace() const override { return m_vocabulary.dropsLeadingSpace; }
    std::optional<TokenId> bos() const override { return m_vocabulary.bos; }
    std::optional<TokenId> eos() const override { return m_vocabulary.eos; }
    bool addsBos() const override { return m_vocabulary.addsBos; }
    std::span<const TokenId> before() const override { return m_vocabulary.before; }
    std::span<const TokenId> after() const override { return m_vocabulary.after; }
    std::span<const AddedToken> addedTokens() const override { return m_vocabulary.added; }
    std::string fingerprint() const override { return m_fingerprint; }

  private:
    Vocabulary m_vocabulary;
    std::string m_fingerprint;
    bool inside(TokenId id) const { return id >= 0 && id < size(); }
};

}  // namespace counterpoint::compute
