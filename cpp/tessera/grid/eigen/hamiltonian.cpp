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

/// Adds (potential − shift) · from to `to`, for n points of `kComponents` numbers; returns Σ |to|² and Σ potential ·
/// |from|².
template <int kComponents>
std::array<double, 2> add_potential(const double* potential, double shift, const double* from, double* to,
                                    std::int64_t n) {
  constexpr std::int64_t lanes = 4;
  std::array<double, lanes> squares{}, energies{};
  const auto visit = [&](std::int64_t i, std::size_t lane) {
    for (int c = 0; c < kComponents; ++c) {
      const double value = from[kComponents * i + c];
      const double sum = to[kComponents * i + c] + (potential[i] - shift) * value;
      to[kComponents * i + c] = sum;
      squares[lane] += sum * sum;
      energies[lane] += potential[i] * (value * value);
    }
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) visit(i + lane, static_cast<std::size_t>(lane));
  for (; i < n; ++i) visit(i, 0);
  return {(squares[0] + squares[1]) + (squares[2] + squares[3]),
          (energies[0] + energies[1]) + (energies[2] + energies[3])};
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
  (void)sums_of_planes(from, zeros, to);
}

/// Returns the sums of each plane of each field.
std::vector<std::array<double, 2>> Hamiltonian::sums_of_planes(std::span<const double> from,
                                                               std::span<const double> eigenvalues,
                                                               std::span<double> to) {
  const auto planes = kinetic_.box().is_empty() ? 0 : kinetic_.box().extent(0);
  const auto values = kinetic_.values_of_field(), of_plane = planes == 0 ? 0 : values / planes;
  const auto points = of_plane / components_;
  std::vector<std::array<double, 2>> sums(eigenvalues.size() * static_cast<std::size_t>(planes));
  const auto add = components_ == 2 ? &add_potential<2> : &add_potential<1>;
  kinetic_.apply(from, to, static_cast<std::int64_t>(eigenvalues.size()), {},
                 [&](std::int64_t field, std::int64_t first, std::int64_t last) {
                   for (auto plane = first; plane < last; ++plane) {
                     const auto at = field * values + plane * of_plane;
                     sums[static_cast<std::size_t>(field * planes + plane)] =
                         add(potential_.data() + plane * points, eigenvalues[static_cast<std::size_t>(field)],
                             from.data() + at, to.data() + at, points);
                   }
                 });
  return sums;
}

void Hamiltonian::find_residuals(std::span<const double> from, std::span<const double> eigenvalues,
                                 std::span<double> to, std::span<std::array<double, 2>> sums) {
  const auto of_planes = sums_of_planes(from, eigenvalues, to);
  const auto planes = sums.empty() ? 0 : of_planes.size() / sums.size();
  for (std::size_t field = 0; field < sums.size(); ++field) {
    sums[field] = {0, 0};
    for (std::size_t plane = 0; plane < planes; ++plane)
      for (std::size_t i = 0; i < 2; ++i) sums[field][i] += of_planes[field * planes + plane][i];
  }
  grid_.comm.all_reduce_rounded_sum({sums.empty() ? nullptr : sums.front().data(), 2 * sums.size()});
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
