// Decoders of a tokenizer.json, each as what one piece adds to a text, so that a text can be shown while it grows.
#include "compute/error.h"
#include "compute/text/bytelevel.h"
#include "compute/text/components.h"
#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

using Step = std::function<std::string(const std::string& piece)>;

/// "<0x0A>" is the byte 0A, anything else stays as it is.
std::string fallbackByte(const std::string& piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return piece;
    unsigned byte = 0;
    for (const char c : {piece[3], piece[4]}) {
        const bool digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'F', lower = c >= 'a' && c <= 'f';
        if (!digit && !upper && !lower) return piece;
        byte = byte * 16 + static_cast<unsigned>(digit ? c - '0' : upper ? c - 'A' + 10 : c - 'a' + 10);
    }
    return std::string(1, static_cast<char>(byte));
}

/// The spaces that WordPiece's clean-up takes away, in its order.
std::string cleanedUp(std::string text) {
    constexpr std::pair<std::string_view, std::string_view> changes[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : changes) text = replaced(text, occurrences(text, from), to);
    return text;
}

/// The decoders of a Sequence, one after the other. A byte stands alone until ByteFallback's own end, so that after it
/// only Fuse and a Strip of the whole text are exact.
class DecoderReader {
  public:
    explicit DecoderReader(std::string where) : m_where(std::move(where)) {}
    Decoder decoder{.bytes = same, .first = same, .byteLevel = false, .dropsLeadingSpace = false};

    void add(const Json& component) {
        const std::string type = componentType(component, m_where);
        if (type == "Sequence") {
            for (const Json& part : listField(component, "decoders", m_where)) add(part);
        } else if (type == "Fuse") {
            m_fused = true;
        } else if (m_fused && type == "Strip") {
            addStripOfText(component);
        } else if (m_fused || m_bytes) {
            refuseComponent(m_where, "decoder " + type + " after " + (m_fused ? "Fuse or ByteLevel" : "ByteFallback"));
        } else if (type == "ByteLevel") {
            decoder.byteLevel = m_fused = true;
            then(bytelevel::decode);
        } else if (type == "ByteFallback") {
            m_bytes = true;
            then(fallbackByte);
        } else {
            addPiecewise(type, component);
        }
    }

  private:
    std::string m_where;
    bool m_fused = false;
    bool m_bytes = false;

    static std::string same(const std::string& piece) { return piece; }
    Step chain(Step before, Step step) const {
        return [before = std::move(before), step = std::move(step), where = m_where](const std::string& piece) {
            std::string text = step(before(piece));
            requireGrowth(piece.size(), text.size(), where);
            return text;
        };
    }
    void then(const Step& step) { then(step, step); }
    void then(Step step, Step first) {
        decoder.bytes = chain(std::move(decoder.bytes), std::move(step));
        decoder.first = chain(std::move(decoder.first), std::move(first));
    }

    void addPiecewise(const std::string& type, const Json& component) {
        if (type == "Replace") {
            then([replace = readReplace(component, m_where)](const std::string& piece) {
                Word word{.text = piece, .atStart = false};
                replace(word);
                return word.text;
            });
        } else if (type == "Metaspace") {
            addMetaspace(component);
        } else if (type == "Strip") {
            addStripOfPieces(component);
        } else if (type == "WordPiece") {
            decoder.dropsLeadingSpace = true;
            const std::string prefix = stringField(component, "prefix", "##", m_where);
            const Step clean = boolField(component, "cleanup", true, m_where) ? Step(cleanedUp) : Step(same);
            then(chain(
                     [prefix](const std::string& piece) {
                         return piece.starts_with(prefix) ? piece.substr(prefix.size()) : " " + piece;
                     },
                     clean),
                 clean);
        } else {
            refuseComponent(m_where, "decoder " + type);
        }
    }

    /// Where the tokenizer puts a mark before a text, the first piece loses all its marks.
    void addMetaspace(const Json& component) {
        const std::string mark = metaspaceMark(component, m_where);
        const bool old = boolField(component, "add_prefix_space", true, m_where);
        const bool keeps = stringField(component, "prepend_scheme", old ? "always" : "never", m_where) == "never";
        const auto with = [mark](const char* content) {
            return [mark, content](const std::string& piece) {
                return replaced(piece, occurrences(piece, mark), content);
            };
        };
        then(with(" "), with(keeps ? " " : ""));
        decoder.dropsLeadingSpace = !keeps;
    }

    void addStripOfPieces(const Json& component) {
        const std::string content = stringField(component, "content", "", m_where);
        const std::size_t start = countField(component, "start", 0, m_where);
        const std::size_t stop = countField(component, "stop", 0, m_where);
        if (content.empty()) throw Error({.where = m_where, .what = "decoder Strip has no content"});
        then([=](const std::string& piece) {
            std::string_view text = piece;
            for (std::size_t i = 0; i < start && text.starts_with(content); ++i) text.remove_prefix(content.size());
            for (std::size_t i = 0; i < stop && text.ends_with(content); ++i) text.remove_suffix(content.size());
            return std::string(text);
        });
    }

    void addStripOfText(const Json& component) {
        const std::size_t start = countField(component, "start", 0, m_where);
        const std::string content = stringField(component, "content", "", m_where);
        if (countField(component, "stop", 0, m_where) != 0 || start > 1 || content != " ")
            refuseComponent(m_where, "decoder Strip of anything but one space at the start");
        if (start == 0) return;
        decoder.dropsLeadingSpace = true;
        decoder.first = chain(std::move(decoder.first), [](const std::string& piece) {
            return piece.starts_with(' ') ? piece.substr(1) : piece;
        });
    }
};

}  // namespace

Decoder readDecoder(const Json& component, const std::string& where) {
    if (component.is_null())
        return {.bytes = [](const std::string& piece) { return " " + piece; },
                .first = [](const std::string& piece) { return piece; },
                .byteLevel = false,
                .dropsLeadingSpace = true};
    DecoderReader reader(where);
    reader.add(component);
    return std::move(reader.decoder);
}

}  // namespace counterpoint::compute
