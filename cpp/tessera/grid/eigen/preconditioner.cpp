#include "tessera/grid/eigen/preconditioner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/math/double_double.h"
#include "tessera/base/math/elementary.h"

namespace tessera::grid {

namespace {

constexpr int order = 2;
constexpr int sweeps_of_coarsest = 8;
constexpr double width_of_coarsest = 20;  // the greatest eigenvalue over the least that the sweeps are made for

/// Distances of the planes of points: lengths of steps where they are at right angles.
std::array<double, 3> distances_of(const std::array<Vec3, 3>& steps) {
  const auto& [a, b, c] = steps;
  const double volume = std::abs(dot(a, cross(b, c)));
  return {volume / norm(cross(b, c)), volume / norm(cross(c, a)), volume / norm(cross(a, b))};
}

/// The factors of Jacobi sweeps for a matrix whose eigenvalues, over its diagonal, are up to `greatest`.
std::vector<float> factors_up_to(double greatest) {
  const double least = greatest / width_of_coarsest;
  std::vector<float> factors;
  for (int k = 0; k < sweeps_of_coarsest; ++k) {
    const double zero = 0.5 * (greatest + least) +
                        0.5 * (greatest - least) * math::sincos_of_turn(2 * k + 1, 4 * sweeps_of_coarsest).cos;
    factors.push_back(static_cast<float>(1 / zero));
  }
  return factors;
}

}  // namespace

WavePreconditioner::WavePreconditioner(const WaveGrid& grid)
    : grid_(grid),
      box_(grid.layout.boxes[static_cast<std::size_t>(grid.comm.rank())]),
      levels_(plan_levels(grid.layout, distances_of(grid.steps), order)),
      fields_(levels_.size()),
      coarsest_(levels_.back().layout, levels_.back().laplacian, grid.comm, threads_of(levels_.back())) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const auto& level = levels_[i];
    auto stencil = level.laplacian.stencil();
    double diagonal = 0, others = 0;
    for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
      auto& coefficient = stencil.coefficients[k];
      coefficient *= 0.5;
      if (stencil.offsets[k] == Index3{})
        diagonal = -std::exchange(coefficient, 0.0);
      else
        others += std::abs(coefficient);
    }
    diagonals_.push_back(diagonal);
    const bool is_last = i + 1 == levels_.size();
    factors_.push_back(is_last ? factors_up_to(1 + others / diagonal) : std::vector<float>{});
    for (const double eigenvalue : level.sweeps)
      factors_.back().push_back(static_cast<float>(2 * diagonal / eigenvalue));
    neighbours_.emplace_back(stencil, level.layout, OperatorOptions{.batch = 1}, grid.comm, threads_of(level));
    if (!is_last) {
      const auto& coarser = levels_[i + 1].layout;
      down_.emplace_back(TransferKind::restriction, 1, level.layout, coarser, false, grid.comm, threads_of(level));
      up_.emplace_back(TransferKind::interpolation, 1, coarser, level.layout, false, grid.comm, threads_of(level));
    }
    const auto n = static_cast<std::size_t>(neighbours_.back().values_of_field());
    fields_[i] = {std::vector<float>(n), std::vector<float>(n), std::vector<float>(n), std::vector<float>(n)};
  }
  if (!grid.is_complex) return;
  turned_.resize(static_cast<std::size_t>(box_.size()));
  for (std::size_t d = 0; d < 3; ++d) {
    const double angle =
        math::atan2(grid.phases[d].imag(), grid.phases[d].real()) / static_cast<double>(grid.layout.shape[d]);
    for (auto i = box_.lower[d]; i < box_.upper[d]; ++i)
      waves_[d].emplace_back(static_cast<float>(math::cos(angle * static_cast<double>(i))),
                             static_cast<float>(math::sin(angle * static_cast<double>(i))));
  }
}

/// Threads would wait for each other longer than they compute on few points.
ThreadPool& WavePreconditioner::threads_of(const Level& level) {
  constexpr std::int64_t least_points_of_thread = 8192;
  const auto points = level.layout.boxes[static_cast<std::size_t>(grid_.comm.rank())].size();
  return points < least_points_of_thread * grid_.threads.size() ? alone_ : grid_.threads;
}

void WavePreconditioner::set_potential(std::span<const double> potential, double level, double shift) {
  auto& finest = fields_.front().inverse;
  for (std::size_t i = 0; i < finest.size(); ++i)
    finest[i] = static_cast<float>(shift + std::max(potential[i] - level, 0.0));
  for (std::size_t i = 0; i < down_.size(); ++i) down_[i].apply(fields_[i].inverse, fields_[i + 1].inverse, 1);
  coarsest_.set_shift(2 * shift);
  for (std::size_t i = 0; i < fields_.size(); ++i)
    for (auto& value : fields_[i].inverse) value = 1 / (static_cast<float>(diagonals_[i]) + value);
}

void WavePreconditioner::relax(std::size_t level) {
  auto& [right, solution, other, inverse] = fields_[level];
  const auto plane = static_cast<std::size_t>(neighbours_[level].box().extent(1) * neighbours_[level].box().extent(2));
  for (const float factor : factors_[level]) {
    const float* from = solution.data();
    float* to = other.data();
    const float* scale = inverse.data();
    neighbours_[level].apply(solution, other, 1, {right.data(), 1},
                             [=](std::int64_t, std::int64_t first, std::int64_t last) {
                               const auto end = static_cast<std::size_t>(last) * plane;
                               for (auto i = static_cast<std::size_t>(first) * plane; i < end; ++i)
                                 to[i] = (1 - factor) * from[i] + factor * (scale[i] * to[i]);
                             });
    std::swap(solution, other);
  }
}

const std::vector<float>& WavePreconditioner::run() {
  const std::size_t last = levels_.size() - 1;
  for (std::size_t i = 0; i < last; ++i) down_[i].apply(fields_[i].right, fields_[i + 1].right, 1);
  coarsest_.solve(fields_[last].right.data(), fields_[last].solution.data());
  for (auto& value : fields_[last].solution) value *= -2;  // (−½∇² + v)⁻¹ = −2 (∇² − 2v)⁻¹
  relax(last);
  for (std::size_t i = last; i-- > 0;) {
    up_[i].apply(fields_[i + 1].solution, fields_[i].solution, 1);
    relax(i);
  }
  return fields_.front().solution;
}

void WavePreconditioner::apply_real(double* field) {
  auto& right = fields_.front().right;
  threads_of(levels_.front()).parallel_for(box_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) right[static_cast<std::size_t>(i)] = static_cast<float>(field[i]);
  });
  const auto& found = run();
  threads_of(levels_.front()).parallel_for(box_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) field[i] = static_cast<double>(found[static_cast<std::size_t>(i)]);
  });
}

void WavePreconditioner::apply_complex(double* field) {
  const std::int64_t row = box_.extent(2);
  // Calls visit(point, e^{ik·r}) for all points.
  const auto for_points = [&](auto&& visit) {
    threads_of(levels_.front())
        .parallel_for(box_.extent(0) * box_.extent(1), [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) {
            const auto x = static_cast<std::size_t>(i / box_.extent(1)),
                       y = static_cast<std::size_t>(i % box_.extent(1));
            const auto wave = waves_[0][x] * waves_[1][y];
            for (std::int64_t z = 0; z < row; ++z)
              visit(static_cast<std::size_t>(i * row + z), wave * waves_[2][static_cast<std::size_t>(z)]);
          }
        });
  };
  auto& right = fields_.front().right;
  for_points([&](std::size_t i, std::complex<float> wave) {
    const std::complex<float> value(static_cast<float>(field[2 * i]), static_cast<float>(field[2 * i + 1]));
    turned_[i] = value * std::conj(wave);
    right[i] = turned_[i].imag();
  });
  const auto& imaginary = run();
  for_points([&](std::size_t i, std::complex<float>) {
    right[i] = turned_[i].real();
    turned_[i].imag(imaginary[i]);
  });
  const auto& real = run();
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
      apply_complex(values);
    else
      apply_real(values);
  }
}

}  // namespace tessera::grid
