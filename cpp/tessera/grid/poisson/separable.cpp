#include "tessera/grid/poisson/separable.h"

#include "tessera/base/math/double_double.h"

namespace tessera::grid {

Stencil SeparableLaplacian::stencil() const {
  Stencil stencil;
  const auto size = [&](std::size_t d) {
    return static_cast<std::int64_t>(std::max(second[d].size(), mean[d].size()));
  };
  const auto at = [](const std::vector<double>& formula, std::int64_t offset) {
    const auto k = static_cast<std::size_t>(offset < 0 ? -offset : offset);
    return k < formula.size() ? formula[k] : 0.0;
  };
  Index3 r{};
  for (r[0] = 1 - size(0); r[0] < size(0); ++r[0])
    for (r[1] = 1 - size(1); r[1] < size(1); ++r[1])
      for (r[2] = 1 - size(2); r[2] < size(2); ++r[2]) {
        std::array<double, 3> k2{}, m{};
        for (std::size_t d = 0; d < 3; ++d) k2[d] = at(second[d], r[d]), m[d] = at(mean[d], r[d]);
        if (const double coefficient = eigenvalue(k2, m); coefficient != 0) {
          stencil.offsets.push_back(r);
          stencil.coefficients.push_back(coefficient);
        }
      }
  return stencil;
}

SeparableLaplacian plain_laplacian(int order, const std::array<double, 3>& steps) {
  const auto formula = central_differences(2, order);
  SeparableLaplacian laplacian;
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t k = formula.size() / 2; k < formula.size(); ++k)
      laplacian.second[d].push_back(formula[k] / (steps[d] * steps[d]));
    laplacian.mean[d] = {1.0};
  }
  return laplacian;
}

double symbol(const std::vector<double>& formula, double sum, std::int64_t turn, std::int64_t turns) {
  // cos 2a = 1 − 2 sin² a keeps the digits of long waves.
  double factor = sum;
  for (std::size_t k = 1; k < formula.size(); ++k) {
    const double half = math::sincos_of_turn(static_cast<std::int64_t>(k) * turn, 2 * turns).sin;
    factor -= 4 * formula[k] * half * half;
  }
  return factor;
}

std::vector<double> symbols(const std::vector<double>& formula, double sum, std::int64_t n, bool is_periodic) {
  std::vector<double> found;
  for (std::int64_t k = 0; k < n; ++k)
    found.push_back(is_periodic ? symbol(formula, sum, (k + 1) / 2, n) : symbol(formula, sum, k + 1, 2 * (n + 1)));
  return found;
}

}  // namespace tessera::grid
