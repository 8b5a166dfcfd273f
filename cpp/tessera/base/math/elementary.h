// Elementary functions whose bits no C library decides: what is made with them, such as tables and random numbers, is
// the same on every processor, with every compiler and C library.
//
// They use only operations that IEEE 754 rounds correctly, in double precision and a fixed order, without contraction
// into fused operations (-ffp-contract=off). Polynomials are Taylor series. NaN comes from NaN and from outside a
// function's domain; these bits alone may differ. Errors are in units in the last place (ulp) of the exact result, and
// the largest found on millions of random arguments. Times are those of a processor of 3 GHz.
//
// sincos_of_turn() is in double_double.h. Sources: Cody and Waite (1980) for the reduction of arguments by constants in
// several parts; Abramowitz and Stegun (1964) for erf and erfc.
#pragma once

#include "tessera/base/math/double_double.h"

namespace tessera::math {

/// Lennard-Jones is least at this distance in σ.
inline constexpr double sixth_root_of_2 = 0x1.1f59ac3c7d6c0p+0;

/// Returns e to the x: error < 0.65 ulp, where the result is subnormal < 0.8 ulp. Overflows to infinity, underflows to
/// 0.
double exp(double x);

/// Returns the natural logarithm of x >= 0, subnormals too: error < 0.9 ulp. The logarithm of 0 is -infinity.
double log(double x);

/// Returns the sine and the cosine of x radians: error < 0.56 ulp for |x| <= 10⁵, next to their zeros too. A larger
/// argument is first reduced by the double that is nearest to 2π, which costs up to 4·10⁻¹⁷ |x| of absolute accuracy.
double sin(double x);
double cos(double x);

/// Returns x to the y. If y is whole and |y| <= 64, this is repeated multiplication, for any x: relative error <
/// |y|·1.2·10⁻¹⁶ where the power and its inverse are normal numbers. Otherwise it is exp(y log x) for x >= 0, with the
/// logarithm in two parts: error < 0.65 ulp, where the result is subnormal < 0.8 ulp. About 55 ns then.
double pow(double x, double y);

/// Returns the error function and its complement, for any x: error < 1.2 ulp of erf, < 4.5 ulp of erfc. At most 400 ns,
/// at 1.
double erf(double x);
double erfc(double x);

/// Returns the angle in [-π, π] from the x axis to (x, y): error < 2 ulp. Signs, zeros and infinities are as with
/// std::atan2.
double atan2(double y, double x);

/// Returns the angle in [-π/2, π/2] whose sine is x: error < 2.5 ulp.
double asin(double x);

}  // namespace tessera::math
