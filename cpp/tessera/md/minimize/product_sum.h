// Sums products of many atoms so that the result does not depend on the order, and with far more range and resolution
// than one integer has: each product is cut into three digits of 30 bits, and each digit is summed as an integer. The
// unit is 2⁻⁶⁰, a sum may be as large as 2⁶². Scalar products of L-BFGS need this, as those of displacements are small
// (1e-12 Å²) and those of forces large.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "tessera/base/fixed_point.h"

namespace tessera::md::minimize {

struct ProductSum {
  static constexpr double radix = 1073741824;  // 2³⁰
  std::array<std::int64_t, 3> digit{};         // in units of 1, 2⁻³⁰ and 2⁻⁶⁰

  void add(double product) {
    constexpr double limit = 1e15;
    if (!(std::abs(product) < limit)) product = product < 0 ? -limit : limit;  // NaN too, so that it shows
    for (auto& sum : digit) {
      const auto whole = static_cast<std::int64_t>(product);
      add_fixed(sum, whole);
      product = (product - static_cast<double>(whole)) * radix;
    }
  }
  void merge(const ProductSum& other) {
    for (std::size_t i = 0; i < digit.size(); ++i) add_fixed(digit[i], other.digit[i]);
  }
  double value() const {
    return static_cast<double>(digit[0]) +
           (static_cast<double>(digit[1]) + static_cast<double>(digit[2]) / radix) / radix;
  }
};

}  // namespace tessera::md::minimize
