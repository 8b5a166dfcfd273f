#include "tessera/grid/eigen/preconditioner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/math/double_double.h"
#include "tessera/base/math/elementary.h"

namespace tessera::grid {

namespace {

constexpr int order = 2;
constexpr std::int64_t values_in_cache = 1 << 16;  // of each array that a sweep touches
constexpr int sweeps_of_coarsest = 8;
constexpr double width_of_coarsest = 20;  // the greatest eigenvalue over the least that the sweeps are made for

/// Returns the distances between planes of grid points: the lengths of the steps where these are at right angles.
std::array<double, 3> distances_of(const std::array<Vec3, 3>& steps) {
  const auto& [a, b, c] = steps;
  const double volume = std::abs(dot(a, cross(b, c)));
  return {volume / norm(cross(b, c)), volume / norm(cross(c, a)), volume / norm(cross(a, b))};
}

/// Returns the factors of Jacobi sweeps for a matrix whose eigenvalues, over its diagonal, are up to `greatest`.
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

/// Returns how many real fields go through the cycle at once. A single rank has no messages, and its caches hold one
/// field best.
std::int64_t fields_together(const WaveGrid& grid) {
  constexpr std::int64_t fields_of_message = 8;
  if (grid.comm.size() > 1) return fields_of_message;
  return grid.is_complex ? 2 : 1;
}

}  // namespace

WavePreconditioner::WavePreconditioner(const WaveGrid& grid)
    : grid_(grid),
      box_(grid.layout.boxes[static_cast<std::size_t>(grid.comm.rank())]),
      together_(fields_together(grid)),
      levels_(plan_levels(grid.layout, distances_of(grid.steps), order)),
      fields_(levels_.size()),
      coarsest_(levels_.back().layout, levels_.back().laplacian, grid.comm, threads_of(levels_.back()), together_) {
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
    const auto n = level.layout.boxes[static_cast<std::size_t>(grid.comm.rank())].size();
    const auto most = std::ranges::max(level.layout.boxes, {}, &IndexBox::size).size();  // the same on all ranks
    auto& its = fields_[i];
    its.relaxed_together = std::clamp<std::int64_t>(values_in_cache / most, 1, together_);
    its.right.resize(static_cast<std::size_t>(n * together_));
    its.solution.resize(static_cast<std::size_t>(n * together_));
    its.other.resize(static_cast<std::size_t>(n * its.relaxed_together));
    its.inverse.resize(static_cast<std::size_t>(n));
    const OperatorOptions options{.batch = its.relaxed_together, .slope = 0};
    neighbours_.emplace_back(stencil, level.layout, options, grid.comm, threads_of(level));
    if (!is_last) {
      const auto& coarser = levels_[i + 1].layout;
      down_.emplace_back(TransferKind::restriction, 1, level.layout, coarser, false, grid.comm, threads_of(level));
      up_.emplace_back(TransferKind::interpolation, 1, coarser, level.layout, false, grid.comm, threads_of(level));
    }
  }
  if (!grid.is_complex) return;
  for (std::size_t d = 0; d < 3; ++d) {
    const double angle =
        math::atan2(grid.phases[d].imag(), grid.phases[d].real()) / static_cast<double>(grid.layout.shape[d]);
    for (auto i = box_.lower[d]; i < box_.upper[d]; ++i)
      waves_[d].emplace_back(static_cast<float>(math::cos(angle * static_cast<double>(i))),
                             static_cast<float>(math::sin(angle * static_cast<double>(i))));
  }
}

/// Returns one thread for a level of few points, where threads would wait for each other longer than they compute.
ThreadPool& WavePreconditioner::threads_of(const Level& level) {
  constexpr std::int64_t least_points_of_thread = 8192;
  const auto points = level.layout.boxes[static_cast<std::size_t>(grid_.comm.rank())].size();
  return points * together_ < least_points_of_thread * grid_.threads.size() ? alone_ : grid_.threads;
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

/// Sweeps go from `solution` to `other` and back.
void WavePreconditioner::relax(std::size_t level, std::int64_t first, std::int64_t fields) {
  auto& its = fields_[level];
  const auto& box = neighbours_[level].box();
  const auto plane = static_cast<std::size_t>(box.extent(1) * box.extent(2));
  auto from = its.part(its.solution, first, fields), to = its.part(its.other, 0, fields);
  TESSERA_CHECK(factors_[level].size() % 2 == 0);
  for (const float factor : factors_[level]) {
    const auto weigh = [&, factor](std::int64_t field, std::int64_t begin, std::int64_t end) {
      const auto at = static_cast<std::size_t>(field) * its.inverse.size();
      const float* before = from.data() + at;
      float* after = to.data() + at;
      const float* inverse = its.inverse.data();
      const auto last = static_cast<std::size_t>(end) * plane;
      for (auto i = static_cast<std::size_t>(begin) * plane; i < last; ++i)
        after[i] = (1 - factor) * before[i] + factor * (inverse[i] * after[i]);
    };
    neighbours_[level].apply(from, to, fields, {its.part(its.right, first, fields).data(), 1}, weigh);
    std::swap(from, to);
  }
}

std::span<const float> WavePreconditioner::run(std::int64_t fields) {
  const std::size_t last = levels_.size() - 1;
  const auto part = [&](std::size_t level, std::vector<float> Fields::*values, std::int64_t first, std::int64_t n) {
    return fields_[level].part(fields_[level].*values, first, n);
  };
  // Calls visit(first, n) for fields that are relaxed together.
  const auto for_parts = [&](std::size_t level, auto&& visit) {
    const auto most = fields_[level].relaxed_together;
    for (std::int64_t first = 0; first < fields; first += most) visit(first, std::min(most, fields - first));
  };
  for (std::size_t i = 0; i < last; ++i)
    down_[i].apply(part(i, &Fields::right, 0, fields), part(i + 1, &Fields::right, 0, fields), fields);
  const auto coarsest = part(last, &Fields::solution, 0, fields);
  coarsest_.solve(fields_[last].right.data(), coarsest.data(), fields);
  for (auto& value : coarsest) value *= -2;  // (−½∇² + v)⁻¹ = −2 (∇² − 2v)⁻¹
  for_parts(last, [&](std::int64_t first, std::int64_t n) { relax(last, first, n); });
  for (std::size_t i = last; i-- > 0;)
    for_parts(i, [&](std::int64_t first, std::int64_t n) {
      up_[i].apply(part(i + 1, &Fields::solution, first, n), part(i, &Fields::solution, first, n), n);
      relax(i, first, n);
    });
  return part(0, &Fields::solution, 0, fields);
}

void WavePreconditioner::apply_real(double* fields, std::int64_t n) {
  auto& right = fields_.front().right;
  auto& threads = threads_of(levels_.front());
  threads.parallel_for(n * box_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) right[static_cast<std::size_t>(i)] = static_cast<float>(fields[i]);
  });
  const auto found = run(n);
  threads.parallel_for(n * box_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) fields[i] = static_cast<double>(found[static_cast<std::size_t>(i)]);
  });
}

/// Applies the cycle to complex fields: the real and the imaginary part of a field, times e^{−ik·r}, are two real
/// fields, one behind the other.
void WavePreconditioner::apply_complex(double* fields, std::int64_t n) {
  const std::int64_t row = box_.extent(2), rows = box_.extent(0) * box_.extent(1);
  const auto points = static_cast<std::size_t>(box_.size());
  // Calls visit(point, real part, imaginary part, e^{ik·r}) for all points, where parts are places in real fields.
  const auto for_points = [&](auto&& visit) {
    threads_of(levels_.front()).parallel_for(n * rows, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto field = static_cast<std::size_t>(i / rows), at = static_cast<std::size_t>(i % rows * row),
                   x = static_cast<std::size_t>(i % rows / box_.extent(1)),
                   y = static_cast<std::size_t>(i % box_.extent(1)), z_end = static_cast<std::size_t>(row);
        const auto wave = waves_[0][x] * waves_[1][y];
        for (std::size_t z = 0; z < z_end; ++z)
          visit(field * points + at + z, 2 * field * points + at + z, (2 * field + 1) * points + at + z,
                wave * waves_[2][z]);
      }
    });
  };
  auto& right = fields_.front().right;
  for_points([&](std::size_t i, std::size_t real, std::size_t imaginary, std::complex<float> wave) {
    const auto value =
        std::complex<float>(static_cast<float>(fields[2 * i]), static_cast<float>(fields[2 * i + 1])) * std::conj(wave);
    right[real] = value.real();
    right[imaginary] = value.imag();
  });
  const auto found = run(2 * n);
  for_points([&](std::size_t i, std::size_t real, std::size_t imaginary, std::complex<float> wave) {
    const auto value = std::complex<float>(found[real], found[imaginary]) * wave;
    fields[2 * i] = static_cast<double>(value.real());
    fields[2 * i + 1] = static_cast<double>(value.imag());
  });
}

void WavePreconditioner::apply(std::span<double> fields, std::int64_t n) {
  const std::int64_t components = grid_.is_complex ? 2 : 1, most = together_ / components;
  for (std::int64_t first = 0; first < n; first += most) {
    const auto some = std::min(most, n - first);
    double* values = fields.data() + first * box_.size() * components;
    if (grid_.is_complex)
      apply_complex(values, some);
    else
      apply_real(values, some);
  }
}

}  // namespace tessera::grid
