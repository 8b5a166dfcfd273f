#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/fixed_point.h"
#include "tessera/md/pme/kernel.h"

namespace tessera::md::pme {

namespace {

/// Calls function(integral constant) with the order as a compile-time number.
template <class Function>
auto with_order(int order, Function&& function) {
  switch (order) {
    case 4:
      return function(std::integral_constant<int, 4>());
    case 6:
      return function(std::integral_constant<int, 6>());
    default:
      TESSERA_CHECK(order == 8);
      return function(std::integral_constant<int, 8>());
  }
}

template <int order, class Real>
struct Splines {
  Real weight[3][order], slope[3][order];
  std::int64_t first[3];

  Splines(const MeshWindow& window, const Fraction& position) {
    const std::int32_t fraction[3] = {position.x, position.y, position.z};
    for (int d = 0; d < 3; ++d) {
      const auto at = mesh_coordinate(fraction[d], window.grid[static_cast<std::size_t>(d)]);
      first[d] = window.first(d, at);
      // The upper 24 bits of the rest fit a float exactly, so it can't be rounded up to the next point.
      fill_spline<order>(static_cast<Real>(at.rest >> 8) * static_cast<Real>(1.0 / 16777216.0), weight[d], slope[d]);
    }
  }
};

}  // namespace

MeshWindow::MeshWindow(const Index3& n, const Index3& lower, const Index3& size, std::int64_t row, int order)
    : grid(n), extent(size), stride_x(size[1] * row), stride_y(row) {
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t shift = (1 - order / 2 - lower[d]) % n[d];
    offset[d] = shift < 0 ? shift + n[d] : shift;
  }
}

template <class Real>
void select_atoms(const MeshWindow& window, int order, std::int64_t x_begin, std::int64_t x_end,
                  std::span<const Fraction> position, std::span<const Real> charge, std::vector<std::int32_t>& atoms) {
  const std::int64_t n = window.grid[0];
  atoms.resize(position.size());
  std::size_t selected = 0;
  for (std::size_t i = 0; i < position.size(); ++i) {
    // This is the first image whose last point is at or after x_begin.
    std::int64_t first = window.first(0, mesh_coordinate(position[i].x, n));
    while (first + order <= x_begin) first += n;
    atoms[selected] = static_cast<std::int32_t>(i);
    selected += static_cast<std::size_t>(first < x_end) & static_cast<std::size_t>(charge[i] != 0);
  }
  atoms.resize(selected);
}

template <class Real>
void spread_reference(const SpreadTarget<Real>& target, int order_, std::span<const std::int32_t> atoms,
                      const Fraction* position, const Real* charge) {
  with_order(order_, [&](auto constant) {
    constexpr int order = constant;
    const auto& w = target.window;
    for (const auto atom : atoms) {
      const Splines<order, Real> splines(w, position[atom]);
      const Real q = charge[atom] * static_cast<Real>(charge_scale<Real>);
      for (auto x0 = splines.first[0]; x0 + order <= w.extent[0]; x0 += w.grid[0])
        for (auto y0 = splines.first[1]; y0 + order <= w.extent[1]; y0 += w.grid[1])
          for (auto z0 = splines.first[2]; z0 + order <= w.extent[2]; z0 += w.grid[2])
            for (int i = 0; i < order; ++i) {
              if (x0 + i < target.x_begin || x0 + i >= target.x_end) continue;
              for (int j = 0; j < order; ++j) {
                const Real row_weight = q * splines.weight[0][i] * splines.weight[1][j];
                auto* row = target.mesh + (x0 + i) * w.stride_x + (y0 + j) * w.stride_y + z0;
                for (int k = 0; k < order; ++k) {
                  const auto value = static_cast<FixedCharge<Real>>(std::llrint(row_weight * splines.weight[2][k]));
                  using Bits = std::make_unsigned_t<FixedCharge<Real>>;
                  row[k] = static_cast<FixedCharge<Real>>(static_cast<Bits>(row[k]) + static_cast<Bits>(value));
                }
              }
            }
    }
  });
}

template <class Real>
bool gather_reference(const MeshWindow& w, const Real* mesh, int order_, std::int64_t n, const Fraction* position,
                      const Real* charge, Real* gradient) {
  return with_order(order_, [&](auto constant) {
    constexpr int order = constant;
    bool all_fit = true;
    for (std::int64_t atom = 0; atom < n; ++atom, gradient += 3) {
      gradient[0] = gradient[1] = gradient[2] = 0;
      if (charge[atom] == 0) continue;
      const Splines<order, Real> splines(w, position[atom]);
      const auto* first = splines.first;
      if (first[0] + order > w.extent[0] || first[1] + order > w.extent[1] || first[2] + order > w.extent[2]) {
        all_fit = false;
        continue;
      }
      const Real* corner = mesh + first[0] * w.stride_x + first[1] * w.stride_y + first[2];
      for (int i = 0; i < order; ++i)
        for (int j = 0; j < order; ++j) {
          Real sum = 0, slope = 0;
          for (int k = 0; k < order; ++k) {
            const Real value = corner[i * w.stride_x + j * w.stride_y + k];
            sum += splines.weight[2][k] * value;
            slope += splines.slope[2][k] * value;
          }
          gradient[0] += splines.slope[0][i] * splines.weight[1][j] * sum;
          gradient[1] += splines.weight[0][i] * splines.slope[1][j] * sum;
          gradient[2] += splines.weight[0][i] * splines.weight[1][j] * slope;
        }
    }
    return all_fit;
  });
}

template <class Real>
void add_forces_reference(std::int64_t n, const Real* charge, const Real* gradient, const Vec3* to_force,
                          std::int64_t* force) {
  for (std::int64_t i = 0; i < n; ++i, gradient += 3, force += 3) {
    const auto q = static_cast<double>(charge[i]);
    const double x = q * static_cast<double>(gradient[0]), y = q * static_cast<double>(gradient[1]),
                 z = q * static_cast<double>(gradient[2]);
    add_fixed_force(force, x * to_force[0] + y * to_force[1] + z * to_force[2]);
  }
}

template <class Real>
std::int64_t convert_reference(const FixedCharge<Real>* fixed, Real* charge, std::int64_t n) {
  std::int64_t greatest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    greatest = std::max(greatest, std::abs(static_cast<std::int64_t>(fixed[i])));
    charge[i] = static_cast<Real>(fixed[i]) * static_cast<Real>(1 / charge_scale<Real>);
  }
  return greatest;
}

#define TESSERA_INSTANTIATE(Real)                                                                                 \
  template void select_atoms(const MeshWindow&, int, std::int64_t, std::int64_t, std::span<const Fraction>,       \
                             std::span<const Real>, std::vector<std::int32_t>&);                                  \
  template void spread_reference(const SpreadTarget<Real>&, int, std::span<const std::int32_t>, const Fraction*,  \
                                 const Real*);                                                                    \
  template bool gather_reference(const MeshWindow&, const Real*, int, std::int64_t, const Fraction*, const Real*, \
                                 Real*);                                                                          \
  template void add_forces_reference(std::int64_t, const Real*, const Real*, const Vec3*, std::int64_t*);         \
  template std::int64_t convert_reference<Real>(const FixedCharge<Real>*, Real*, std::int64_t);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::md::pme
