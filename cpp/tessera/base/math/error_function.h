// The error function and the exponential that it needs, which kernels of devices compute, too, to the bit.
//
// Constants are those of a function, as a device can't see others. Source: Abramowitz and Stegun (1964).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tessera/base/math/double_double.h"

namespace tessera::math {

namespace detail {

constexpr Two minus_third() { return {-0x1.5555555555555p-2, -0x1.5555555555555p-56}; }
/// Returns ln 2 in two parts; products of the first with whole numbers below 2¹³ are exact.
constexpr Two ln2_parts() { return {0x1.62e42fefa2000p-1, 0x1.9ef35793c7673p-41}; }
constexpr Two two_over_root_pi() { return {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56}; }

/// Rounds |x| < 2⁵¹ to the nearest whole number.
constexpr double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

constexpr double power_of_two(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

/// Returns e to the x, which is a number.
constexpr double exp_of_number(const Two& x) {
  constexpr auto series = exp_series;
  if (x.hi > 710) return std::numeric_limits<double>::infinity();
  if (x.hi < -746) return 0;
  const double k = nearest(x.hi * 0x1.71547652b82fep+0);  // 1 / ln 2
  const Two r = sum_of(x.hi - k * ln2_parts().hi, x.lo - k * ln2_parts().lo);
  const Two s = ordered_sum(1, r.hi);
  const double y = s.hi + (s.lo + (r.hi * r.hi * polynomial(series, r.hi) + r.lo * s.hi));
  const int whole = static_cast<int>(k), half = whole / 2;
  return y * power_of_two(half) * power_of_two(whole - half);  // only the last product may round
}

/// Returns erf x for 0 <= x < 1. Source: Abramowitz and Stegun, 7.1.5.
constexpr Two erf_below_1(double x) {
  constexpr auto series = coefficients<19>([](int n) { return sign(n) / (factorial(n + 2) * (2 * n + 5)); });
  return product(two_over_root_pi(), odd_series({x, 0}, minus_third(), series));
}

/// Returns erfc x for x >= 1, from its continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x + ...))) = p/q, evaluated from
/// the innermost term outwards. Source: Abramowitz and Stegun, 7.1.14.
constexpr double erfc_from_1(double x) {
  if (x > 28) return 0;
  const int terms = static_cast<int>(12 + 148 / (x * x));
  double p = 0.5 * (x + std::sqrt(x * x + 2 * terms)), q = 1;  // about the rest of the fraction
  for (int n = terms; n > 0; --n) {
    const double next = x * p + 0.5 * n * q;
    q = p;
    p = next;
  }
  const Two square = product(x, x);
  return exp_of_number({-square.hi, -square.lo}) * (0.5 * two_over_root_pi().hi) * (q / p);
}

}  // namespace detail

/// Returns erf(x) of elementary.h for x >= 0.
constexpr double erf_of_positive(double x) {
  if (x < 0x1p-28) return detail::two_over_root_pi().hi * x;
  return x < 1 ? detail::erf_below_1(x).hi : x < 6 ? 1 - detail::erfc_from_1(x) : 1;
}

}  // namespace tessera::math
