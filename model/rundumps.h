#pragma once
// What `run --dump` writes of a trace (SPEC.md 2): log_prob.safetensors and sources.safetensors, a recording. Rows are
// handed to the file one by one, since a run may be larger than the memory. Errors: Error naming the file. Thread: any
// (a trace that nobody changes). Internal to model.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "model/trace.h"

namespace counterpoint::model {

/// A source that stands in a run's files.
struct Column {
    std::size_t source;
    std::string name;
};
/// The sources `run` feeds, whoever decoded the trace.
std::vector<Column> columnsOf(const Trace& trace);
/// Whether source i gave a row about that position.
bool fed(const Trace& trace, compute::Position position, std::size_t source);

struct Dump {
    const char* name;
    std::string (*write)(const Trace& trace, const std::filesystem::path& file);  ///< a sentence about what is left out
};
std::span<const Dump> runDumps();

}  // namespace counterpoint::model
