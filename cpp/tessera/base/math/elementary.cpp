#include "tessera/base/math/elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "tessera/base/math/error_function.h"

namespace tessera::math {
namespace {

using namespace detail;  // NOLINT(google-build-using-namespace): of this library

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();  // what processors make differs in its sign

constexpr Two third = {0x1.5555555555555p-2, 0x1.5555555555555p-56};
/// Parts whose products with whole numbers below 2¹⁷ are exact, and the rest.
constexpr double half_pi_parts[] = {0x1.921fb54440000p+0, 0x1.68c234c4c0000p-39, 0x1.98a2e03707345p-77};

constexpr auto log_series = coefficients<11>([](int n) { return 1.0 / (2 * n + 5); });
constexpr auto atan_series = coefficients<19>([](int n) { return sign(n) / (2 * n + 5.0); });

double exp_of(const Two& x) { return std::isnan(x.hi) ? x.hi : exp_of_number(x); }

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

/// Returns log x with a relative error below 2⁻⁶³: 2 (s + s³/3 + s⁵/5 + ...) with s = f/(2 + f).
Two log_of(double x) {
  const auto [k, f] = scaled(x);
  const Two d = ordered_sum(2, f);
  Two s = quotient(f, d.hi);
  s.lo -= s.hi * d.lo / d.hi;
  const Two half = odd_series(s, third, log_series);
  return sum_of({k * ln2_parts().hi, k * ln2_parts().lo}, {2 * half.hi, 2 * half.lo});
}

/// Returns the sine of x + quarters π/2.
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

}  // namespace

double exp(double x) { return exp_of({x, 0}); }

double log(double x) {
  if (!(x > 0)) return x == 0 ? -infinity : not_a_number;
  if (x == infinity) return x;
  // log (1 + f) = f - f²/2 + s (f²/2 + s² (2/3 + 2 s²/5 + ...)) with s = f/(2 + f)
  const auto [k, f] = scaled(x);
  const double s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
  const double rest = 2 * z * (third.hi + z * polynomial(log_series, z));
  return k * ln2_parts().hi - ((half_square - (s * (half_square + rest) + k * ln2_parts().lo)) - f);
}

double sin(double x) { return std::abs(x) < 0x1p-27 ? x : sin_after(x, 0); }
double cos(double x) { return std::abs(x) < 0x1p-27 ? 1 : sin_after(x, 1); }

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

double erf(double x) { return std::isnan(x) ? x : std::copysign(erf_of_positive(std::abs(x)), x); }

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
  const Two arc = odd_series({is_negative ? -ratio : ratio, 0}, minus_third(), atan_series);
  const Two start = {eighths * (0.5 * half_pi_parts[0]), eighths * (0.5 * half_pi_parts[1])};
  return std::copysign(sum_of(start, arc).hi, y);
}

double asin(double x) { return atan2(x, std::sqrt((1 - x) * (1 + x))); }

}  // namespace tessera::math
