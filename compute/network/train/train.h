#pragma once
// The trainer of small models of the Llama layout, behind the program counterpoint_train. Part of the torch module.

namespace counterpoint::network {

/// argv style; returns an exit code.
int trainMain(int argc, char** argv);

}  // namespace counterpoint::network
