#include "tessera/grid/eigen/hamiltonian.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

namespace {

Stencil kinetic_stencil(int order, const std::array<Vec3, 3>& steps) {
  auto stencil = laplacian(order, steps);
  for (auto& coefficient : stencil.coefficients) coefficient *= -0.5;
  return stencil;
}

/// to += (potential − shift) · from for n points of `kComponents` numbers.
template <int kComponents>
void add_potential(const double* potential, double shift, const double* from, double* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double factor = potential[i] - shift;
    for (int c = 0; c < kComponents; ++c) to[kComponents * i + c] += factor * from[kComponents * i + c];
  }
}

double sum_of_squares(const double* values, std::int64_t n) {
  constexpr std::int64_t lanes = 8;
  std::array<double, lanes> sums{};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      sums[static_cast<std::size_t>(lane)] += values[i + lane] * values[i + lane];
  double sum = 0;
  for (; i < n; ++i) sum += values[i] * values[i];
  for (const double value : sums) sum += value;
  return sum;
}

}  // namespace

Hamiltonian::Hamiltonian(const WaveGrid& grid, int order, std::span<const double> potential)
    : grid_(grid),
      components_(grid.is_complex ? 2 : 1),
      potential_(potential.begin(), potential.end()),
      kinetic_(kinetic_stencil(order, grid.steps), grid.layout,
               OperatorOptions{.is_complex = grid.is_complex, .phases = grid.phases}, grid.comm, grid.threads) {
  TESSERA_CHECK(static_cast<std::int64_t>(potential_.size()) * components_ == kinetic_.values_of_field());
}

std::int64_t Hamiltonian::fields_of(std::span<const double> values) const {
  const auto n = kinetic_.values_of_field();
  return n == 0 ? 0 : static_cast<std::int64_t>(values.size()) / n;
}

void Hamiltonian::apply(std::span<const double> from, std::span<double> to, std::int64_t n) {
  const std::vector<double> zeros(static_cast<std::size_t>(n), 0.0);
  find_residuals(from, zeros, to, {});
}

void Hamiltonian::find_residuals(std::span<const double> from, std::span<const double> eigenvalues,
                                 std::span<double> to, std::span<double> squares) {
  const auto planes = std::max<std::int64_t>(kinetic_.box().extent(0), 1);
  const auto values = kinetic_.values_of_field(), of_plane = values / planes, points = of_plane / components_;
  std::vector<double> sums(squares.empty() ? 0 : eigenvalues.size() * static_cast<std::size_t>(planes));
  const auto after = [&](std::int64_t field, std::int64_t first, std::int64_t last) {
    const double shift = eigenvalues[static_cast<std::size_t>(field)];
    for (auto plane = first; plane < last; ++plane) {
      const auto at = field * values + plane * of_plane;
      const auto add = components_ == 2 ? &add_potential<2> : &add_potential<1>;
      add(potential_.data() + plane * points, shift, from.data() + at, to.data() + at, points);
      if (!sums.empty())
        sums[static_cast<std::size_t>(field * planes + plane)] = sum_of_squares(to.data() + at, of_plane);
    }
  };
  kinetic_.apply(from, to, static_cast<std::int64_t>(eigenvalues.size()), {}, after);
  if (squares.empty()) return;
  for (std::size_t field = 0; field < squares.size(); ++field) {
    const auto* first = sums.data() + field * static_cast<std::size_t>(planes);
    squares[field] = 0;
    for (std::int64_t plane = 0; plane < planes; ++plane) squares[field] += first[plane];
  }
  grid_.comm.all_reduce_rounded_sum(squares);
}

void Hamiltonian::fill_with_noise(std::span<double> fields, std::int64_t first) const {
  constexpr std::uint64_t seed = 20;
  const IndexBox whole{{0, 0, 0}, grid_.layout.shape};
  const auto& box = kinetic_.box();
  const auto n = kinetic_.values_of_field();
  for (std::int64_t field = 0; field < fields_of(fields); ++field) {
    double* to = fields.data() + field * n;
    for (auto x = box.lower[0]; x < box.upper[0]; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y)
        for (auto z = box.lower[2]; z < box.upper[2]; ++z) {
          const auto words = random_words(seed, RandomStream::field, static_cast<std::uint64_t>(whole.flat({x, y, z})),
                                          static_cast<std::uint64_t>(first + field));
          for (std::int64_t c = 0; c < components_; ++c)
            *to++ = (words[static_cast<std::size_t>(c)] + 0.5) / 2147483648.0 - 1;
        }
  }
}

}  // namespace tessera::grid
