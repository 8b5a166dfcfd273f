// Numbers as sums of two doubles, and sines and cosines of fractions of a turn, which the compiler can compute too.
//
// All operations are those that IEEE 754 rounds correctly, in a fixed order (see elementary.h).
//
// Sources: Dekker (1971) for sums and products without error; Knuth (1997), section 4.2.2, for sums without a branch.
#pragma once

#include <array>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <limits>

static_assert((FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16) && std::numeric_limits<double>::is_iec559,
              "results must be rounded to double");
#ifdef __FAST_MATH__
#error "these functions need the order of operations that is written"
#endif

namespace tessera::math {

struct SinCos {
  double sin, cos;
};

namespace detail {

/// A number as the sum of a double and of what is left after rounding to it.
struct Two {
  double hi, lo;
};

inline constexpr Two pi_over_4 = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
inline constexpr Two minus_sixth = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};

/// Returns a + b without error, where |a| >= |b| or a is 0.
constexpr Two ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// Returns a + b without error.
constexpr Two sum_of(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// Returns a b without error, unless it overflows or underflows.
constexpr Two product(double a, double b) {
  const auto split = [](double x) {
    const double y = 134217729 * x, hi = y - (y - x);  // 2²⁷ + 1
    return Two{hi, x - hi};
  };
  const Two s = split(a), t = split(b);
  const double p = a * b;
  return {p, ((s.hi * t.hi - p) + s.hi * t.lo + s.lo * t.hi) + s.lo * t.lo};
}

constexpr Two product(const Two& a, const Two& b) {
  const Two p = product(a.hi, b.hi);
  return ordered_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

constexpr Two sum_of(const Two& a, const Two& b) {
  const Two s = sum_of(a.hi, b.hi);
  return ordered_sum(s.hi, s.lo + (a.lo + b.lo));
}

/// Returns a / b, where both are exact.
constexpr Two quotient(double a, double b) {
  const double q = a / b;
  const Two p = product(q, b);
  return {q, ((a - p.hi) - p.lo) / b};
}

constexpr double factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }  // exact up to 22
constexpr int sign(int n) { return n % 2 == 0 ? 1 : -1; }

template <std::size_t N, class Function>
constexpr std::array<double, N> coefficients(Function function) {
  std::array<double, N> c{};
  for (std::size_t n = 0; n < N; ++n) c[n] = function(static_cast<int>(n));
  return c;
}

inline constexpr auto exp_series = coefficients<13>([](int n) { return 1 / factorial(n + 2); });
inline constexpr auto sin_series = coefficients<7>([](int n) { return sign(n) / factorial(2 * n + 5); });
inline constexpr auto cos_series = coefficients<8>([](int n) { return sign(n) / factorial(2 * n + 4); });

/// Evaluates the polynomial with these coefficients, that of x⁰ first.
template <std::size_t N>
constexpr double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (std::size_t n = N - 1; n-- > 0;) sum = sum * x + c[n];
  return sum;
}

/// Returns x + x z (c + z·p(z)), where z = x² and p is the polynomial with the coefficients `rest`.
template <std::size_t N>
constexpr Two odd_series(const Two& x, const Two& c, const std::array<double, N>& rest) {
  const Two z = product(x, x);
  return sum_of(x, product(product(x, z), sum_of(c, {z.hi * polynomial(rest, z.hi), 0})));
}

/// Returns the sine of |r| <= π/4.
constexpr double sin_of(const Two& r) { return odd_series(r, minus_sixth, sin_series).hi; }

/// Returns the cosine of |r| <= π/4.
constexpr double cos_of(const Two& r) {
  const Two z = product(r, r);
  const Two s = ordered_sum(1, -0.5 * z.hi);
  return s.hi + (s.lo + (z.hi * z.hi * polynomial(cos_series, z.hi) - 0.5 * z.lo));
}

}  // namespace detail

/// Returns sine and cosine of 2πk/n for any k and n from 1 to 2⁴⁰: error < 0.56 ulp. They are 0 (never -0) and ±1 at
/// quarter turns, the same for equal fractions k/n, and have each symmetry of the circle to the last bit. About 40 ns.
constexpr SinCos sincos_of_turn(std::int64_t k, std::int64_t n) {
  k %= n;
  const std::int64_t eighths = 8 * (k < 0 ? k + n : k), octant = eighths / n, rest = eighths - octant * n;
  // Odd octants are mirrored, so that the angle in units of π/4 is in [0, 1].
  const auto part = detail::quotient(static_cast<double>((octant & 1) != 0 ? n - rest : rest), static_cast<double>(n));
  const auto angle = detail::product(part, detail::pi_over_4);
  SinCos result = {detail::sin_of(angle), detail::cos_of(angle)};
  if (((octant + 1) & 2) != 0) result = {result.cos, result.sin};
  if ((octant & 4) != 0) result.sin = 0 - result.sin;
  if (((octant + 2) & 4) != 0) result.cos = 0 - result.cos;
  return result;
}

}  // namespace tessera::math
