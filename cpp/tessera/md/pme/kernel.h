// Declares the inner loops of the particle mesh: charges to mesh points, mesh potentials to gradients at atoms, and
// these to forces.
//
//   spread   Q(k) += q M_p(u₁−k₁) M_p(u₂−k₂) M_p(u₃−k₃), rounded to an integer multiple of 1/scale e
//   gather   g_d = ∂/∂u_d Σ_k φ(k) M_p(u₁−k₁) M_p(u₂−k₂) M_p(u₃−k₃)
//
// An atom's weights follow from its fractions only, so every rank and thread that has it adds the same integers, and
// sums of integers do not depend on their order. There is one scalar version for any precision (kernel_reference.cpp,
// the reference of tests) and one with vectors for float.
//
// Source: U. Essmann et al., J. Chem. Phys. 103, 8577 (1995), eqs. 4.6, 4.9, doi:10.1063/1.470117.
// Units: e, mesh points. Cost: p³ multiply-adds per atom for each loop.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/index_box.h"
#include "tessera/md/pme/spline.h"

namespace tessera::md::pme {

/// Charges are summed as these integers. For float a point holds up to ±128 e in steps of 6e-8 e, and rounding p³
/// weights per atom leaves a relative error of 3e-7 (order 4) to 1e-6 (order 8) in forces. For double a point holds
/// ±5·10⁵ e in steps of 6e-14 e.
template <class Real>
using FixedCharge = std::conditional_t<std::is_same_v<Real, float>, std::int32_t, std::int64_t>;
template <class Real>
inline constexpr double charge_scale = std::is_same_v<Real, float> ? 16777216.0 : 17592186044416.0;  // per e

/// Locates an atom's points in an array that holds part of the mesh. Along each direction the first point is at (point
/// + offset) mod n, and at those of its periodic images that lie in the array.
struct MeshWindow {
  Index3 grid{};    // n
  Index3 offset{};  // in [0, n)
  Index3 extent{};  // of the array
  std::int64_t stride_x = 0, stride_y = 0;

  /// Takes the array's first point (any image of a mesh point) and extents. Rows are `row` values apart.
  MeshWindow(const Index3& grid, const Index3& lower, const Index3& extent, std::int64_t row, int order);

  std::int64_t first(int d, const MeshCoordinate& at) const {
    const std::int64_t first = at.point + offset[static_cast<std::size_t>(d)];
    return first < grid[static_cast<std::size_t>(d)] ? first : first - grid[static_cast<std::size_t>(d)];
  }
};

/// Kernels may read this many values past an array's last row, and may write arbitrary values to them.
inline constexpr std::int64_t mesh_slack = 16;

/// Refers to a brick of the mesh with p−1 more points on every side, so that a spline which touches the brick fits. The
/// values at these extra points are never read. Rows of planes x outside [x_begin, x_end) (of the array) do not change.
template <class Real>
struct SpreadTarget {
  MeshWindow window;
  FixedCharge<Real>* mesh;
  std::int64_t x_begin, x_end;
};

/// Lists the charged atoms whose splines touch planes [x_begin, x_end) of the window.
template <class Real>
void select_atoms(const MeshWindow& window, int order, std::int64_t x_begin, std::int64_t x_end,
                  std::span<const Fraction> position, std::span<const Real> charge, std::vector<std::int32_t>& atoms);

template <class Real>
void spread_reference(const SpreadTarget<Real>& target, int order, std::span<const std::int32_t> atoms,
                      const Fraction* position, const Real* charge);

/// Computes the gradients by u of n atoms, (n,3). Returns false if some atom's spline does not fit the window.
template <class Real>
bool gather_reference(const MeshWindow& window, const Real* mesh, int order, std::int64_t n, const Fraction* position,
                      const Real* charge, Real* gradient);

/// Adds charge × (x K₀ + y K₁ + z K₂) of n atoms to their forces, (n,3) in units of force_unit; x, y, z are the
/// gradients that gather() computes, and K is to_force, (3), kcal/mol/Å/e.
template <class Real>
void add_forces_reference(std::int64_t n, const Real* charge, const Real* gradient, const Vec3* to_force,
                          std::int64_t* force);

/// Converts integers to charges; returns the greatest magnitude among the integers.
template <class Real>
std::int64_t convert_reference(const FixedCharge<Real>* fixed, Real* charge, std::int64_t n);

// These versions are the ones that run: those with vectors for float, the references for double.

void spread(const SpreadTarget<float>& target, int order, std::span<const std::int32_t> atoms, const Fraction* position,
            const float* charge);
bool gather(const MeshWindow& window, const float* mesh, int order, std::int64_t n, const Fraction* position,
            const float* charge, float* gradient);
void add_forces(std::int64_t n, const float* charge, const float* gradient, const Vec3* to_force, std::int64_t* force);
std::int64_t convert(const std::int32_t* fixed, float* charge, std::int64_t n);

inline void spread(const SpreadTarget<double>& target, int order, std::span<const std::int32_t> atoms,
                   const Fraction* position, const double* charge) {
  spread_reference(target, order, atoms, position, charge);
}
inline bool gather(const MeshWindow& window, const double* mesh, int order, std::int64_t n, const Fraction* position,
                   const double* charge, double* gradient) {
  return gather_reference(window, mesh, order, n, position, charge, gradient);
}
inline void add_forces(std::int64_t n, const double* charge, const double* gradient, const Vec3* to_force,
                       std::int64_t* force) {
  add_forces_reference(n, charge, gradient, to_force, force);
}
inline std::int64_t convert(const std::int64_t* fixed, double* charge, std::int64_t n) {
  return convert_reference<double>(fixed, charge, n);
}

}  // namespace tessera::md::pme
