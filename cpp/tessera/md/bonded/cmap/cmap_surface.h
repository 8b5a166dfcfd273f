// Evaluates a surface of a CMAP table (cmap_table.h), on processors and devices.
#pragma once

#include <array>
#include <cstddef>

#include "tessera/base/units.h"

namespace tessera::md::bonded {

/// Refers to the grid points of a table.
struct CmapSurface {
  /// Holds a grid point's U, h·∂U/∂φ, h·∂U/∂ψ, h²·∂²U/∂φ∂ψ with h the grid step, all in kcal/mol.
  using Node = std::array<double, 4>;
  struct Value {
    double energy;                // kcal/mol
    double slope_phi, slope_psi;  // kcal/mol/rad
  };

  const Node* nodes;  // (n,n) [i_φ·n + i_ψ]
  int n;
  double inverse_step;  // rad⁻¹

  /// Returns U and its slopes; angles are in rad, a few turns at most.
  constexpr Value evaluate(double phi, double psi) const {
    const Place along_phi = locate(phi), along_psi = locate(psi);
    const Hermite f(along_phi.t), g(along_psi.t);
    const int i0 = along_phi.index, i1 = i0 + 1 == n ? 0 : i0 + 1;
    const int j0 = along_psi.index, j1 = j0 + 1 == n ? 0 : j0 + 1;

    Value result{0, 0, 0};
    const auto add_corner = [&](int i, int j, std::size_t a, std::size_t b) {
      const Node& node = nodes[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
      // These are the value and the φ-slope at this corner's grid line, interpolated along ψ first.
      const double value = node[0] * g.value[b] + node[2] * g.value[b + 2];
      const double tilt = node[1] * g.value[b] + node[3] * g.value[b + 2];
      const double value_slope = node[0] * g.slope[b] + node[2] * g.slope[b + 2];
      const double tilt_slope = node[1] * g.slope[b] + node[3] * g.slope[b + 2];
      result.energy += value * f.value[a] + tilt * f.value[a + 2];
      result.slope_phi += value * f.slope[a] + tilt * f.slope[a + 2];
      result.slope_psi += value_slope * f.value[a] + tilt_slope * f.value[a + 2];
    };
    add_corner(i0, j0, 0, 0);
    add_corner(i0, j1, 0, 1);
    add_corner(i1, j0, 1, 0);
    add_corner(i1, j1, 1, 1);
    result.slope_phi *= inverse_step;
    result.slope_psi *= inverse_step;
    return result;
  }

 private:
  /// Holds the four cubic Hermite polynomials of t in [0, 1]: value at 0, value at 1, slope at 0, slope at 1.
  struct Hermite {
    std::array<double, 4> value{}, slope{};

    constexpr explicit Hermite(double t) {
      const double u = 1 - t;
      value = {(1 + 2 * t) * u * u, t * t * (3 - 2 * t), t * u * u, -t * t * u};
      slope = {-6 * t * u, 6 * t * u, u * (1 - 3 * t), t * (3 * t - 2)};
    }
  };

  /// Holds the grid square of an angle and the place in it; −180° is grid point 0.
  struct Place {
    int index;
    double t;
  };
  constexpr Place locate(double angle) const {
    const double x = (angle + units::pi) * inverse_step;
    const int towards_zero = static_cast<int>(x), whole = towards_zero - (x < towards_zero ? 1 : 0);
    const int index = whole % n;
    return {index < 0 ? index + n : index, x - whole};
  }
};

}  // namespace tessera::md::bonded
