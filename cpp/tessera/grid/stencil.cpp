#include "tessera/grid/stencil.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tessera/base/error.h"

namespace tessera::grid {

namespace {

/// Returns the vectors G with G[d] · steps[e] = 1 where d = e, else 0.
std::array<Vec3, 3> reciprocal(const std::array<Vec3, 3>& steps) {
  const auto& [a, b, c] = steps;
  const double volume = dot(a, cross(b, c));
  if (!(std::abs(volume) > 1e-9 * norm(a) * norm(b) * norm(c)))
    throw InputError("the steps of the grid lie in a plane; expected three directions");
  return {(1 / volume) * cross(b, c), (1 / volume) * cross(c, a), (1 / volume) * cross(a, b)};
}

/// Adds a term; of equal offsets there is one.
void add(Stencil& stencil, const Index3& offset, double coefficient) {
  if (coefficient == 0) return;
  const auto known = std::find(stencil.offsets.begin(), stencil.offsets.end(), offset);
  if (known == stencil.offsets.end()) {
    stencil.offsets.push_back(offset);
    stencil.coefficients.push_back(coefficient);
  } else {
    stencil.coefficients[static_cast<std::size_t>(known - stencil.offsets.begin())] += coefficient;
  }
}

/// Adds a central difference formula along one direction, times a factor.
void add_along(Stencil& stencil, std::size_t d, const std::vector<double>& formula, double factor) {
  const auto half = static_cast<std::int64_t>(formula.size() / 2);
  for (std::int64_t i = 0; i <= half; ++i)  // from the centre outwards
    for (const auto at : {i, -i}) {
      Index3 offset{};
      offset[d] = at;
      add(stencil, offset, factor * formula[static_cast<std::size_t>(half + at)]);
      if (i == 0) break;
    }
}

}  // namespace

std::array<Index3, 2> Stencil::reach() const {
  std::array<Index3, 2> reach{};
  for (const auto& offset : offsets)
    for (std::size_t d = 0; d < 3; ++d) {
      reach[0][d] = std::max(reach[0][d], -offset[d]);
      reach[1][d] = std::max(reach[1][d], offset[d]);
    }
  return reach;
}

bool Stencil::is_on_axes() const {
  return std::all_of(offsets.begin(), offsets.end(),
                     [](const Index3& offset) { return (offset[0] != 0) + (offset[1] != 0) + (offset[2] != 0) <= 1; });
}

std::vector<double> central_differences(int derivative, int order) {
  if (order < 2 || order > most_order || order % 2 != 0)
    throw InputError(fmt::format("a stencil of order {}; expected 2, 4, 6, 8, 10 or {}", order, most_order));
  TESSERA_CHECK(derivative == 1 || derivative == 2);
  const int half = order / 2;
  std::vector<double> formula(static_cast<std::size_t>(order) + 1);
  double centre = 0;
  for (int k = 1; k <= half; ++k) {
    // (half!)² / ((half − k)! (half + k)!), of integers that doubles hold.
    double above = 1, below = 1;
    for (int i = half - k + 1; i <= half; ++i) above *= i;
    for (int i = half + 1; i <= half + k; ++i) below *= i;
    const double sign = k % 2 == 1 ? 1 : -1;
    const double value = sign * (derivative == 1 ? above / (k * below) : 2 * above / (k * k * below));
    const auto middle = formula.begin() + half;
    middle[k] = value;
    middle[-k] = derivative == 1 ? -value : value;
    centre -= 2 * value;
  }
  if (derivative == 2) formula[static_cast<std::size_t>(half)] = centre;
  return formula;
}

Stencil laplacian(int order, const std::array<Vec3, 3>& steps) {
  const auto second = central_differences(2, order), first = central_differences(1, order);
  const auto g = reciprocal(steps);
  Stencil stencil;
  for (std::size_t d = 0; d < 3; ++d) add_along(stencil, d, second, dot(g[d], g[d]));
  const auto half = static_cast<std::int64_t>(first.size() / 2);
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t e = d + 1; e < 3; ++e) {
      const double factor = 2 * dot(g[d], g[e]);
      if (std::abs(factor) < 1e-12 * norm(g[d]) * norm(g[e])) continue;  // at right angles, up to rounding
      for (std::int64_t i = -half; i <= half; ++i)
        for (std::int64_t j = -half; j <= half; ++j) {
          Index3 offset{};
          offset[d] = i;
          offset[e] = j;
          add(stencil, offset,
              factor * first[static_cast<std::size_t>(half + i)] * first[static_cast<std::size_t>(half + j)]);
        }
    }
  return stencil;
}

Stencil gradient(int order, int axis, const std::array<Vec3, 3>& steps) {
  const auto first = central_differences(1, order);
  const auto g = reciprocal(steps);
  TESSERA_CHECK(axis >= 0 && axis < 3);
  Stencil stencil;
  for (std::size_t d = 0; d < 3; ++d) {
    const double factor = axis == 0 ? g[d].x : axis == 1 ? g[d].y : g[d].z;
    if (std::abs(factor) < 1e-12 * norm(g[d])) continue;
    add_along(stencil, d, first, factor);
  }
  return stencil;
}

}  // namespace tessera::grid
