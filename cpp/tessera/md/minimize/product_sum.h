// Sums products of many atoms so that the result does not depend on the order, and with far more range and resolution
// than one integer has: each product is cut into three digits of 30 bits, and each digit is summed as an integer. The
// unit is 2⁻⁶⁰, a sum may be as large as 2⁶². Scalar products of L-BFGS need this, as those of displacements are small
// (1e-12 Å²) and those of forces large.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/fixed_point.h"

namespace tessera::md::minimize {

/// N sums side by side. Digits of a few additions are kept as doubles, in which they are whole multiples of their unit
/// and exact: so a processor adds several at once.
template <std::size_t N>
class ProductSums {
 public:
  void add(const std::array<double, N>& products) {
    for (std::size_t i = 0; i < N; ++i) {
      // NaN becomes the limit, so that it shows.
      const double below = products[i] < limit ? products[i] : limit;
      const double product = below > -limit ? below : -limit;
      const double first = (product + rounding[0]) - rounding[0];
      const double second = (product - first + rounding[1]) - rounding[1];
      waiting_[0][i] += first;
      waiting_[1][i] += second;
      waiting_[2][i] += (product - first - second + rounding[2]) - rounding[2];
    }
    if (++n_waiting_ == most_waiting) carry();
  }

  void merge(ProductSums& other) {
    carry();
    other.carry();
    for (std::size_t i = 0; i < 3 * N; ++i) add_fixed(digits_[i], other.digits_[i]);
  }

  /// Returns the digits, of which those of several sums may be added to each other.
  std::span<std::int64_t> digits() {
    carry();
    return digits_;
  }

  double value(std::size_t i) {
    carry();
    const auto digit = [&](std::size_t which) { return static_cast<double>(digits_[which * N + i]); };
    return digit(0) + (digit(1) + digit(2) / radix) / radix;
  }

 private:
  static constexpr double radix = 1073741824;       // 2³⁰
  static constexpr double limit = 562949953421312;  // 2⁴⁹: as many as may wait have a sum that is exact
  static constexpr std::size_t most_waiting = 8;
  /// Adding and subtracting 1.5·2⁵² units rounds to whole units.
  static constexpr std::array<double, 3> rounding = {6755399441055744, 6755399441055744 / radix,
                                                     6755399441055744 / (radix * radix)};

  void carry() {
    double units = 1;
    for (std::size_t which = 0; which < 3; ++which, units *= radix)
      for (std::size_t i = 0; i < N; ++i) {
        add_fixed(digits_[which * N + i], static_cast<std::int64_t>(units * waiting_[which][i]));
        waiting_[which][i] = 0;
      }
    n_waiting_ = 0;
  }

  std::array<std::array<double, N>, 3> waiting_{};
  std::size_t n_waiting_ = 0;
  std::array<std::int64_t, 3 * N> digits_{};  // in units of 1, 2⁻³⁰ and 2⁻⁶⁰
};

}  // namespace tessera::md::minimize
