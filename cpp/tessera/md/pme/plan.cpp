#include "tessera/md/pme/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"

namespace tessera::md::pme {

namespace {

bool has_small_factors(std::int64_t n) {
  for (const std::int64_t prime : {2, 3, 5, 7})
    while (n % prime == 0) n /= prime;
  return n == 1;
}

/// Returns the points whose potential the atoms of a brick may need: p/2 plus the margin on either side of it, but at
/// most once around the mesh. There is one more row if a layer would else fill whole pages of memory, as lines along x
/// would then map to few sets of a cache.
IndexBox padded_brick(const IndexBox& brick, const Index3& grid, int order, const Index3& margin) {
  IndexBox padded = brick;
  for (int d = 0; d < 3; ++d) {
    const std::int64_t reach = order / 2 + margin[static_cast<std::size_t>(d)];
    padded.lower[d] = brick.lower[d] - reach;
    padded.upper[d] = brick.upper[d] + reach;
    if (padded.extent(d) > grid[d] + order) {
      padded.lower[d] = brick.lower[d] - order / 2;
      padded.upper[d] = padded.lower[d] + grid[d] + order;
    }
  }
  constexpr std::int64_t page = 512;  // values of double precision; those of single precision fill half of it
  if (padded.extent(1) * padded.extent(2) % page == 0) ++padded.upper[1];
  return padded;
}

/// Returns the number of planes of mesh points that a length passes in each direction.
Index3 points_of(const Index3& grid, const std::array<double, 3>& heights, double length) {
  Index3 points;
  for (std::size_t d = 0; d < 3; ++d)
    points[d] = static_cast<std::int64_t>(std::ceil(length * (static_cast<double>(grid[d]) / heights[d])));
  return points;
}

void check_settings(const PmeSettings& settings) {
  if (settings.order != 4 && settings.order != 6 && settings.order != 8)
    throw InputError(fmt::format("pme.order is {}; splines of order 4, 6 and 8 are there", settings.order));
  if (!(settings.alpha > 0) || !std::isfinite(settings.alpha))
    throw InputError(fmt::format("pme.alpha is {} 1/Å; it must be greater than 0", settings.alpha));
  for (const auto n : settings.grid)
    if (n < settings.order || n > 65535)
      throw InputError(
          fmt::format("the PME mesh is {}×{}×{}; every direction needs at least {} points (the spline's order) "
                      "and at most 65535: change pme.spacing",
                      settings.grid[0], settings.grid[1], settings.grid[2], settings.order));
}

}  // namespace

namespace {

/// Returns α with f(α·cutoff) = tolerance, f falling from 1 to 0.
template <class Function>
double solve_alpha(Function&& f, double cutoff, double tolerance) {
  if (!(cutoff > 0) || !(tolerance > 0) || !(tolerance < 1))
    throw InputError(
        fmt::format("Ewald tolerance {} at cut-off {} Å: the tolerance must be between 0 and 1, the cut-off "
                    "greater than 0",
                    tolerance, cutoff));
  double low = 0, high = 1;
  while (f(high) > tolerance) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (f(middle) > tolerance ? low : high) = middle;
  }
  return high / cutoff;
}

}  // namespace

double alpha_from_tolerance(double cutoff, double tolerance) {
  return solve_alpha([](double x) { return math::erfc(x); }, cutoff, tolerance);
}

double lj_alpha_from_tolerance(double cutoff, double tolerance) {
  const auto share = [](double x) { return math::exp(-x * x) * (1 + x * x + 0.5 * x * x * x * x); };
  return solve_alpha(share, cutoff, tolerance);
}

Index3 grid_from_spacing(const std::array<double, 3>& edges, double spacing) {
  if (!(spacing > 0)) throw InputError(fmt::format("pme.spacing is {} Å; it must be greater than 0", spacing));
  Index3 grid;
  for (std::size_t d = 0; d < 3; ++d) {
    // A box that was written with an edge of n·spacing must not get the next larger mesh because of rounding.
    const double points = edges[d] / spacing * (1 - 1e-12);
    if (!(points < 65535))
      throw InputError(fmt::format("pme.spacing {} Å asks for more than 65535 mesh points along an edge of {} Å",
                                   spacing, edges[d]));
    auto n = std::max<std::int64_t>(2, static_cast<std::int64_t>(std::ceil(points)));
    n += n % 2;
    while (!has_small_factors(n)) n += 2;
    grid[d] = n;
  }
  return grid;
}

double widest_spacing(const std::array<double, 3>& lengths, const Index3& grid) {
  double widest = 0;
  for (std::size_t d = 0; d < 3; ++d) widest = std::max(widest, lengths[d] / static_cast<double>(grid[d]));
  return widest;
}

double spline_reach(const std::array<double, 3>& heights, const Index3& grid, int order) {
  return (order / 2 + 1) * widest_spacing(heights, grid);
}

std::vector<IndexBox> plan_bricks(const Index3& grid, const Index3& cells, const std::vector<IndexBox>& cell_bricks) {
  const auto first_point = [&](std::int64_t cell, int d) { return (cell * grid[d] + cells[d] - 1) / cells[d]; };
  std::vector<IndexBox> bricks;
  for (const auto& cell_brick : cell_bricks) {
    auto& brick = bricks.emplace_back();
    if (cell_brick.is_empty()) continue;
    for (int d = 0; d < 3; ++d) {
      brick.lower[d] = first_point(cell_brick.lower[d], d);
      brick.upper[d] = first_point(cell_brick.upper[d], d);
    }
  }
  return bricks;
}

std::string PmePlan::summary() const {
  return fmt::format("particle mesh: order {}, alpha {:.6f} 1/Å, mesh {}×{}×{}\n{}", settings.order, settings.alpha,
                     settings.grid[0], settings.grid[1], settings.grid[2], transform.summary());
}

PmePlan plan_pme(const PmeSettings& settings, const std::array<double, 3>& heights, const Index3& cells,
                 const std::vector<IndexBox>& cell_bricks, double margin,
                 const std::function<fft::TransformPlan(const fft::TransformProblem&)>& plan_transform) {
  check_settings(settings);
  PmePlan plan;
  plan.settings = settings;
  plan.bricks = plan_bricks(settings.grid, cells, cell_bricks);
  plan.margin = points_of(settings.grid, heights, margin);
  for (std::size_t d = 0; d < 3; ++d) {
    const double points_per_length = static_cast<double>(settings.grid[d]) / heights[d];
    const bool is_cut = std::any_of(cell_bricks.begin(), cell_bricks.end(), [&](const IndexBox& brick) {
      return !brick.is_empty() && brick.extent(static_cast<int>(d)) < cells[d];
    });
    const double cell_points = static_cast<double>(settings.grid[d]) / static_cast<double>(cells[d]);
    const double needed = settings.order / 2 + margin * points_per_length;
    if (is_cut && cell_points * (1 + 1e-9) < needed)
      throw InputError(fmt::format(
          "cells along vector {} of the box are {:.2f} mesh points wide, but a spline of order {} needs {:.2f} (atoms "
          "may be {:.2f} Å outside their cell): use a smaller pme.spacing or pme.order, or larger cells",
          "abc"[d], cell_points, settings.order, needed, margin));
  }
  for (std::size_t rank = 0; rank < cell_bricks.size(); ++rank)
    plan.padded.push_back(cell_bricks[rank].is_empty()
                              ? IndexBox{}
                              : padded_brick(plan.bricks[rank], settings.grid, settings.order, plan.margin));
  fft::TransformProblem problem{settings.grid};
  problem.ranks = static_cast<int>(plan.bricks.size());
  problem.input = plan.bricks;
  problem.output = plan.padded;
  plan.transform = plan_transform(problem);
  return plan;
}

bool holds(const PmePlan& plan, const std::array<double, 3>& heights, double margin) {
  const auto needed = points_of(plan.settings.grid, heights, margin);
  for (std::size_t d = 0; d < 3; ++d)
    if (needed[d] > plan.margin[d]) return false;
  return true;
}

}  // namespace tessera::md::pme
