#include "compute/text/pipelinetokenizer.h"

#include "compute/error.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {

std::vector<TokenId> PipelineTokenizer::encode(std::string_view text, EncodeOptions options) const {
    if (!utf8::isValid(text)) throw Error({.where = m_where, .what = "the text to encode is not valid UTF-8"});
    std::vector<TokenId> ids;
    for (const AddedTokenSplitter::Part& part : m_parts.raw.split(text, options.controlTokens)) {
        if (part.id != kNoToken) {
            ids.push_back(part.id);
            continue;
        }
        Word word{.text = std::string(part.text), .atStart = part.text.data() == text.data()};
        m_parts.normalizer(word);
        encodeNormalized(word, options, ids);
    }
    return ids;
}

void PipelineTokenizer::encodeNormalized(const Word& normalized, EncodeOptions options,
                                         std::vector<TokenId>& ids) const {
    for (const AddedTokenSplitter::Part& part : m_parts.normalized.split(normalized.text, options.controlTokens)) {
        if (part.id != kNoToken) {
            ids.push_back(part.id);
            continue;
        }
        const bool atStart = normalized.atStart && part.text.data() == normalized.text.data();
        for (const Word& word : m_parts.preTokenizer({{std::string(part.text), atStart}}))
            m_parts.model->encode(word.text, ids);
    }
}

}  // namespace counterpoint::compute
