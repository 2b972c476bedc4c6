// Normalizers and decoders of a tokenizer.json: text to text before the model, piece to bytes after it.
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include "compute/error.h"
#include "compute/text/bytelevel.h"
#include "compute/text/components.h"
#include "compute/text/pattern.h"

namespace counterpoint::compute {
namespace {

std::string replaceAll(const std::string& text, const std::string& from, const std::string& to) {
    std::string out;
    std::size_t at = 0;
    for (std::size_t hit; (hit = text.find(from, at)) != std::string::npos; at = hit + from.size()) {
        out.append(text, at, hit - at);
        out += to;
    }
    out.append(text, at);
    return out;
}

/// Replace{pattern: {String} or {Regex}, content}.
Normalizer readReplace(const Json& component, const std::string& where) {
    const std::string content = stringField(component, "content", "", where);
    const Json pattern = component.value("pattern", Json());
    if (pattern.is_object() && pattern.contains("String")) {
        const std::string from = stringField(pattern, "String", "", where);
        if (from.empty()) throw Error({.where = where, .what = "Replace has an empty pattern"});
        return [from, content](std::string text) { return replaceAll(text, from, content); };
    }
    if (!pattern.is_object() || !pattern.contains("Regex"))
        throw Error({.where = where, .what = "Replace has no pattern"});
    const Pattern regex(fromOniguruma(stringField(pattern, "Regex", "", where), where), where);
    return [regex, content](std::string text) {
        std::string out;
        std::size_t at = 0;
        for (const auto& [begin, end] : regex.matches(text)) {
            out.append(text, at, begin - at);
            out += content;
            at = end;
        }
        out.append(text, at);
        return out;
    };
}

Normalizer readUnicodeForm(const std::string& form, const std::string& where) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* normalizer = form == "NFC"    ? icu::Normalizer2::getNFCInstance(status)
                                         : form == "NFD"  ? icu::Normalizer2::getNFDInstance(status)
                                         : form == "NFKC" ? icu::Normalizer2::getNFKCInstance(status)
                                                          : icu::Normalizer2::getNFKDInstance(status);
    if (U_FAILURE(status)) throw Error({.where = where, .what = "ICU has no data for " + form});
    return [normalizer](std::string text) {
        UErrorCode failed = U_ZERO_ERROR;
        std::string out;
        normalizer->normalize(icu::UnicodeString::fromUTF8(text), failed).toUTF8String(out);
        return U_FAILURE(failed) ? text : out;
    };
}

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

/// The decoders of a Sequence, one after the other; Fuse ends what is done piece by piece, only a Strip of the text may
/// follow.
class DecoderReader {
  public:
    explicit DecoderReader(std::string where) : m_where(std::move(where)) {}
    Decoder decoder{
        .bytes = [](const std::string& piece) { return piece; }, .byteLevel = false, .dropsLeadingSpace = false};

    void add(const Json& component) {
        const std::string type = componentType(component, m_where);
        if (type == "Sequence") {
            for (const Json& part : component.value("decoders", Json::array())) add(part);
        } else if (type == "Strip") {
            addStrip(component);
        } else if (type == "Fuse") {
            m_fused = true;
        } else if (m_fused) {
            refuseComponent(m_where, "decoder " + type + " after Fuse");
        } else if (type == "ByteLevel") {
            decoder.byteLevel = true;
            then([](const std::string& piece) { return bytelevel::decode(piece); });
        } else if (type == "ByteFallback") {
            then(fallbackByte);
        } else if (type == "Replace") {
            const Normalizer replace = readReplace(component, m_where);
            then([replace](const std::string& piece) { return replace(piece); });
        } else if (type == "Metaspace") {
            const std::string mark = stringField(component, "replacement", "▁", m_where);
            then([mark](const std::string& piece) { return replaceAll(piece, mark, " "); });
            decoder.dropsLeadingSpace = stringField(component, "prepend_scheme", "always", m_where) != "never" &&
                                        boolField(component, "add_prefix_space", true, m_where);
        } else {
            refuseComponent(m_where, "decoder " + type);
        }
    }

  private:
    std::string m_where;
    bool m_fused = false;

    void then(std::function<std::string(const std::string&)> step) {
        decoder.bytes = [before = decoder.bytes, step = std::move(step)](const std::string& piece) {
            return step(before(piece));
        };
    }
    void addStrip(const Json& component) {
        const Json start = component.value("start", Json(0)), stop = component.value("stop", Json(0));
        if (stop != 0 || (start != 0 && start != 1) || component.value("content", Json()) != " ")
            refuseComponent(m_where, "decoder Strip of anything but one space at the start");
        if (!m_fused && start == 1) refuseComponent(m_where, "decoder Strip before Fuse");
        decoder.dropsLeadingSpace = decoder.dropsLeadingSpace || start == 1;
    }
};

}  // namespace

Normalizer readNormalizer(const Json& component, const std::string& where) {
    if (component.is_null()) return [](std::string text) { return text; };
    const std::string type = componentType(component, where);
    if (type == "Sequence") {
        std::vector<Normalizer> steps;
        for (const Json& part : component.value("normalizers", Json::array()))
            steps.push_back(readNormalizer(part, where));
        return [steps](std::string text) {
            for (const Normalizer& step : steps) text = step(std::move(text));
            return text;
        };
    }
    if (type == "Prepend") {
        const std::string prefix = stringField(component, "prepend", "", where);
        return [prefix](std::string text) { return text.empty() ? text : prefix + text; };
    }
    if (type == "Replace") return readReplace(component, where);
    if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") return readUnicodeForm(type, where);
    refuseComponent(where, "normalizer " + type);
}

Decoder readDecoder(const Json& component, const std::string& where) {
    if (component.is_null()) refuseComponent(where, "a tokenizer without a decoder");
    DecoderReader reader(where);
    reader.add(component);
    return std::move(reader.decoder);
}

}  // namespace counterpoint::compute
