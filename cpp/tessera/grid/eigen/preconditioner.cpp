#include "tessera/grid/eigen/preconditioner.h"

#include <cmath>

namespace tessera::grid {

namespace {

/// Distances of the planes of points: lengths of steps where they are at right angles.
std::array<double, 3> distances_of(const std::array<Vec3, 3>& steps) {
  const auto& [a, b, c] = steps;
  const double volume = std::abs(dot(a, cross(b, c)));
  return {volume / norm(cross(b, c)), volume / norm(cross(c, a)), volume / norm(cross(a, b))};
}

constexpr int order = 2;

}  // namespace

WavePreconditioner::WavePreconditioner(const WaveGrid& grid, double shift)
    : grid_(grid),
      box_(grid.layout.boxes[static_cast<std::size_t>(grid.comm.rank())]),
      is_turned_(grid.phases != std::array<std::complex<double>, 3>{1, 1, 1}),
      cycle_(plan_levels(grid.layout, distances_of(grid.steps), order, 2 * shift), grid.comm, grid.threads) {
  if (!grid.is_complex) return;
  turned_.resize(static_cast<std::size_t>(box_.size()));
  for (std::size_t d = 0; d < 3; ++d) {
    const double angle = std::arg(grid.phases[d]) / static_cast<double>(grid.layout.shape[d]);
    for (auto i = box_.lower[d]; i < box_.upper[d]; ++i)
      waves_[d].emplace_back(std::polar(1.0, angle * static_cast<double>(i)));
  }
}

/// (−½∇² + shift)⁻¹ = −2 (∇² − 2 shift)⁻¹ on every second number, or all.
void WavePreconditioner::run(double* field) {
  const auto right = cycle_.right();
  grid_.threads.parallel_for(box_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) right[static_cast<std::size_t>(i)] = static_cast<float>(-2 * field[i]);
  });
  const auto found = cycle_.run();
  grid_.threads.parallel_for(box_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) field[i] = static_cast<double>(found[static_cast<std::size_t>(i)]);
  });
}

void WavePreconditioner::run_turned(double* field) {
  const std::int64_t row = box_.extent(2);
  /// Calls visit(point, e^{ik·r}) for all points.
  const auto for_points = [&](auto&& visit) {
    grid_.threads.parallel_for(box_.extent(0) * box_.extent(1), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto x = static_cast<std::size_t>(i / box_.extent(1)), y = static_cast<std::size_t>(i % box_.extent(1));
        const auto wave = waves_[0][x] * waves_[1][y];
        for (std::int64_t z = 0; z < row; ++z)
          visit(static_cast<std::size_t>(i * row + z), is_turned_ ? wave * waves_[2][static_cast<std::size_t>(z)] : wave);
      }
    });
  };
  for_points([&](std::size_t i, std::complex<float> wave) {
    const std::complex<float> value(static_cast<float>(-2 * field[2 * i]), static_cast<float>(-2 * field[2 * i + 1]));
    turned_[i] = value * std::conj(wave);
  });
  const auto right = cycle_.right();
  for_points([&](std::size_t i, std::complex<float>) { right[i] = turned_[i].imag(); });
  const auto imaginary = cycle_.run();
  for_points([&](std::size_t i, std::complex<float>) {
    right[i] = turned_[i].real();
    turned_[i].imag(imaginary[i]);
  });
  const auto real = cycle_.run();
  for_points([&](std::size_t i, std::complex<float> wave) {
    const auto value = std::complex<float>(real[i], turned_[i].imag()) * wave;
    field[2 * i] = static_cast<double>(value.real());
    field[2 * i + 1] = static_cast<double>(value.imag());
  });
}

void WavePreconditioner::apply(std::span<double> fields, std::int64_t n) {
  for (std::int64_t field = 0; field < n; ++field) {
    double* values = fields.data() + field * box_.size() * (grid_.is_complex ? 2 : 1);
    if (grid_.is_complex)
      run_turned(values);
    else
      run(values);
  }
}

}  // namespace tessera::grid
