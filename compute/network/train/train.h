#pragma once
// The trainer of small models of the Llama and the Mixtral layout, behind the program counterpoint_train. Part of the
// torch module.
//   counterpoint_train --text FILE --out DIR            vocabulary, base, dialogue and animals, one after the other
//   counterpoint_train vocabulary|base|finetune|upcycle|check   one part (see --help)
// Errors: printed as one sentence on standard error. Exit codes: 0 done, 1 error, 2 wrong usage. Thread: the caller's.

namespace counterpoint::network {

/// argv style; returns an exit code.
int trainMain(int argc, char** argv);

}  // namespace counterpoint::network
