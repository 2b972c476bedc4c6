#pragma once
// The functions behind the rows of the command table. Thread: main. Errors: compute::Error, UsageError.

#include "app/arguments.h"

namespace counterpoint::app {

int runCommand(const Arguments& arguments);
int replayCommand(const Arguments& arguments);
int routeCommand(const Arguments& arguments);
int renderCommand(const Arguments& arguments);
int bankReportCommand(const Arguments& arguments);
int bankCompressCommand(const Arguments& arguments);
int windowCommand(const Arguments& arguments);

}  // namespace counterpoint::app
