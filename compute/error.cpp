#include "compute/error.h"

#include <utility>

#include "compute/printable.h"

namespace counterpoint::compute {
namespace {

std::string compose(const ErrorParts& p) {
    std::string s;
    if (!p.where.empty()) s += p.where + ": ";
    s += p.what;
    if (!p.expected.empty() && !p.found.empty())
        s += " (expected " + p.expected + ", found " + p.found + ")";
    else if (!p.expected.empty())
        s += " (expected " + p.expected + ")";
    else if (!p.found.empty())
        s += " (found " + p.found + ")";
    if (!p.advice.empty()) s += "; " + p.advice;
    if (!s.ends_with('.')) s += '.';  // a sentence that was told before stays one
    return printable(s);
}

}  // namespace

Error::Error(ErrorParts parts) : std::runtime_error(compose(parts)), m_parts(std::move(parts)) {}
Error::~Error() = default;

}  // namespace counterpoint::compute
