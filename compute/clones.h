#pragma once
// COUNTERPOINT_CLONES before a function: compiled once per instruction set, chosen when the library is loaded.

// Sanitizers start after the choice is made, and clang spells it differently: both get the plain loops.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define COUNTERPOINT_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define COUNTERPOINT_CLONES
#endif
