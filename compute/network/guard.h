#pragma once
// Where torch may throw: c10::Error becomes the house's Error inside the module, its trace folded away (HAZARDS A6).

#include <c10/util/Exception.h>

#include <algorithm>
#include <new>
#include <string>

#include "compute/error.h"

namespace counterpoint::network {

template <class Work>
auto guarded(const std::string& where, Work&& work) {
    const auto fail = [&](std::string what, std::string advice, std::string details) {
        return compute::Error({.where = where,
                               .what = std::move(what),
                               .expected = {},
                               .found = {},
                               .advice = std::move(advice),
                               .details = std::move(details)});
    };
    try {
        return work();
    } catch (const compute::Error&) {
        throw;
    } catch (const c10::Error& e) {
        const std::string text = e.what_without_backtrace();
        if (text.find("out of memory") != std::string::npos)
            throw fail("there is not enough memory on the device", "close another model or use a smaller one",
                       e.what());
        const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
        throw fail("libtorch says: " + text.substr(first, text.find('\n', first) - first), {}, e.what());
    } catch (const std::bad_alloc&) {
        throw fail("there is not enough memory", "close another model or use a smaller one", {});
    } catch (const std::exception& e) {
        throw fail("the model could not be computed", {}, e.what());
    }
}

}  // namespace counterpoint::network
