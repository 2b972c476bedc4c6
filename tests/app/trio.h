#pragma once
// Sessions around the three shared models stories260K: the base and its specialists for dialogue and for animals.

#include <nlohmann/json.hpp>

#include "tests/app/program.h"

namespace counterpoint::tests {

using Json = nlohmann::ordered_json;

inline std::string modelPath(const std::string& name) { return shared("models/" + name + "/hf").string(); }

/// Greedy, both specialists at weight 1.
inline Json trioSession(int newTokens) {
    return {{"format", "counterpoint.session/1"},
            {"prompt", "Once upon a time"},
            {"base", {{"name", "base"}, {"path", modelPath("stories260K")}}},
            {"specialists",
             {{{"name", "dialogue"}, {"path", modelPath("stories260K-dialogue")}},
              {{"name", "animals"}, {"path", modelPath("stories260K-animals")}}}},
            {"decoding", {{"temperature", 0.0}, {"max_new_tokens", newTokens}}}};
}

inline QString writeSession(const QString& path, const Json& session) {
    write(path, QByteArray::fromStdString(session.dump(2)));
    return path;
}

/// The objects of a run's trace.jsonl.
inline std::vector<Json> traceRows(const QString& run) {
    std::vector<Json> rows;
    for (const QByteArray& line : contents(run + QStringLiteral("/trace.jsonl")).split('\n'))
        if (!line.isEmpty()) rows.push_back(Json::parse(line.toStdString()));
    return rows;
}

inline Json readJson(const QString& path) { return Json::parse(contents(path).toStdString()); }

}  // namespace counterpoint::tests
