#include "compute/text/spm/spmtokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/text/addedtokens.h"
#include "compute/text/utf8.h"
#include "compute/text/vocabulary.h"

namespace counterpoint::spm {
namespace {

using compute::Error;
using compute::TokenId;
using Processor = sentencepiece::SentencePieceProcessor;

constexpr std::string_view kSpaceMark = "\u2581";

std::string withSpaces(const std::string& piece) {
    std::string text;
    std::size_t at = 0;
    for (std::size_t hit; (hit = piece.find(kSpaceMark, at)) != std::string::npos; at = hit + kSpaceMark.size())
        text.append(piece, at, hit - at) += ' ';
    return text.append(piece, at);
}

std::string bytesOf(const Processor& processor, int id) {
    const std::string& piece = processor.IdToPiece(id);
    if (processor.IsControl(id) || processor.IsUnknown(id)) return {};
    if (!processor.IsByte(id)) return withSpaces(piece);
    for (unsigned byte = 0; byte < 256; ++byte) {
        constexpr const char* digits = "0123456789ABCDEF";
        if (piece == std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">")
            return std::string(1, static_cast<char>(byte));
    }
    return {};
}

/// What the model does with the space before a text, asked of the model itself.
bool addsDummyPrefix(const Processor& processor, const std::string& where) {
    std::vector<int> ids;
    if (!processor.Encode("x", &ids).ok())
        throw Error({.where = where, .what = "this SentencePiece model cannot encode a text"});
    std::string text;
    for (const int id : ids) text += bytesOf(processor, id);
    if (text.ends_with(' '))
        throw Error(
            {.where = where, .what = "this SentencePiece model puts the space after words, which is not supported"});
    return text.starts_with(' ');
}

compute::Vocabulary vocabularyOf(const Processor& processor, const std::string& where) {
    compute::Vocabulary vocabulary;
    for (int id = 0; id < processor.GetPieceSize(); ++id) {
        const bool control = processor.IsControl(id) || processor.IsUnknown(id);
        vocabulary.entries.push_back(
            {.piece = processor.IdToPiece(id), .bytes = bytesOf(processor, id), .token = true, .control = control});
        if (!control) continue;
        compute::AddedToken added;
        added.id = id;
        added.content = processor.IdToPiece(id);
        added.special = true;
        vocabulary.added.push_back(std::move(added));
    }
    vocabulary.dropsLeadingSpace = addsDummyPrefix(processor, where);
    const int bos = processor.bos_id(), eos = processor.eos_id();
    if (bos >= 0) vocabulary.bos = bos;
    if (eos >= 0) vocabulary.eos = eos;
    vocabulary.addsBos = bos >= 0;  // the rule of the Llama family, for which SentencePiece models are used here
    return vocabulary;
}

class SpmTokenizer final : public compute::VocabularyTokenizer {
  public:
    SpmTokenizer(compute::Vocabulary vocabulary, std::unique_ptr<Processor> processor, std::string where)
        : VocabularyTokenizer(std::move(vocabulary)), m_processor(std::move(processor)), m_where(std::move(where)) {
        std::vector<compute::AddedToken> tokens(addedTokens().begin(), addedTokens().end());
        std::vector<std::string> contents;
        for (const compute::AddedToken& token : tokens) contents.push_back(token.content);
        m_splitter = {std::move(tokens), std::move(contents)};
    }

    std::vector<TokenId> encode(std::string_view text, compute::EncodeOptions options) const override {
        if (!compute::utf8::isValid(text))
            throw Error({.where = m_where, .what = "the text to encode is not valid UTF-8"});
        std::vector<TokenId> ids;
        for (const compute::AddedTokenSplitter::Part& part : m_splitter.split(text, options.controlTokens)) {
            if (part.id != compute::kNoToken) {
                ids.push_back(part.id);
                continue;
            }
            std::vector<int> some;
            const auto status = m_processor->Encode(std::string(part.text), &some);
            if (!status.ok())
                throw Error({.where = m_where, .what = "the text cannot be encoded", .details = status.ToString()});
            ids.insert(ids.end(), some.begin(), some.end());
        }
        return ids;
    }

  private:
    std::unique_ptr<Processor> m_processor;
    std::string m_where;
    compute::AddedTokenSplitter m_splitter;
};

}  // namespace

std::shared_ptr<const compute::Tokenizer> open(const std::filesystem::path& model,
                                               const std::filesystem::path& directory) {
    const std::string where = model.string();
    const std::string bytes = compute::readFile(model);
    if (bytes.empty()) throw Error({.where = where, .what = "the file is empty", .advice = "download it again"});
    if (bytes.starts_with("version https://git-lfs"))
        throw Error({.where = where,
                     .what = "this is a Git LFS pointer, not the tokenizer",
                     .advice = "fetch the file itself with 'git lfs pull'"});
    auto processor = std::make_unique<Processor>();
    const auto status = processor->LoadFromSerializedProto(bytes);
    if (!status.ok() || processor->GetPieceSize() == 0)
        throw Error({.where = where,
                     .what = "this is not a SentencePiece model",
                     .advice = "download it again, or put the model's tokenizer.json beside it",
                     .details = status.ToString()});
    compute::Vocabulary vocabulary = vocabularyOf(*processor, where);
    compute::applySpecialTokens(vocabulary, compute::readSpecialTokens(directory));
    return std::make_shared<SpmTokenizer>(std::move(vocabulary), std::move(processor), where);
}

}  // namespace counterpoint::spm
