// Cosines and sines that the compiler computes.
#pragma once

#include <array>
#include <cstddef>

#include "tessera/base/math/double_double.h"

namespace tessera::fft {

/// Returns cos and sin of 2π e/n, 0 ≤ e < n.
template <int n>
class Circle {
  template <class Real>
  static constexpr std::array<Real, n> values(double math::SinCos::*which) {
    std::array<Real, n> result{};
    for (int e = 0; e < n; ++e)
      result[static_cast<std::size_t>(e)] = static_cast<Real>(math::sincos_of_turn(e, n).*which);
    return result;
  }

 public:
  template <class Real>
  static constexpr std::array<Real, n> cosine = values<Real>(&math::SinCos::cos);
  template <class Real>
  static constexpr std::array<Real, n> sine = values<Real>(&math::SinCos::sin);
};

}  // namespace tessera::fft
