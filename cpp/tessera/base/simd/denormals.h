// Denormal numbers, which are below the least normal one, 2⁻¹²⁶ in single precision.
//
// Many processors take a hundred times as long for an operation with a denormal number, so kernels that meet them have
// them flushed: operands and results count as 0. Where that can't be done the results must be the same bits. A denormal
// number changes a result
//
// - as a factor, by less than 2⁻¹²⁶ times the other factor: nothing after it is rounded to whole units;
// - as a summand, or a product as one of a fused operation, only if the other summand is below 2⁻¹⁰¹ itself;
// - as the summand of a fused operation, if the product is halfway between two numbers: then it decides the rounding.
//
// The last case is the one to exclude. What is added to a product in the kernels of pairs is 0, or one of
//
// - a product of two charges and a function of the distance, 2⁻⁵² or more;
// - a repulsion 12A/r¹² and the value of a switch, together 2⁻⁶⁶ or more;
// - a coefficient of a table.
//
// It is normal if no parameter is below the least of its kind. The instruction set EMU128 does not flush, so that tests
// compare both ways.
#pragma once

#include <cmath>
#include <cstdint>

namespace tessera::simd {

/// The least magnitudes that are not rounded to 0: of parameters (charges, A and B) in the units of kernels, where that
/// of a charge is 10⁻¹⁵ e, and of coefficients.
inline constexpr double least_parameter = 0x1p-36, least_coefficient = 0x1p-72;

/// Rounds a parameter to single precision; one that is too small counts as 0.
inline float to_parameter(double value, double least = least_parameter) {
  return std::abs(value) < least ? 0 : static_cast<float>(value);
}

/// Has this thread flush denormal numbers for as long as it exists, if `is_wanted` and the processor can.
template <bool is_wanted>
class FlushDenormals {
 public:
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
#if defined(__x86_64__)
  FlushDenormals() : saved_(__builtin_ia32_stmxcsr()) { set(saved_ | (is_wanted ? 0x8040u : 0)); }
  ~FlushDenormals() { set(saved_); }

 private:
  static void set(unsigned control) { __builtin_ia32_ldmxcsr(control); }
  unsigned saved_;
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    set(saved_ | (is_wanted ? std::uint64_t{1} << 24 : 0));
  }
  ~FlushDenormals() { set(saved_); }

 private:
  static void set(std::uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control) : "memory"); }
  std::uint64_t saved_;
#else
  FlushDenormals() {}
#endif
};

}  // namespace tessera::simd
