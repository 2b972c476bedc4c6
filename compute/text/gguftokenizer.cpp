#include "compute/text/gguftokenizer.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "compute/error.h"
#include "compute/printable.h"
#include "compute/text/bpe.h"
#include "compute/text/bytelevel.h"
#include "compute/text/ggufsplits.h"
#include "compute/text/leftout.h"
#include "compute/text/pipelinetokenizer.h"
#include "compute/text/scoredbpe.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";
constexpr std::size_t kMaxSize = 4'000'000;  ///< above this a count is a mistake, not a vocabulary

constexpr int kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6;  // 5 is unused, as normal here

const std::string kKey = "tokenizer.ggml.";

/// How writers say that there is no such token.
bool isNone(std::int64_t id) { return id == 0xFFFFFFFF || id == -1; }

std::string withSpaces(const std::string& piece) { return replaced(piece, occurrences(piece, kSpaceMark), " "); }

std::string inQuotes(std::string_view text) { return std::string("'").append(shortened(text)).append("'"); }

/// "77" for 77.0.
std::string plain(double number) {
    const bool whole = std::abs(number) < 1e15 && number == std::floor(number);
    return whole ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number);
}

/// The tables of the file, checked for their lengths.
struct Tables {
    explicit Tables(const Gguf& gguf) : tokens(gguf.texts(kKey + "tokens")) {
        if (tokens.empty())
            gguf.fail("there is no tokenizer in this file", "the key " + kKey + "tokens", {},
                      "convert the model again with its tokenizer");
        if (tokens.size() > kMaxSize)
            gguf.fail("the vocabulary is too large", "at most " + std::to_string(kMaxSize) + " tokens",
                      std::to_string(tokens.size()));
        for (const double kind : gguf.numbers(kKey + "token_type")) {
            // llama.cpp takes any other for a token without a text, which is not what a file means that has one.
            if (!(kind >= kNormal && kind <= kByte && kind == std::floor(kind)))
                gguf.fail("token " + std::to_string(kinds.size()) + " is of no known type",
                          "1 to 6 in " + kKey + "token_type", plain(kind));
            kinds.push_back(static_cast<int>(kind));
        }
        if (kinds.empty()) kinds.assign(tokens.size(), kNormal);
        scores = gguf.numbers(kKey + "scores");
        requireLength(gguf, "token_type", kinds.size());
        requireOnce(gguf);
        if (!scores.empty()) requireLength(gguf, "scores", scores.size());
        if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); }))
            gguf.fail("a score in " + kKey + "scores is not a finite number");
    }
    void requireLength(const Gguf& gguf, const std::string& key, std::size_t found) const {
        if (found != tokens.size())
            gguf.fail("the list " + kKey + key + " does not fit the tokens", std::to_string(tokens.size()) + " entries",
                      std::to_string(found));
    }
    /// A text names one token, as llama.cpp insists on too; no text is no name.
    void requireOnce(const Gguf& gguf) const {
        std::unordered_map<std::string_view, std::size_t> first;
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (const auto [at, fresh] = first.emplace(tokens[i], i); !fresh && !tokens[i].empty())
                gguf.fail("tokens " + std::to_string(at->second) + " and " + std::to_string(i) + " have one text", {},
                          inQuotes(tokens[i]), "convert the model again");
    }
    std::vector<std::string_view> tokens;
    std::vector<int> kinds;
    std::vector<double> scores;
};

class Builder {
  public:
    explicit Builder(const Gguf& gguf) : m_gguf(gguf), m_tables(gguf) {}

    std::shared_ptr<const Tokenizer> build() {
        const std::string model = m_gguf.text(kKey + "model").value_or("");
        if (model == "llama") return scored();
        if (model == "gpt2") return byteLevel();
        m_gguf.fail("this kind of tokenizer is not supported", kKey + "model 'llama' or 'gpt2'",
                    model.empty() ? "none" : inQuotes(model));
    }

  private:
    const Gguf& m_gguf;
    Tables m_tables;
    Vocabulary m_vocabulary;
    std::array<TokenId, 256> m_bytes{};

    /// bytesOf: of a normal piece.
    template <class F>
    void fillVocabulary(F bytesOf) {
        m_bytes.fill(kNoToken);
        for (std::size_t i = 0; i < m_tables.tokens.size(); ++i) {
            const std::string piece(m_tables.tokens[i]);
            const auto id = static_cast<TokenId>(i);
            const int kind = m_tables.kinds[i];
            Vocabulary::Entry entry{
                .piece = piece, .bytes = {}, .token = true, .control = kind == kControl || kind == kUnknown};
            if (!utf8::isValid(piece)) m_gguf.fail("token " + std::to_string(i) + " is not valid UTF-8");
            if (kind != kNormal && piece == std::string("[PAD").append(std::to_string(i)).append("]")) {
                entry = {.piece = {}, .bytes = {}, .token = false, .control = false};
            } else if (kind == kByte) {
                const int byte = byteOf(piece);
                if (byte < 0)
                    m_gguf.fail("token " + std::to_string(i) + " is a byte with another name", "<0x00> to <0xFF>",
                                inQuotes(piece));
                m_bytes[static_cast<std::size_t>(byte)] = id;
                entry.bytes = std::string(1, static_cast<char>(byte));
            } else if (kind == kUserDefined) {
                entry.bytes = withSpaces(piece);
            } else if (!entry.control) {
                entry.bytes = bytesOf(piece);
            }
            if (entry.control || (entry.token && kind == kUserDefined)) {
                if (piece.empty()) m_gguf.fail("token " + std::to_string(i) + " has no name");
                AddedToken added;
                added.id = id;
                added.content = entry.control ? piece : entry.bytes;
                added.special = entry.control;
                m_vocabulary.added.push_back(std::move(added));
            }
            m_vocabulary.entries.push_back(std::move(entry));
        }
    }

    static int byteOf(const std::string& piece) {
        constexpr std::string_view digits = "0123456789ABCDEF";
        if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
        const std::size_t high = digits.find(piece[3]), low = digits.find(piece[4]);
        return high == std::string_view::npos || low == std::string_view::npos ? -1 : static_cast<int>(high * 16 + low);
    }

    /// Nothing where the file states none, and where the vocabulary has none of that id (ggufStopIds() says so).
    std::optional<TokenId> idAt(const std::string& name) const {
        const std::int64_t id = m_gguf.integer(kKey + name).value_or(-1);
        const bool token = id >= 0 && id < static_cast<std::int64_t>(m_vocabulary.entries.size()) &&
                           m_vocabulary.entries[static_cast<std::size_t>(id)].token;
        return token ? std::optional(static_cast<TokenId>(id)) : std::nullopt;
    }

    /// What stands for a text that the vocabulary cannot tell; one that is no token is not left out.
    std::optional<TokenId> unknown() const {
        const std::string key = kKey + "unknown_token_id";
        const std::optional<TokenId> id = idAt("unknown_token_id");
        const std::int64_t stated = m_gguf.integer(key).value_or(-1);
        if (!id && !isNone(stated))
            m_gguf.fail("the key " + key + " is no token", "0 to " + std::to_string(m_tables.tokens.size() - 1),
                        std::to_string(stated));
        return id;
    }

    /// BOS and EOS are control tokens, of whatever kind the file calls them: without bytes, found in a text only where
    /// control tokens are asked for. (llama.cpp finds one that the file calls normal in no text; the folder the file
    /// was made from has it among its added tokens, and the two must compose.)
    void setSpecial(bool addsBos) {
        m_vocabulary.bos = idAt("bos_token_id");
        m_vocabulary.eos = idAt("eos_token_id");
        for (const std::optional<TokenId>& id : {m_vocabulary.bos, m_vocabulary.eos}) {
            if (!id) continue;
            Vocabulary::Entry& entry = m_vocabulary.entries[static_cast<std::size_t>(*id)];
            entry.control = true;
            entry.bytes.clear();
            auto& added = m_vocabulary.added;
            const auto there =
                std::find_if(added.begin(), added.end(), [&](const AddedToken& token) { return token.id == *id; });
            if (there != added.end()) {
                there->special = true;
            } else if (!entry.piece.empty()) {
                added.emplace_back().id = *id;
                added.back().content = entry.piece;
                added.back().special = true;
            }
        }
        m_vocabulary.addsBos = m_vocabulary.bos && m_gguf.flag(kKey + "add_bos_token").value_or(addsBos);
        if (m_vocabulary.addsBos) m_vocabulary.before = {*m_vocabulary.bos};
    }

    std::shared_ptr<const Tokenizer> finish(PipelineParts parts) {
        std::vector<std::string> contents;
        for (const AddedToken& token : m_vocabulary.added) contents.push_back(token.content);
        parts.raw = {m_vocabulary.added, std::move(contents)};
        return std::make_shared<PipelineTokenizer>(std::move(m_vocabulary), std::move(parts), m_gguf.where());
    }

    std::shared_ptr<const Tokenizer> scored() {
        if (m_tables.scores.empty()) m_gguf.fail("the tokenizer has no scores", "the key " + kKey + "scores");
        if (m_gguf.flag(kKey + "remove_extra_whitespaces").value_or(false))
            m_gguf.fail("this tokenizer removes white space, which is not supported", "remove_extra_whitespaces false",
                        "true");
        fillVocabulary([](const std::string& piece) { return withSpaces(piece); });
        setSpecial(true);
        const bool prefix = m_gguf.flag(kKey + "add_space_prefix").value_or(true);
        m_vocabulary.dropsLeadingSpace = prefix;
        std::vector<ScoredBpe::Piece> pieces;
        for (std::size_t i = 0; i < m_tables.tokens.size(); ++i) {
            const Vocabulary::Entry& entry = m_vocabulary.entries[i];
            if (!entry.token || entry.control || m_tables.kinds[i] == kByte || entry.piece.empty()) continue;
            pieces.push_back({entry.piece, static_cast<TokenId>(i), static_cast<float>(m_tables.scores[i])});
        }
        // As SentencePiece: the prefix stands before every stretch of ordinary text.
        const auto escape = [prefix](Word& word) {
            const std::string escaped = replaced(word.text, occurrences(word.text, " "), kSpaceMark);
            word.text = std::string(prefix ? kSpaceMark : "").append(escaped);
        };
        return finish(
            {.model = std::make_unique<const ScoredBpe>(m_gguf.where(), std::move(pieces), m_bytes, unknown()),
             .normalizer = escape,
             .preTokenizer = [](std::vector<Word> words) { return words; },
             .raw = {},
             .normalized = {}});
    }

    std::shared_ptr<const Tokenizer> byteLevel() {
        const GgufSplit& split = findGgufSplit(m_gguf, m_gguf.text(kKey + "pre").value_or(""));
        if (m_gguf.flag(kKey + "add_space_prefix").value_or(false))
            m_gguf.fail("this byte-level tokenizer adds a space before a text, which is not supported",
                        "add_space_prefix false", "true");
        fillVocabulary([](const std::string& piece) { return bytelevel::decode(piece); });
        setSpecial(split.addsBos);
        auto bpe = std::make_unique<Bpe>(
            m_gguf.where(),
            BpeOptions{.byteFallback = false, .ignoreMerges = split.ignoreMerges, .fuseUnknown = false, .unknown = {}});
        fillMerges(*bpe);
        const Json parts = parseJson(split.json, m_gguf.where());
        return finish({.model = std::move(bpe),
                       .normalizer = readNormalizer(parts[0], m_gguf.where()),
                       .preTokenizer = readPreTokenizer(parts[1], m_gguf.where()),
                       .raw = {},
                       .normalized = {}});
    }

    void fillMerges(Bpe& bpe) const {
        const std::vector<std::string_view> merges = m_gguf.texts(kKey + "merges");
        if (merges.empty()) m_gguf.fail("the tokenizer has no merges", "the key " + kKey + "merges");
        bpe.reserve(m_tables.tokens.size(), merges.size());
        std::vector<bool> blocked;
        for (std::size_t i = 0; i < m_tables.tokens.size(); ++i) {
            const Vocabulary::Entry& entry = m_vocabulary.entries[i];
            // User-defined tokens are plain text, not words of the byte alphabet.
            blocked.push_back(!entry.token || entry.control || m_tables.kinds[i] == kUserDefined);
            if (entry.token) bpe.addPiece(entry.piece, static_cast<TokenId>(i));
        }
        for (const std::string_view merge : merges) {
            const std::size_t space =
                merge.find(' ', 1);  // a piece may be a space in no byte alphabet, but never empty
            if (space == std::string_view::npos)
                m_gguf.fail("a merge is not two pieces with one space between", {}, inQuotes(merge));
            bpe.addMerge(merge.substr(0, space), merge.substr(space + 1));
        }
        bpe.block(blocked);
    }
};

}  // namespace

std::shared_ptr<const Tokenizer> openGgufTokenizer(const Gguf& gguf) { return Builder(gguf).build(); }

std::vector<TokenId> ggufStopIds(const Gguf& gguf, const Tokenizer& tokenizer, std::vector<std::string>& notices) {
    std::set<TokenId> ids;
    for (const char* name : {"eos_token_id", "eot_token_id", "eom_token_id", "bos_token_id"}) {
        const auto id = gguf.integer(kKey + name);
        if (!id || isNone(*id)) continue;
        const bool token = *id >= 0 && *id < tokenizer.size() && tokenizer.isToken(static_cast<TokenId>(*id)),
                   begins = name == std::string_view("bos_token_id");
        if (!token)
            notices.push_back(
                (begins ? bosLeftOut : stopIdLeftOut)(gguf.where(), kKey + name, std::to_string(*id), tokenizer));
        else if (!begins)
            ids.insert(static_cast<TokenId>(*id));
    }
    return {ids.begin(), ids.end()};
}

}  // namespace counterpoint::compute
