#pragma once
// What goes wrong with an entry of a session ("source 'math'", "prompt") is said with the session's file, as far as it
// has one; what is about another file names that one. Thread: any.

#include <utility>

#include "compute/error.h"
#include "model/session.h"

namespace counterpoint::model {

inline compute::Error inSession(const Session& session, const compute::Error& error) {
    compute::ErrorParts parts = error.parts();
    const bool namesAFile = parts.where.starts_with('/');  // sources are opened by their whole paths
    if (!session.file.empty() && !namesAFile)
        parts.where = session.file.string() + (parts.where.empty() ? "" : ", " + parts.where);
    return compute::Error(std::move(parts));
}

/// Does `work`; an Error of it goes on as one in the session.
template <class Work>
auto namingTheSession(const Session& session, const Work& work) {
    try {
        return work();
    } catch (const compute::Error& error) {
        throw inSession(session, error);
    }
}

}  // namespace counterpoint::model
