#pragma once
// The float32 loops over a vocabulary that cost a step its time, compiled once per instruction set and chosen when the
// library is loaded. Same elements on every machine; the order of a float64 sum follows the width of the registers, so
// a sum may differ in its last bits between machines, never on one. Shapes: rows [n]. Pure; thread: any.

#include <cstddef>
#include <cstdint>

#include "compute/clones.h"
#include "compute/composition/divergence.h"

namespace counterpoint::compute::rowkernels {

float maxOf(const float* x, std::size_t n) noexcept;
double maxOf(const double* x, std::size_t n) noexcept;
/// Σ exp(factor · (x − shift)), elements in float32.
double sumExp(const float* x, double shift, double factor, std::size_t n) noexcept;
double sumExp(const double* x, double shift, double factor, std::size_t n) noexcept;
/// Σ exp(x − shift), the difference in float32.
double sumExp(const float* x, float shift, std::size_t n) noexcept;
double kl(const float* p, const float* q, std::size_t n) noexcept;
divergence::Pair compare(const float* p, const float* q, std::size_t n) noexcept;

}  // namespace counterpoint::compute::rowkernels
