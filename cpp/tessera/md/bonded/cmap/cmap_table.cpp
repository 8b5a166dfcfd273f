// Builds and evaluates CMAP surfaces; formulas and sources are in cmap_table.h.
#include "tessera/md/bonded/cmap/cmap_table.h"

#include <cmath>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/units.h"

namespace tessera::md::bonded {
namespace {

// Returns the slopes (per grid step) at the knots of the periodic cubic spline through `value`. They solve the cyclic
// system s[i−1] + 4 s[i] + s[i+1] = 3 (value[i+1] − value[i−1]), by elimination with the last unknown kept apart (s = p
// + s[n−1]·q).
std::vector<double> periodic_spline_slopes(const std::vector<double>& value) {
  const std::size_t n = value.size(), last = n - 1;
  const auto right = [&](std::size_t i) { return 3 * (value[(i + 1) % n] - value[(i + n - 1) % n]); };
  std::vector<double> upper(last), p(last), q(last);
  for (std::size_t i = 0; i < last; ++i) {
    const double pivot = i == 0 ? 4.0 : 4.0 - upper[i - 1];
    upper[i] = 1 / pivot;
    double right_q = 0;
    if (i == 0) right_q -= 1;
    if (i == last - 1) right_q -= 1;
    p[i] = (right(i) - (i == 0 ? 0.0 : p[i - 1])) / pivot;
    q[i] = (right_q - (i == 0 ? 0.0 : q[i - 1])) / pivot;
  }
  for (std::size_t i = last - 1; i-- > 0;) {
    p[i] -= upper[i] * p[i + 1];
    q[i] -= upper[i] * q[i + 1];
  }
  std::vector<double> slope(n);
  slope[last] = (right(last) - p[0] - p[last - 1]) / (4 + q[0] + q[last - 1]);
  for (std::size_t i = 0; i < last; ++i) slope[i] = p[i] + slope[last] * q[i];
  return slope;
}

}  // namespace

CmapTable make_cmap_table(const model::CmapParameter& parameter) {
  const int n = parameter.n;
  if (n < 3 || parameter.energy.size() != static_cast<std::size_t>(n) * static_cast<std::size_t>(n)) {
    throw InputError("CMAP: " + std::to_string(parameter.energy.size()) +
                     " energies for a grid of n = " + std::to_string(n) + ", expected n*n of them and n at least 3");
  }
  for (double energy : parameter.energy) {
    if (!std::isfinite(energy)) throw InputError("CMAP: the grid holds an energy that is not a finite number");
  }
  const auto size = static_cast<std::size_t>(n);
  CmapTable table;
  table.n_ = n;
  table.inverse_step_ = n / (2 * units::pi);
  table.nodes_.resize(size * size);
  for (std::size_t i = 0; i < size * size; ++i) table.nodes_[i][0] = parameter.energy[i];

  // Sets component `to` to the slope of component `from` along the index of stride `stride`.
  const auto differentiate = [&](std::size_t from, std::size_t to, std::size_t stride) {
    const std::size_t other = stride == 1 ? size : 1;
    std::vector<double> line(size);
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t i = 0; i < size; ++i) line[i] = table.nodes_[i * stride + j * other][from];
      const std::vector<double> slope = periodic_spline_slopes(line);
      for (std::size_t i = 0; i < size; ++i) table.nodes_[i * stride + j * other][to] = slope[i];
    }
  };
  differentiate(0, 1, size);
  differentiate(0, 2, 1);
  differentiate(1, 3, 1);
  return table;
}

}  // namespace tessera::md::bonded
