#include "tessera/grid/poisson/levels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/base/math/double_double.h"

namespace tessera::grid {

namespace {

/// Returns the formula on the coarser points that stands for full weighting (¼ ½ ¼) after a symmetric formula of three
/// points after linear interpolation (½ 1 ½); {1} stands for the formula that changes nothing.
std::vector<double> coarser_mean(const std::vector<double>& mean) {
  const double centre = mean[0], beside = mean.size() > 1 ? mean[1] : 0;
  return {0.75 * centre + beside, 0.125 * centre + 0.5 * beside};
}

std::array<bool, 3> halved_edges(const Level& level) {
  const auto& [shape, is_periodic, processes, boxes] = level.layout;
  std::array<bool, 3> none{}, halved{};
  if (shape[0] * shape[1] * shape[2] <= points_solved_directly) return none;
  double least = std::numeric_limits<double>::infinity();
  const auto is_edge = [&](std::size_t d) { return shape[d] > 1 || !is_periodic[d]; };
  for (std::size_t d = 0; d < 3; ++d)
    if (is_edge(d)) least = std::min(least, level.steps[d]);
  for (std::size_t d = 0; d < 3; ++d) {
    halved[d] = is_edge(d) && level.steps[d] < 1.45 * least;
    if (halved[d] && (shape[d] < 3 || shape[d] % 2 != (is_periodic[d] ? 0 : 1))) return none;
  }
  return halved;
}

/// Returns the zeros of the Chebyshev polynomial of a degree between the least and the greatest |eigenvalue| of waves
/// that are too short for the next level along some edge.
std::vector<double> sweeps_of(const Level& level, int degree) {
  constexpr int parts = 16;  // of half a turn
  std::array<std::array<double, parts + 1>, 3> second{}, mean{};
  for (std::size_t d = 0; d < 3; ++d)
    for (int k = 0; k <= parts; ++k) {
      second[d][static_cast<std::size_t>(k)] = symbol(level.laplacian.second[d], 0, k, 2 * parts);
      mean[d][static_cast<std::size_t>(k)] = symbol(level.laplacian.mean[d], 1, k, 2 * parts);
    }
  double least = std::numeric_limits<double>::infinity(), greatest = 0;
  std::array<std::size_t, 3> k{};
  for (k[0] = 0; k[0] <= parts; ++k[0])
    for (k[1] = 0; k[1] <= parts; ++k[1])
      for (k[2] = 0; k[2] <= parts; ++k[2]) {
        std::array<double, 3> s{}, m{};
        bool is_short = false;
        for (std::size_t d = 0; d < 3; ++d) {
          s[d] = second[d][k[d]], m[d] = mean[d][k[d]];
          is_short |= level.is_halved[d] && 2 * k[d] >= parts;
        }
        const double value = -SeparableLaplacian::eigenvalue(s, m);
        greatest = std::max(greatest, value);
        if (is_short) least = std::min(least, value);
      }
  std::vector<double> zeros;
  for (int i = 0; i < degree; ++i)
    zeros.push_back(0.5 * (greatest + least) +
                    0.5 * (greatest - least) * math::sincos_of_turn(2 * i + 1, 4 * degree).cos);
  return zeros;
}

/// Divides a coarser grid among ranks: each keeps the points that lie in its box of the finer level. Where ranks would
/// have few, fewer have them.
GridLayout coarser_layout(const Level& level) {
  const auto& finer = level.layout;
  GridLayout layout = finer;
  std::int64_t points = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    if (level.is_halved[d]) layout.shape[d] /= 2;
    points *= layout.shape[d];
  }
  const auto used = layout.processes[0] * layout.processes[1] * layout.processes[2];
  if (points < used * least_points_of_rank) {
    const auto fewer = std::max<std::int64_t>(1, points / least_points_of_rank);
    return plan_layout(layout.shape, layout.is_periodic, finer.ranks(),
                       choose_processes(layout.shape, layout.is_periodic, static_cast<int>(fewer)));
  }
  for (auto& box : layout.boxes)
    for (std::size_t d = 0; d < 3; ++d) {
      if (!level.is_halved[d]) continue;
      const std::int64_t first = level.finer(d, 0);
      box.lower[d] = (box.lower[d] - first + 1) / 2;
      box.upper[d] = (box.upper[d] - first + 1) / 2;
    }
  return layout;
}

}  // namespace

Level finest_level(const GridLayout& layout, const std::array<double, 3>& steps, int order) {
  return {layout, steps, plain_laplacian(order, steps), {}, {}};
}

std::vector<Level> plan_levels(const GridLayout& finest, const std::array<double, 3>& steps, int order, int sweeps) {
  std::vector<Level> levels = {finest_level(finest, steps, order)};
  while (true) {
    auto& level = levels.back();
    level.is_halved = halved_edges(level);
    if (level.is_halved == std::array<bool, 3>{}) return levels;
    level.sweeps = sweeps_of(level, sweeps);
    Level next;
    next.layout = coarser_layout(level);
    for (std::size_t d = 0; d < 3; ++d) next.steps[d] = level.steps[d] * (level.is_halved[d] ? 2 : 1);
    next.laplacian = plain_laplacian(2, next.steps);
    for (std::size_t d = 0; d < 3; ++d)
      next.laplacian.mean[d] = level.is_halved[d] ? coarser_mean(level.laplacian.mean[d]) : level.laplacian.mean[d];
    levels.push_back(std::move(next));
  }
}

}  // namespace tessera::grid
