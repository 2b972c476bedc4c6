// tokenizer.json: normalizer, pre-tokenizer, BPE or Unigram model, decoder, added tokens.
#include <algorithm>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/printable.h"
#include "compute/text/bpe.h"
#include "compute/text/pipelinetokenizer.h"
#include "compute/text/tokenizertables.h"
#include "compute/text/unigram.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

/// Above this an id is a mistake, not a vocabulary (the largest of today has 262,144); so is one far above the number
/// of tokens, which would make a small file take much memory.
constexpr std::int64_t kMaxSize = 4'000'000, kHoles = 65'536, kHolesPerToken = 16;

class Reader {
  public:
    explicit Reader(const fs::path& file) : m_where(file.string()) {
        const std::string text = readFile(file);
        if (auto flat = readTokenizerTables(text)) {
            try {
                m_json = parseJson(flat->rest, m_where);
                m_tables = std::move(*flat);
                m_flat = true;
                return;
            } catch (const Error&) {  // said of the file as it is, below
            }
        }
        m_json = parseJson(text, m_where);
    }

    std::shared_ptr<const Tokenizer> read(const SpecialTokens& special) {
        if (!m_json.is_object() || !m_json.contains("model") || !m_json["model"].is_object())
            fail("this is not a tokenizer.json: it has no object 'model'");
        const Json& model = m_json["model"];
        const std::string type = typeOf(model);
        m_decoder = readDecoder(part("decoder"), m_where);
        m_vocabulary.dropsLeadingSpace = m_decoder.dropsLeadingSpace;
        Normalizer normalizer = readNormalizer(part("normalizer"), m_where);
        PreTokenizer preTokenizer = readPreTokenizer(part("pre_tokenizer"), m_where);

        const std::int64_t pieces = m_flat ? static_cast<std::int64_t>(m_tables.vocab.size()) : count(model, "vocab");
        m_tokens = pieces + count(m_json, "added_tokens");
        m_idLimit = std::min(kMaxSize, kHoles + kHolesPerToken * m_tokens);
        type == "BPE" ? readPieces(model) : readScoredPieces(model);
        if (m_vocabulary.entries.empty()) fail("the vocabulary is empty");
        readAdded();
        readSurroundings();
        applySpecialTokens(m_vocabulary, special);
        PipelineParts parts{.model = type == "BPE" ? bpe(model) : unigram(model),
                            .normalizer = normalizer,
                            .preTokenizer = std::move(preTokenizer),
                            .raw = splitter(false, normalizer),
                            .normalized = splitter(true, normalizer)};
        return std::make_shared<PipelineTokenizer>(std::move(m_vocabulary), std::move(parts), m_where);
    }

  private:
    std::string m_where;
    Json m_json;
    TokenizerTables m_tables;  ///< of BPE
    bool m_flat = false;       ///< the tables were read without a tree, and m_json has empty ones
    std::int64_t m_tokens = 0, m_idLimit = kHoles;
    Decoder m_decoder;
    Vocabulary m_vocabulary;
    std::vector<UnigramPiece> m_scored;

    [[noreturn]] void fail(std::string what) const { throw Error({.where = m_where, .what = std::move(what)}); }
    Json part(const char* name) const { return m_json.contains(name) ? m_json[name] : Json(); }

    static std::int64_t count(const Json& in, const char* key) {
        const auto list = in.find(key);
        return list == in.end() ? 0 : static_cast<std::int64_t>(list->size());
    }

    /// Absent in older files: BPE has merges, Unigram a list of pieces.
    std::string typeOf(const Json& model) const {
        const bool scored = model.contains("vocab") && model["vocab"].is_array() && !model.contains("merges");
        const std::string type = stringField(model, "type", scored ? "Unigram" : "BPE", m_where);
        if (type == "Unigram") return type;
        if (type != "BPE") refuseComponent(m_where, "model " + type);
        for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (!stringField(model, key, "", m_where).empty())
                refuseComponent(m_where, std::string("model BPE with ") + key);
        const Json dropout = model.value("dropout", Json());
        if (!dropout.is_null() && dropout != 0.0) refuseComponent(m_where, "model BPE with dropout");
        return type;
    }

    TokenId idFrom(const Json& value, const std::string& piece) const {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(m_idLimit))
            failId(piece, shortened(value.dump(-1, ' ', true)));
        return static_cast<TokenId>(value.get<std::uint64_t>());
    }
    [[noreturn]] void failId(const std::string& piece, std::string found) const {
        throw Error({.where = m_where,
                     .what = "the id of token '" + piece + "' cannot be used",
                     .expected = "a whole number from 0 to " + std::to_string(m_idLimit - 1) +
                                 ", which is enough for " + std::to_string(m_tokens) + " tokens",
                     .found = std::move(found)});
    }

    Vocabulary::Entry& entry(TokenId id) {
        const auto index = static_cast<std::size_t>(id);
        if (index >= m_vocabulary.entries.size()) m_vocabulary.entries.resize(index + 1);
        return m_vocabulary.entries[index];
    }

    /// Fills the entry of `id`; `plain`: the text is no piece in the decoder's alphabet.
    void fill(Vocabulary::Entry& slot, TokenId id, const std::string& text, bool plain, bool control) {
        slot = {.piece = text, .bytes = plain ? text : m_decoder.bytes(text), .token = true, .control = control};
        if (control) slot.bytes.clear();
        const std::string first = control ? "" : plain ? text : m_decoder.first(text);
        const bool drops = m_vocabulary.dropsLeadingSpace && slot.bytes.starts_with(' ');
        if (std::string_view(slot.bytes).substr(drops ? 1 : 0) != first) m_vocabulary.first[id] = first;
    }

    void readPieces(const Json& model) {
        const auto vocab = model.find("vocab");
        if (vocab == model.end() || !vocab->is_object()) fail("the model has no object 'vocab'");
        if (!m_flat)
            for (const auto& [piece, value] : vocab->items()) m_tables.vocab.emplace_back(piece, idFrom(value, piece));
        for (const auto& [piece, id] : m_tables.vocab) {
            if (id >= m_idLimit) failId(piece, std::to_string(id));
            Vocabulary::Entry& slot = entry(id);
            if (slot.token)
                fail("the tokens '" + slot.piece + "' and '" + piece + "' have the same id " + std::to_string(id));
            fill(slot, id, piece, false, false);
        }
    }

    void readScoredPieces(const Json& model) {
        const auto vocab = model.find("vocab");
        if (vocab == model.end() || !vocab->is_array()) fail("the model has no list 'vocab'");
        for (const Json& pair : *vocab) {
            const auto id = static_cast<TokenId>(m_scored.size());
            if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_number())
                fail("entry " + std::to_string(id) + " of the vocabulary is not a piece and its score");
            if (id >= kMaxSize) fail("the vocabulary has more than " + std::to_string(kMaxSize) + " pieces");
            m_scored.push_back({pair[0].get<std::string>(), pair[1].get<double>()});
            fill(entry(id), id, m_scored.back().text, false, false);
        }
    }

    void readAdded() {
        const Json added = part("added_tokens");
        if (added.is_null()) return;
        if (!added.is_array()) fail("added_tokens is not a list");
        for (const Json& value : added) {
            if (!value.is_object() || !value.contains("id")) fail("an added token has no id");
            AddedToken token;
            token.content = stringField(value, "content", "", m_where);
            token.id = idFrom(value["id"], token.content);
            token.special = boolField(value, "special", false, m_where);
            token.lstrip = boolField(value, "lstrip", false, m_where);
            token.rstrip = boolField(value, "rstrip", false, m_where);
            token.normalized = boolField(value, "normalized", !token.special, m_where);
            token.singleWord = boolField(value, "single_word", false, m_where);
            if (token.content.empty()) fail("the added token " + std::to_string(token.id) + " has no content");
            add(token);
        }
    }

    void add(const AddedToken& token) {
        Vocabulary::Entry& slot = entry(token.id);
        if (slot.token && slot.piece != token.content)
            fail("the added token '" + token.content + "' has the id " + std::to_string(token.id) + " of '" +
                 slot.piece + "'");
        // Byte-level pieces are written in the byte alphabet, added tokens in plain text.
        fill(slot, token.id, token.content, m_decoder.byteLevel, token.special);
        m_vocabulary.added.push_back(token);
    }

    TokenId idOf(const Surroundings::Mark& mark) const {
        if (mark.id) {
            const auto index = static_cast<std::size_t>(*mark.id);
            if (*mark.id < 0 || index >= m_vocabulary.entries.size() || !m_vocabulary.entries[index].token)
                fail("the post_processor gives '" + mark.name + "' the id " + std::to_string(*mark.id) +
                     ", which is no token");
            return *mark.id;
        }
        const auto added = std::find_if(m_vocabulary.added.begin(), m_vocabulary.added.end(),
                                        [&](const AddedToken& token) { return token.content == mark.name; });
        if (added == m_vocabulary.added.end())
            fail("the post_processor names '" + mark.name + "', which is not an added token");
        return added->id;
    }

    void readSurroundings() {
        const Surroundings around = readPostProcessor(part("post_processor"), m_where);
        for (const Surroundings::Mark& mark : around.before) m_vocabulary.before.push_back(idOf(mark));
        for (const Surroundings::Mark& mark : around.after) m_vocabulary.after.push_back(idOf(mark));
        m_vocabulary.addsBos = !m_vocabulary.before.empty();
        if (m_vocabulary.addsBos) m_vocabulary.bos = m_vocabulary.before.front();
    }

    BpeOptions optionsOf(const Json& model) const {
        BpeOptions options{.byteFallback = boolField(model, "byte_fallback", false, m_where),
                           .ignoreMerges = boolField(model, "ignore_merges", false, m_where),
                           .fuseUnknown = boolField(model, "fuse_unk", false, m_where),
                           .unknown = {}};
        const std::string unknown = stringField(model, "unk_token", "", m_where);
        if (unknown.empty()) return options;
        const auto found = std::find_if(m_tables.vocab.begin(), m_tables.vocab.end(),
                                        [&](const auto& entry) { return entry.first == unknown; });
        if (found == m_tables.vocab.end()) fail("unk_token '" + unknown + "' is not in the vocabulary");
        options.unknown = found->second;
        return options;
    }

    std::vector<bool> controls() const {
        std::vector<bool> control;
        for (const Vocabulary::Entry& e : m_vocabulary.entries) control.push_back(e.control);
        return control;
    }

    std::unique_ptr<const WordModel> bpe(const Json& model) {
        const auto merges = model.find("merges");
        if (merges == model.end() || !merges->is_array()) fail("the model has no list 'merges'");
        auto bpe = std::make_unique<Bpe>(m_where, optionsOf(model));
        if (!m_flat)
            for (const Json& merge : *merges) m_tables.merges.push_back(mergeFrom(merge));
        bpe->reserve(m_tables.vocab.size(), m_tables.merges.size());
        for (const auto& [piece, id] : m_tables.vocab) bpe->addPiece(piece, id);
        for (const auto& [left, right] : m_tables.merges) bpe->addMerge(left, right);
        bpe->block(controls());
        return bpe;
    }

    std::unique_ptr<const WordModel> unigram(const Json& model) {
        Unigram::Options options{.unknown = {}, .byteFallback = boolField(model, "byte_fallback", false, m_where)};
        const Json unknown = model.value("unk_id", Json());
        if (!unknown.is_null()) {
            if (!unknown.is_number_unsigned() || unknown.get<std::uint64_t>() >= m_scored.size())
                fail("unk_id is not the number of a piece of the vocabulary");
            options.unknown = unknown.get<TokenId>();
        }
        return std::make_unique<Unigram>(m_where, options, std::move(m_scored), controls());
    }

    std::pair<std::string, std::string> mergeFrom(const Json& merge) const {
        if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
            return {merge[0].get<std::string>(), merge[1].get<std::string>()};
        if (!merge.is_string()) fail("a merge is neither \"a b\" nor [\"a\", \"b\"]: " + shortened(merge.dump()));
        const std::string& text = merge.get_ref<const std::string&>();
        const auto split = splitMerge(text);
        if (!split) fail("the merge '" + shortened(text) + "' is not two pieces with one space between");
        return *split;
    }

    AddedTokenSplitter splitter(bool normalized, const Normalizer& normalizer) const {
        std::vector<AddedToken> tokens;
        std::vector<std::string> contents;
        for (const AddedToken& token : m_vocabulary.added) {
            if (token.normalized != normalized) continue;
            tokens.push_back(token);
            Word word{.text = token.content, .atStart = true};
            if (normalized) normalizer(word);
            contents.push_back(std::move(word.text));
        }
        return {std::move(tokens), std::move(contents)};
    }
};

}  // namespace

std::shared_ptr<const Tokenizer> openTokenizerJson(const fs::path& file) {
    const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
    return Reader(file).read(readSpecialTokens(directory));
}

}  // namespace counterpoint::compute
