#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/text/spm/spmtokenizer.h"
#include "compute/text/utf8.h"

namespace counterpoint::spm {
namespace {

using compute::Error;

/// The lines of a text, empty ones left out. (By name the library would split the path at commas and write it into the
/// model.)
class Lines final : public sentencepiece::SentenceIterator {
  public:
    explicit Lines(std::string_view text) : m_rest(text) { Next(); }
    bool done() const override { return m_done; }
    void Next() override {
        m_done = true;
        while (m_done && !m_rest.empty()) {
            const std::size_t end = std::min(m_rest.find('\n'), m_rest.size());
            m_line = m_rest.substr(0, end);
            if (m_line.ends_with('\r')) m_line.pop_back();
            m_rest.remove_prefix(std::min(end + 1, m_rest.size()));
            m_done = m_line.empty();
        }
    }
    const std::string& value() const override { return m_line; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    std::string_view m_rest;
    std::string m_line;
    bool m_done = false;
};

}  // namespace

void train(const std::filesystem::path& text, const std::filesystem::path& outModel, int vocabularySize) {
    const std::string corpus = compute::readFile(text, std::uint64_t{2} << 30);
    if (!compute::utf8::isValid(corpus)) throw Error({.where = text.string(), .what = "the text is not valid UTF-8"});
    if (vocabularySize < 260)
        throw Error({.where = outModel.string(),
                     .what = "the vocabulary is too small",
                     .expected = "at least 260 (256 bytes and three control tokens)",
                     .found = std::to_string(vocabularySize)});
    Lines lines(corpus);
    std::string model;
    const std::unordered_map<std::string, std::string> arguments = {
        {"model_type", "bpe"},
        {"vocab_size", std::to_string(vocabularySize)},
        {"byte_fallback", "true"},
        {"normalization_rule_name", "identity"},
        {"remove_extra_whitespaces", "false"},
        {"character_coverage", "0.9999"},  // what is rarer than one in ten thousand goes by its bytes
        {"split_digits", "true"},
        {"unk_id", "0"},
        {"bos_id", "1"},
        {"eos_id", "2"},
        {"pad_id", "-1"},
        {"num_threads", "1"},
        {"shuffle_input_sentence", "false"},
        {"max_sentence_length", "1000000"},
        {"minloglevel", "2"},
    };
    const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &lines, &model);
    if (!status.ok() || model.empty())
        throw Error({.where = text.string(),
                     .what = "no vocabulary could be trained from this text",
                     .details = status.ToString()});
    compute::writeFile(outModel, model);
}

}  // namespace counterpoint::spm
