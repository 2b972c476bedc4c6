#pragma once
// What commands share: the options of those that decode, progress on standard error when a person is watching it,
// what they print.
// Thread: main.

#include "app/arguments.h"
#include "model/runner.h"

namespace counterpoint::app {

inline constexpr Option kDeviceOption{"--device", "cpu|cuda[:N]", "where the models compute (cpu)"};
inline constexpr Option kDtypeOption{"--dtype", "TYPE", "float32, bfloat16 or float16 (each model's own)"};
inline constexpr Option kThreadsOption{"--threads", "N", "threads of the models (all cores but one)"};

/// "cpu", "cuda", "cuda:1".
std::string deviceFrom(const Arguments& arguments);
/// Device, dtype and threads of the command line, checked.
model::RunOptions engineOptions(const Arguments& arguments);

/// One line on standard error, rewritten in place; nothing where that is not a terminal. Erased at the end.
class ProgressLine {
  public:
    ProgressLine();
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    void show(const model::Progress& progress);
    void erase();

  private:
    bool m_terminal, m_shown = false;
};

/// The report of a command, on standard output.
void print(const compute::OrderedJson& json);
/// "counterpoint: warning: …" (or "notice") on standard error, one line each.
void tell(std::string_view kind, const std::vector<std::string>& sentences);

}  // namespace counterpoint::app
