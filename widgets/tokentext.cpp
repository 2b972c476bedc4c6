#include "widgets/tokentext.h"

#include "model/diagnostics.h"

namespace counterpoint::widgets {
namespace {

using Kind = TokenRun::Kind;

void append(TokenText& out, Kind kind, const QString& text) {
    if (!out.runs.empty() && out.runs.back().kind == kind)
        out.runs.back().text += text;
    else
        out.runs.push_back({kind, text});
}

/// Bytes of the well-formed character at `at`; 0 when there is none.
std::size_t characterAt(const std::string& bytes, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned lead = byte(at);
    const std::size_t n = lead < 0x80 ? 1 : lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (n == 0 || lead >= 0xF5 || at + n > bytes.size()) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(at + i) & 0xC0) != 0x80) return 0;
    return n;
}

QString hexOf(unsigned char byte) {
    return QStringLiteral("%1").arg(static_cast<unsigned>(byte), 2, 16, QLatin1Char('0')).toUpper();
}

}  // namespace

TokenText tokenText(const std::string& bytes) {
    TokenText out;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t n = characterAt(bytes, at);
        if (n == 0) {
            const bool more = !out.runs.empty() && out.runs.back().kind == Kind::Bytes;
            append(out, Kind::Bytes,
                   (more ? QStringLiteral(" ") : QString()) + hexOf(static_cast<unsigned char>(bytes[at])));
            ++at;
            continue;
        }
        const char c = bytes[at];
        if (c == ' ')
            append(out, Kind::Mark, QStringLiteral("·"));
        else if (c == '\n')
            append(out, Kind::Mark, QStringLiteral("↵"));
        else if (c == '\t')
            append(out, Kind::Mark, QStringLiteral("⇥ "));
        else if (n == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F))
            append(out, Kind::Bytes, hexOf(static_cast<unsigned char>(c)));
        else
            append(out, Kind::Text, QString::fromUtf8(bytes.data() + at, static_cast<qsizetype>(n)));
        at += n;
    }
    out.breaksLine = !bytes.empty() && bytes.back() == '\n';
    return out;
}

TokenText tokenText(const model::Trace& trace, std::size_t index) {
    const compute::TokenId id = trace.tokens[index];
    const bool control = trace.tokenizer == nullptr || trace.tokenizer->isControl(id);
    if (!control && index < trace.tokenBytes.size() && !trace.tokenBytes[index].empty())
        return tokenText(trace.tokenBytes[index]);
    return {{{Kind::Control, QString::fromStdString(model::tokenLabel(trace.tokenizer.get(), id))}}, false};
}

}  // namespace counterpoint::widgets
