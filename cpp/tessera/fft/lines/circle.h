// Computes cosines and sines at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <numbers>

namespace tessera::fft {

inline constexpr long double pi = std::numbers::pi_v<long double>;

/// Returns Taylor's series of cos (term 0) or sin (term 1), |x| ≤ π.
constexpr long double taylor(long double x, int term) {
  long double sum = 0, power = term == 0 ? 1 : x;
  for (; term < 50; term += 2) {
    sum += power;
    power *= -x * x / static_cast<long double>((term + 1) * (term + 2));
  }
  return sum;
}

/// Returns cos and sin of 2π e/n, 0 ≤ e < n.
template <int n>
class Circle {
  template <class Real>
  static constexpr std::array<Real, n> values(int term) {
    std::array<Real, n> result{};
    for (int e = 0; e < n; ++e)
      result[static_cast<std::size_t>(e)] =
          static_cast<Real>(taylor(2 * pi * static_cast<long double>(2 * e > n ? e - n : e) / n, term));
    return result;
  }

 public:
  template <class Real>
  static constexpr std::array<Real, n> cosine = values<Real>(0);
  template <class Real>
  static constexpr std::array<Real, n> sine = values<Real>(1);
};

}  // namespace tessera::fft
