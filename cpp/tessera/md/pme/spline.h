// Computes cardinal B-splines: an atom's mesh coordinate and the weights of the mesh points around it.
//
//   M_p(x) = [x M_{p−1}(x) + (p − x) M_{p−1}(x − 1)]/(p − 1),   M_p'(x) = M_{p−1}(x) − M_{p−1}(x − 1)
//
// Source: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), eqs. 4.1, 4.2, doi:10.1063/1.470117.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::md::pme {

inline constexpr int max_order = 8;

/// Computes the weights of points ⌊u⌋ − p/2 + 1 + j, j in [0, p), for an atom at u = ⌊u⌋ + w, and their derivatives by
/// u. `Value` is a number or any type with its operators.
template <int order, class Value>
inline void fill_spline(Value w, Value* weight, Value* slope) {
  weight[0] = Value(1) - w;
  weight[1] = w;
  for (int p = 3; p <= order; ++p) {
    if (p == order) {
      slope[0] = Value(0) - weight[0];
      for (int j = 1; j < p - 1; ++j) slope[j] = weight[j - 1] - weight[j];
      slope[p - 1] = weight[p - 2];
    }
    const Value scale = Value(1) / Value(static_cast<float>(p - 1));
    weight[p - 1] = scale * w * weight[p - 2];
    for (int j = p - 2; j > 0; --j)
      weight[j] = scale * ((w + Value(static_cast<float>(p - 1 - j))) * weight[j - 1] +
                           (Value(static_cast<float>(j + 1)) - w) * weight[j]);
    weight[0] = scale * (Value(1) - w) * weight[0];
  }
}

/// Holds a mesh coordinate along one direction: point ⌊u⌋ in [0, n) and the rest of u in units of 2⁻³².
struct MeshCoordinate {
  std::int64_t point;
  std::uint32_t rest;
};

inline MeshCoordinate mesh_coordinate(std::int32_t fraction, std::int64_t n) {
  const std::uint64_t scaled =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(fraction) ^ 0x80000000u) * static_cast<std::uint64_t>(n);
  return {static_cast<std::int64_t>(scaled >> 32), static_cast<std::uint32_t>(scaled)};
}

}  // namespace tessera::md::pme
