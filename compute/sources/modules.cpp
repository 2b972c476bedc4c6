#include "compute/sources/modules.h"

#include <dlfcn.h>

#include <cstdlib>

#include "compute/error.h"
#include "compute/version.h"

namespace counterpoint::compute {
namespace {

namespace fs = std::filesystem;

/// libgomp reads this once, when the torch module brings it: two spinning pools on one core cost 8-20 ms a barrier. Set
/// while this library is loaded, since setenv is safe only before there are threads.
[[maybe_unused]] const int passiveWaiting = ::setenv("OMP_WAIT_POLICY", "passive", 0);

/// Opens a module once and for all; a second call after a failure tries again. It is never closed: its static objects,
/// threads and exception types outlive every user.
template <class Api>
const Api& load(const char* name) {
    const std::string base = std::string("counterpoint_") + name;
    const fs::path file = moduleFolder() / (base + ".so");
    std::error_code error;
    if (!fs::exists(file, error))
        throw Error({.where = file.string(),
                     .what = std::string("the module '") + name + "' is not there",
                     .advice = "build it, or set COUNTERPOINT_MODULES to the folder that holds it"});
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = ::dlerror();
        throw Error({.where = file.string(),
                     .what = std::string("the module '") + name + "' cannot be loaded",
                     .advice = "install the libraries it needs",
                     .details = reason == nullptr ? "" : reason});
    }
    using Entry = const Api* (*)(const char*);
    const auto entry = reinterpret_cast<Entry>(::dlsym(handle, base.c_str()));
    if (entry == nullptr)
        throw Error({.where = file.string(), .what = "this is not a module of this program: it lacks '" + base + "'"});
    const Api* api = entry(stamp());
    if (api == nullptr)
        throw Error({.where = file.string(),
                     .what = "the module belongs to another build of the program",
                     .expected = stamp(),
                     .advice = "build program and modules together"});
    return *api;
}

}  // namespace

fs::path moduleFolder() {
    if (const char* given = std::getenv("COUNTERPOINT_MODULES"); given != nullptr && *given != '\0') return given;
    Dl_info info{};
    // The address of any function of this library tells where the library lies.
    if (::dladdr(reinterpret_cast<const void*>(&moduleFolder), &info) != 0 && info.dli_fname != nullptr) {
        std::error_code error;
        const fs::path here = fs::canonical(info.dli_fname, error);
        if (!error) return here.parent_path();
    }
    return ".";
}

const NetworkApi& network() {
    static const NetworkApi& api = load<NetworkApi>("network");
    return api;
}

const SpmApi& spm() {
    static const SpmApi& api = load<SpmApi>("spm");
    return api;
}

std::vector<DeviceInfo> devices() {
    try {
        return network().devices();
    } catch (const Error&) {  // opening a model says what is wrong with the module; a recording needs none
        return {{"cpu", "processor"}};
    }
}
std::vector<std::pair<std::string, std::string>> networkVersions() { return network().versions(); }
void loadNetworkModule() { network(); }

}  // namespace counterpoint::compute
