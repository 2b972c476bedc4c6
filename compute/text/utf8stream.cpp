#include "compute/text/utf8stream.h"

#include <utility>

#include "compute/text/utf8.h"

namespace counterpoint::compute {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Moves the readable part of `bytes` to the result; what could still become a character stays.
std::string takeReadable(std::string_view& bytes) {
    std::string text;
    while (!bytes.empty()) {
        const utf8::Step step = utf8::next(bytes);
        if (step.kind == utf8::Kind::Unfinished) break;
        text += step.kind == utf8::Kind::Complete ? bytes.substr(0, step.length) : kReplacement;
        bytes.remove_prefix(step.length);
    }
    return text;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
    m_pending += bytes;
    std::string_view rest = m_pending;
    std::string text = takeReadable(rest);
    m_pending.erase(0, m_pending.size() - rest.size());
    return text;
}

std::string Utf8Stream::finish() {
    const bool unfinished = !std::exchange(m_pending, {}).empty();
    return std::string(unfinished ? kReplacement : "");
}

std::string toValidUtf8(std::string_view bytes) {
    std::string text = takeReadable(bytes);
    if (!bytes.empty()) text += kReplacement;
    return text;
}

}  // namespace counterpoint::compute
