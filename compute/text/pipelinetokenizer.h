#pragma once
// A tokenizer as a chain of parts, which is what a tokenizer.json and a GGUF file describe: added tokens are cut out of
// the text, the rest is normalized, cut again, split into words, and each word becomes ids by the model. Thread: const
// methods from any thread. Errors (encode): a text that is not UTF-8, and what the model says.

#include <memory>
#include <string>

#include "compute/text/addedtokens.h"
#include "compute/text/components.h"
#include "compute/text/vocabulary.h"
#include "compute/text/wordmodel.h"

namespace counterpoint::compute {

struct PipelineParts {
    std::unique_ptr<const WordModel> model;
    Normalizer normalizer;
    PreTokenizer preTokenizer;
    AddedTokenSplitter raw;         ///< added tokens looked for before normalizing
    AddedTokenSplitter normalized;  ///< and after
};

class PipelineTokenizer final : public VocabularyTokenizer {
  public:
    PipelineTokenizer(Vocabulary vocabulary, PipelineParts parts, std::string where)
        : VocabularyTokenizer(std::move(vocabulary)), m_parts(std::move(parts)), m_where(std::move(where)) {}
    std::vector<TokenId> encode(std::string_view utf8, EncodeOptions options) const override;

  private:
    PipelineParts m_parts;
    std::string m_where;
    void encodeNormalized(const Word& normalized, EncodeOptions options, std::vector<TokenId>& ids) const;
};

}  // namespace counterpoint::compute
