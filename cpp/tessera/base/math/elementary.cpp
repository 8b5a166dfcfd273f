#include "tessera/base/math/elementary.h"

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

static_assert((FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16) && std::numeric_limits<double>::is_iec559,
              "results must be rounded to double");
#ifdef __FAST_MATH__
#error "these functions need the order of operations that is written"
#endif

namespace tessera::math {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();  // what processors make differs in its sign

/// A number as the sum of a double and of what is left after rounding to it.
struct Two {
  double hi, lo;
};

constexpr Two pi_over_4 = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
constexpr Two two_over_root_pi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};
constexpr Two third = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
constexpr Two minus_third = {-third.hi, -third.lo};
constexpr Two minus_sixth = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};
/// Parts whose products with whole numbers below 2¹³ (ln 2) and 2¹⁷ (π/2) are exact, and the rest.
constexpr double ln2_parts[] = {0x1.62e42fefa2000p-1, 0x1.9ef35793c7673p-41};
constexpr double half_pi_parts[] = {0x1.921fb54440000p+0, 0x1.68c234c4c0000p-39, 0x1.98a2e03707345p-77};

/// a + b without error, where |a| >= |b| or a is 0. Source: Dekker (1971).
Two ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a + b without error.
Two sum_of(double a, double b) { return std::abs(a) >= std::abs(b) ? ordered_sum(a, b) : ordered_sum(b, a); }

/// a b without error, unless it overflows or underflows. Source: Dekker (1971).
Two product(double a, double b) {
  const auto split = [](double x) {
    const double y = 134217729 * x, hi = y - (y - x);  // 2²⁷ + 1
    return Two{hi, x - hi};
  };
  const Two s = split(a), t = split(b);
  const double p = a * b;
  return {p, ((s.hi * t.hi - p) + s.hi * t.lo + s.lo * t.hi) + s.lo * t.lo};
}

Two product(const Two& a, const Two& b) {
  const Two p = product(a.hi, b.hi);
  return ordered_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

Two sum_of(const Two& a, const Two& b) {
  const Two s = sum_of(a.hi, b.hi);
  return ordered_sum(s.hi, s.lo + (a.lo + b.lo));
}

/// a / b, where both are exact.
Two quotient(double a, double b) {
  const double q = a / b;
  const Two p = product(q, b);
  return {q, ((a - p.hi) - p.lo) / b};
}

/// Rounds |x| < 2⁵¹ to the nearest whole number.
double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

constexpr double factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }  // exact up to 22
constexpr int sign(int n) { return n % 2 == 0 ? 1 : -1; }

template <std::size_t N, class Function>
constexpr std::array<double, N> coefficients(Function function) {
  std::array<double, N> c{};
  for (std::size_t n = 0; n < N; ++n) c[n] = function(static_cast<int>(n));
  return c;
}

constexpr auto exp_series = coefficients<13>([](int n) { return 1 / factorial(n + 2); });
constexpr auto log_series = coefficients<11>([](int n) { return 1.0 / (2 * n + 5); });
constexpr auto sin_series = coefficients<7>([](int n) { return sign(n) / factorial(2 * n + 5); });
constexpr auto cos_series = coefficients<8>([](int n) { return sign(n) / factorial(2 * n + 4); });
constexpr auto atan_series = coefficients<19>([](int n) { return sign(n) / (2 * n + 5.0); });
constexpr auto erf_series = coefficients<19>([](int n) { return sign(n) / (factorial(n + 2) * (2 * n + 5)); });

/// The polynomial with these coefficients, that of x⁰ first.
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (std::size_t n = N - 1; n-- > 0;) sum = sum * x + c[n];
  return sum;
}

/// x + x z (c + z times the polynomial of z), where z = x².
template <std::size_t N>
Two odd_series(const Two& x, const Two& c, const std::array<double, N>& rest) {
  const Two z = product(x, x);
  return sum_of(x, product(product(x, z), sum_of(c, {z.hi * polynomial(rest, z.hi), 0})));
}

double power_of_two(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

double exp_of(const Two& x) {
  if (std::isnan(x.hi)) return x.hi;
  if (x.hi > 710) return infinity;
  if (x.hi < -746) return 0;
  const double k = nearest(x.hi * 0x1.71547652b82fep+0);  // 1 / ln 2
  const Two r = sum_of(x.hi - k * ln2_parts[0], x.lo - k * ln2_parts[1]);
  const Two s = ordered_sum(1, r.hi);
  const double y = s.hi + (s.lo + (r.hi * r.hi * polynomial(exp_series, r.hi) + r.lo * s.hi));
  const int whole = static_cast<int>(k), half = whole / 2;
  return y * power_of_two(half) * power_of_two(whole - half);  // only the last product may round
}

/// x = 2ᵏ (1 + f) with 1 + f in [√½, √2).
struct Scaled {
  int k;
  double f;
};

Scaled scaled(double x) {
  const bool is_subnormal = x < std::numeric_limits<double>::min();
  const auto bits = std::bit_cast<std::int64_t>(is_subnormal ? x * 0x1p54 : x);
  const auto k = (bits - std::bit_cast<std::int64_t>(0x1.6a09e667f3bcdp-1)) >> 52;
  const double m = std::bit_cast<double>(bits - k * (std::int64_t{1} << 52));
  return {static_cast<int>(k) - (is_subnormal ? 54 : 0), m - 1};
}

/// log x with a relative error below 2⁻⁶³: 2 (s + s³/3 + s⁵/5 + ...) with s = f/(2 + f).
Two log_of(double x) {
  const auto [k, f] = scaled(x);
  const Two d = ordered_sum(2, f);
  Two s = quotient(f, d.hi);
  s.lo -= s.hi * d.lo / d.hi;
  const Two half = odd_series(s, third, log_series);
  return sum_of({k * ln2_parts[0], k * ln2_parts[1]}, {2 * half.hi, 2 * half.lo});
}

/// The sine of |r| <= π/4.
double sin_of(const Two& r) { return odd_series(r, minus_sixth, sin_series).hi; }

/// The cosine of |r| <= π/4.
double cos_of(const Two& r) {
  const Two z = product(r, r);
  const Two s = ordered_sum(1, -0.5 * z.hi);
  return s.hi + (s.lo + (z.hi * z.hi * polynomial(cos_series, z.hi) - 0.5 * z.lo));
}

/// The sine of x + quarters π/2.
double sin_after(double x, int quarters) {
  if (!(std::abs(x) < infinity)) return not_a_number;
  if (std::abs(x) > 1e5) x = std::fmod(x, 8 * pi_over_4.hi);
  const double k = nearest(x * 0x1.45f306dc9c883p-1);  // 2 / π
  const Two r = sum_of(x - k * half_pi_parts[0], -k * half_pi_parts[1]);
  const Two angle = sum_of(r.hi, r.lo - k * half_pi_parts[2]);
  quarters += static_cast<int>(k);
  const double value = (quarters & 1) != 0 ? cos_of(angle) : sin_of(angle);
  return (quarters & 2) != 0 ? -value : value;
}

/// erf x for 0 <= x < 1. Source: Abramowitz and Stegun, 7.1.5.
Two erf_below_1(double x) { return product(two_over_root_pi, odd_series({x, 0}, minus_third, erf_series)); }

/// erfc x for x >= 1: the continued fraction x + (1/2)/(x + 1/(x + (3/2)/(x + ...))) = p/q, from its far end. Source:
/// Abramowitz and Stegun, 7.1.14.
double erfc_from_1(double x) {
  if (x > 28) return 0;
  const int terms = static_cast<int>(12 + 148 / (x * x));
  double p = 0.5 * (x + std::sqrt(x * x + 2 * terms)), q = 1;  // about the rest of the fraction
  for (int n = terms; n > 0; --n) {
    const double next = x * p + 0.5 * n * q;
    q = p;
    p = next;
  }
  const Two square = product(x, x);
  return exp_of({-square.hi, -square.lo}) * (0.5 * two_over_root_pi.hi) * (q / p);
}

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double log(double x) {
  if (!(x > 0)) return x == 0 ? -infinity : not_a_number;
  if (x == infinity) return x;
  // log (1 + f) = f - f²/2 + s (f²/2 + s² (2/3 + 2 s²/5 + ...)) with s = f/(2 + f)
  const auto [k, f] = scaled(x);
  const double s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
  const double rest = 2 * z * (third.hi + z * polynomial(log_series, z));
  return k * ln2_parts[0] - ((half_square - (s * (half_square + rest) + k * ln2_parts[1])) - f);
}

double sin(double x) { return std::abs(x) < 0x1p-27 ? x : sin_after(x, 0); }
double cos(double x) { return std::abs(x) < 0x1p-27 ? 1 : sin_after(x, 1); }

SinCos sincos_of_turn(std::int64_t k, std::int64_t n) {
  k %= n;
  const std::int64_t eighths = 8 * (k < 0 ? k + n : k), octant = eighths / n, rest = eighths - octant * n;
  // Odd octants are mirrored, so that the angle in units of π/4 is in [0, 1].
  const Two part = quotient(static_cast<double>((octant & 1) != 0 ? n - rest : rest), static_cast<double>(n));
  const Two angle = product(part, pi_over_4);
  SinCos result = {sin_of(angle), cos_of(angle)};
  if (((octant + 1) & 2) != 0) result = {result.cos, result.sin};
  if ((octant & 4) != 0) result.sin = 0 - result.sin;
  if (((octant + 2) & 4) != 0) result.cos = 0 - result.cos;
  return result;
}

double pow(double x, double y) {
  if (std::abs(y) <= 64 && y == nearest(y)) {
    double power = 1, factor = x;
    for (int n = static_cast<int>(std::abs(y)); n > 0; n /= 2) {
      if (n % 2 != 0) power *= factor;
      factor *= factor;
    }
    return y < 0 ? 1 / power : power;
  }
  if (!(x > 0 && x < infinity)) return exp(y * log(x));
  const Two l = log_of(x);
  if (!(std::abs(y * l.hi) < 800)) return exp(y * l.hi);  // overflows, underflows or is NaN
  const Two exponent = product(y, l.hi);
  return exp_of(ordered_sum(exponent.hi, exponent.lo + y * l.lo));
}

double erf(double x) {
  const double a = std::abs(x);
  if (std::isnan(x)) return x;
  if (a < 0x1p-28) return two_over_root_pi.hi * x;
  return std::copysign(a < 1 ? erf_below_1(a).hi : a < 6 ? 1 - erfc_from_1(a) : 1, x);
}

double erfc(double x) {
  const double a = std::abs(x);
  if (std::isnan(x)) return x;
  if (a >= 1) return x > 0 ? erfc_from_1(a) : 2 - erfc_from_1(a);
  const Two e = erf_below_1(a), rest = x > 0 ? ordered_sum(1, -e.hi) : ordered_sum(1, e.hi);
  return rest.hi + (rest.lo + (x > 0 ? -e.lo : e.lo));
}

double atan2(double y, double x) {
  if (std::isnan(x) || std::isnan(y)) return not_a_number;
  double a = std::abs(y), b = std::abs(x);
  if (a == b && b > 0) a = b = 1;  // infinities too
  const bool is_steep = a > b;
  if (is_steep) std::swap(a, b);
  // The angle is eighths π/4 ± atan(ratio), with the ratio in ±tan(π/8).
  double ratio = b > 0 ? a / b : 0;
  int eighths = 0;
  bool is_negative = false;
  if (ratio > 0.414) {
    const double scale = b > 1 ? 0.5 : 1;  // so that the sum does not overflow
    ratio = scale * (a - b) / (scale * a + scale * b);
    eighths = 1;
  }
  if (is_steep) {
    eighths = 2 - eighths;
    is_negative = true;
  }
  if (std::signbit(x)) {
    eighths = 4 - eighths;
    is_negative = !is_negative;
  }
  const Two arc = odd_series({is_negative ? -ratio : ratio, 0}, minus_third, atan_series);
  const Two start = {eighths * (0.5 * half_pi_parts[0]), eighths * (0.5 * half_pi_parts[1])};
  return std::copysign(sum_of(start, arc).hi, y);
}

double asin(double x) { return atan2(x, std::sqrt((1 - x) * (1 + x))); }

}  // namespace tessera::math
