#include "tessera/base/math/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

namespace tessera {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr int tries = 20000;

/// Random numbers that no library decides. Source: Vigna's SplitMix64, https://prng.di.unimi.it/splitmix64.c
struct Random {
  std::uint64_t state = 1;
  std::uint64_t word() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(word() >> 11) * 0x1p-53); }
  /// Returns a positive number with any mantissa and an exponent in [low, high).
  double scaled(int low, int high) {
    const auto exponent = static_cast<int>(word() % static_cast<std::uint64_t>(high - low)) + low;
    return std::ldexp(uniform(1, 2), exponent);
  }
};

/// Returns the error of a result in units in the last place of the exact one.
double ulps(double result, long double exact) {
  if (static_cast<long double>(result) == exact) return 0;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::abs(result - exact) / std::ldexp(1.0L, std::max(exponent - 53, -1074)));
}

/// Compares a function with the C library's of long double at `tries` arguments.
template <class Function, class Exact, class Argument>
void compare(const char* name, double bound, Function function, Exact exact, Argument argument) {
  if (LDBL_MANT_DIG < 64) return;  // nothing to compare with
  double worst = 0, at = 0;
  for (int i = 0; i < tries; ++i) {
    const double x = argument(), error = ulps(function(x), exact(static_cast<long double>(x)));
    if (error <= worst) continue;
    worst = error;
    at = x;
  }
  EXPECT_LT(worst, bound) << name << " at " << at;
}

TEST(Elementary, ExponentialAndLogarithm) {
  Random random;
  const auto exp_exact = [](long double x) { return std::exp(x); };
  const auto log_exact = [](long double x) { return std::log(x); };
  compare("exp", 0.65, math::exp, exp_exact, [&] { return random.uniform(-708, 709.7); });
  compare("exp near 0", 0.65, math::exp, exp_exact, [&] { return random.uniform(-1, 1); });
  compare("subnormal exp", 0.8, math::exp, exp_exact, [&] { return random.uniform(-745, -708); });
  compare("log", 0.9, math::log, log_exact, [&] { return random.scaled(-1074, 1024); });
  compare("log near 1", 0.9, math::log, log_exact, [&] { return random.uniform(0.5, 2); });
  EXPECT_EQ(math::exp(0), 1);
  EXPECT_EQ(math::exp(-0.0), 1);
  EXPECT_EQ(math::exp(709.79), infinity);
  EXPECT_EQ(math::exp(infinity), infinity);
  EXPECT_EQ(math::exp(-745.13), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(math::exp(-745.14), 0);
  EXPECT_EQ(math::exp(-infinity), 0);
  EXPECT_TRUE(std::isnan(math::exp(not_a_number)));
  EXPECT_EQ(math::log(1), 0);
  EXPECT_EQ(math::log(0), -infinity);
  EXPECT_EQ(math::log(-0.0), -infinity);
  EXPECT_EQ(math::log(infinity), infinity);
  EXPECT_TRUE(std::isnan(math::log(-1)));
  EXPECT_TRUE(std::isnan(math::log(not_a_number)));
}

TEST(Elementary, SineAndCosine) {
  Random random;
  const auto sin_exact = [](long double x) { return std::sin(x); };
  const auto cos_exact = [](long double x) { return std::cos(x); };
  const auto next_to_zero = [&] {
    return static_cast<double>(static_cast<long double>(random.word() % 63662) * std::numbers::pi_v<long double> / 2);
  };
  for (const double range : {0.8, 10.0, 1e5}) {
    compare("sin", 0.56, math::sin, sin_exact, [&] { return random.uniform(-range, range); });
    compare("cos", 0.56, math::cos, cos_exact, [&] { return random.uniform(-range, range); });
  }
  compare("sin next to zeros", 0.56, math::sin, sin_exact, next_to_zero);
  compare("cos next to zeros", 0.56, math::cos, cos_exact, next_to_zero);
  for (const double x : {1e6, -1e9, 3e15}) EXPECT_NEAR(math::sin(x), std::sin(x), 4e-17 * std::abs(x) + 1e-16);
  EXPECT_TRUE(std::signbit(math::sin(-0.0)));
  EXPECT_EQ(math::sin(5e-324), 5e-324);
  EXPECT_EQ(math::cos(5e-324), 1);
  for (const double x : {infinity, -infinity, not_a_number}) {
    EXPECT_TRUE(std::isnan(math::sin(x)));
    EXPECT_TRUE(std::isnan(math::cos(x)));
  }
}

// The compiler finds the same bits as the processor.
TEST(Elementary, TurnsOfTheCompilerAreTheSame) {
  constexpr auto turns = [] {
    std::array<math::SinCos, 60> all{};
    for (int k = 0; k < 60; ++k) all[static_cast<std::size_t>(k)] = math::sincos_of_turn(k, 7 + k);
    return all;
  }();
  for (volatile int k = 0; k < 60; k = k + 1) {
    const auto turn = math::sincos_of_turn(k, 7 + k);
    EXPECT_EQ(turn.sin, turns[static_cast<std::size_t>(k)].sin);
    EXPECT_EQ(turn.cos, turns[static_cast<std::size_t>(k)].cos);
  }
}

TEST(Elementary, TurnsAreAccurate) {
  Random random;
  for (int i = 0; i < tries && LDBL_MANT_DIG >= 64; ++i) {
    const auto n = static_cast<std::int64_t>(8 + random.word() % (i % 2 == 0 ? 1000 : std::int64_t{1} << 40));
    const auto k = static_cast<std::int64_t>(random.word() % static_cast<std::uint64_t>(n / 8 + 1));
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / n;
    const auto [sine, cosine] = math::sincos_of_turn(k, n);
    ASSERT_LT(ulps(sine, std::sin(angle)), 0.56) << k << "/" << n;
    ASSERT_LT(ulps(cosine, std::cos(angle)), 0.56) << k << "/" << n;
  }
}

TEST(Elementary, TurnsHaveTheSymmetriesOfTheCircle) {
  const auto expect_same = [](math::SinCos a, double sine, double cosine) {
    ASSERT_EQ(a.sin, sine);
    ASSERT_EQ(a.cos, cosine);
    ASSERT_FALSE(a.sin == 0 && std::signbit(a.sin));
    ASSERT_FALSE(a.cos == 0 && std::signbit(a.cos));
  };
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 24, 100, 360, 1001, 1024}) {
    for (std::int64_t k = -n; k <= n; ++k) {
      const auto [sine, cosine] = math::sincos_of_turn(k, n);
      expect_same(math::sincos_of_turn(-k, n), -sine, cosine);
      expect_same(math::sincos_of_turn(k + 1000003 * n, n), sine, cosine);
      expect_same(math::sincos_of_turn(k << 30, n << 30), sine, cosine);
      expect_same(math::sincos_of_turn(3 * k, 3 * n), sine, cosine);
      expect_same(math::sincos_of_turn(n - 2 * k, 2 * n), sine, -cosine);
      expect_same(math::sincos_of_turn(n - 4 * k, 4 * n), cosine, sine);
      expect_same(math::sincos_of_turn(n + 4 * k, 4 * n), cosine, -sine);
    }
    expect_same(math::sincos_of_turn(0, n), 0, 1);
    expect_same(math::sincos_of_turn(n, 2 * n), 0, -1);
    expect_same(math::sincos_of_turn(n, 4 * n), 1, 0);
    expect_same(math::sincos_of_turn(3 * n, 4 * n), -1, 0);
    expect_same(math::sincos_of_turn(n, 8 * n), std::sqrt(0.5), std::sqrt(0.5));
    EXPECT_EQ(math::sincos_of_turn(n, 6 * n).cos, 0.5);
  }
}

TEST(Elementary, Powers) {
  Random random;
  for (const double y : {1.0, 2.0, 3.0, 6.0, -6.0, 12.0, -13.0, 33.0, 63.0, -64.0}) {
    const double range = 700 / std::abs(y);
    compare(
        "whole power", std::max(1.0, 1.1 * std::abs(y)), [=](double x) { return math::pow(x, y); },
        [=](long double x) { return std::pow(x, static_cast<long double>(y)); },
        [&] { return math::exp(random.uniform(-range, range)) * (random.word() % 2 == 0 ? 1 : -1); });
  }
  for (const double y : {0.5, 1 / 3.0, 1.5, -2.5, 65.0, -321.25, 1e4, 1e-5}) {
    const double range = std::min(700 / std::abs(y), 700.0);
    compare(
        "power", 0.65, [=](double x) { return math::pow(x, y); },
        [=](long double x) { return std::pow(x, static_cast<long double>(y)); },
        [&] { return math::exp(random.uniform(-range, range)); });
  }
  EXPECT_EQ(math::pow(2, 10), 1024);
  EXPECT_EQ(math::pow(-2, -3), -0.125);
  EXPECT_EQ(math::pow(2, 100.0), 0x1p100);
  EXPECT_EQ(math::pow(5, 0), 1);
  EXPECT_EQ(math::pow(0, 0.5), 0);
  EXPECT_EQ(math::pow(0, 3), 0);
  EXPECT_EQ(math::pow(0, -0.5), infinity);
  EXPECT_EQ(math::pow(infinity, 0.5), infinity);
  EXPECT_EQ(math::pow(infinity, -0.5), 0);
  EXPECT_EQ(math::pow(2, 1e300), infinity);
  EXPECT_EQ(math::pow(2, -1e300), 0);
  EXPECT_EQ(math::pow(1, 1e300), 1);
  EXPECT_TRUE(std::isnan(math::pow(-2, 0.5)));
  EXPECT_TRUE(std::isnan(math::pow(not_a_number, 0.5)));
}

TEST(Elementary, ErrorFunctions) {
  Random random;
  const auto erf_exact = [](long double x) { return std::erf(x); };
  const auto erfc_exact = [](long double x) { return std::erfc(x); };
  compare("erf", 1.2, math::erf, erf_exact, [&] { return random.uniform(-6.5, 6.5); });
  compare("small erf", 1.2, math::erf, erf_exact, [&] { return random.scaled(-1022, 0); });
  compare("erfc", 4.5, math::erfc, erfc_exact, [&] { return random.uniform(-6.5, 3); });
  compare("small erfc", 4.5, math::erfc, erfc_exact, [&] { return random.uniform(3, 27.3); });
  EXPECT_EQ(math::erf(0), 0);
  EXPECT_TRUE(std::signbit(math::erf(-0.0)));
  EXPECT_EQ(math::erf(infinity), 1);
  EXPECT_EQ(math::erf(-infinity), -1);
  EXPECT_EQ(math::erfc(0), 1);
  EXPECT_EQ(math::erfc(infinity), 0);
  EXPECT_EQ(math::erfc(-infinity), 2);
  EXPECT_TRUE(std::isnan(math::erf(not_a_number)));
  EXPECT_TRUE(std::isnan(math::erfc(not_a_number)));
  for (int i = 0; i < tries; ++i) {
    const double x = random.uniform(0, 7);
    ASSERT_EQ(math::erf(-x), -math::erf(x));
    ASSERT_NEAR(math::erf(x) + math::erfc(x), 1, 2.3e-16);
  }
}

TEST(Elementary, Angles) {
  Random random;
  const auto sign = [&] { return random.word() % 2 == 0 ? 1 : -1; };
  for (int i = 0; i < 2 * tries && LDBL_MANT_DIG >= 64; ++i) {
    const int range = i % 2 == 0 ? 3 : 300;
    const double y = sign() * random.scaled(-range, range), x = sign() * random.scaled(-range, range);
    ASSERT_LT(ulps(math::atan2(y, x), std::atan2(static_cast<long double>(y), static_cast<long double>(x))), 2)
        << y << " " << x;
    ASSERT_EQ(math::atan2(-y, x), -math::atan2(y, x));
  }
  compare(
      "asin", 2.5, math::asin, [](long double x) { return std::asin(x); }, [&] { return random.uniform(-1, 1); });
  const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  for (const double y : {0.0, least, 1.0, 1.5, most, infinity}) {
    for (const double x : {0.0, least, 1.0, 1.5, most, infinity}) {
      for (const double a : {y, -y}) {
        for (const double b : {x, -x}) {
          const double angle = math::atan2(a, b), expected = std::atan2(a, b);
          EXPECT_LT(ulps(angle, expected), 2) << a << " " << b;
          EXPECT_EQ(std::signbit(angle), std::signbit(expected)) << a << " " << b;
        }
      }
    }
  }
  EXPECT_EQ(math::asin(1), std::numbers::pi / 2);
  EXPECT_EQ(math::asin(0), 0);
  EXPECT_TRUE(std::isnan(math::asin(1.001)));
  EXPECT_TRUE(std::isnan(math::atan2(not_a_number, 1)));
  EXPECT_TRUE(std::isnan(math::atan2(1, not_a_number)));
}

/// A hash of the bits of numbers. Source: Fowler, Noll and Vo, http://www.isthe.com/chongo/tech/comp/fnv/ (FNV-1a).
struct Hash {
  std::uint64_t value = 0xcbf29ce484222325;
  void add(double x) {
    for (int byte = 0; byte < 8; ++byte) {
      value ^= (std::bit_cast<std::uint64_t>(x) >> (8 * byte)) & 255;
      value *= 0x100000001b3;
    }
  }
};

TEST(Elementary, BitsAreTheSameOnEveryMachine) {
  Random random;
  Hash exp, log, circle, turn, power, error, angle;
  for (int i = 0; i < 2000; ++i) {
    exp.add(math::exp(random.uniform(-750, 715)));
    exp.add(math::exp(random.uniform(-1, 1)));
    log.add(math::log(random.scaled(-1074, 1024)));
    log.add(math::log(random.uniform(0.5, 2)));
    for (const double range : {1.0, 1e5, 1e9}) {
      const double radians = random.uniform(-range, range);
      circle.add(math::sin(radians));
      circle.add(math::cos(radians));
    }
    const auto n = static_cast<std::int64_t>(1 + random.word() % (std::uint64_t{1} << (1 + i % 40)));
    const auto k = static_cast<std::int64_t>(random.word());
    const auto sincos = math::sincos_of_turn(k, n);
    turn.add(sincos.sin);
    turn.add(sincos.cos);
    const double base = random.scaled(-20, 20), exponent = random.uniform(-60, 60);
    power.add(math::pow(base, exponent));
    power.add(math::pow(random.uniform(0.5, 2), i % 129 - 64));
    const double distance = random.uniform(-7, 27.5);
    error.add(math::erf(distance));
    error.add(math::erfc(distance));
    error.add(math::erf(random.scaled(-60, 1)));
    const double y = random.uniform(-1, 1), x = random.uniform(-1, 1);
    angle.add(math::atan2(y, x));
    angle.add(math::asin(random.uniform(-1, 1)));
  }
  EXPECT_EQ(exp.value, 0x9a5304dedd12bcdbu);
  EXPECT_EQ(log.value, 0xca8303f8c32e92dbu);
  EXPECT_EQ(circle.value, 0x36e72cfd149e3979u);
  EXPECT_EQ(turn.value, 0xe83d5f5e7a18d2edu);
  EXPECT_EQ(power.value, 0x6dc2b51b4d66983fu);
  EXPECT_EQ(error.value, 0x79f776e03b837b31u);
  EXPECT_EQ(angle.value, 0xfe8d1bfda9c3f2dau);
}

}  // namespace
}  // namespace tessera
