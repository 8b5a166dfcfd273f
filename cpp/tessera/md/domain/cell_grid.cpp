#include "tessera/md/domain/cell_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::md::domain {

double CellDemands::least_width() const { return std::max(least_width_for_motion(), bonded_reach + 2 * group_radius); }

double CellDemands::least_width_for_motion() const {
  return std::max(0.5 * list_range, mesh_reach + 0.5 * buffer) + group_radius;
}

std::string describe_height(const Box& box, std::size_t d) {
  const double height = box.heights()[d];
  return box.is_orthorhombic()
             ? fmt::format("box edge {} is {:.3f} Å", "xyz"[d], height)
             : fmt::format("the faces of the box that its vector {} joins are {:.3f} Å apart", "abc"[d], height);
}

CellGrid plan_cell_grid(const Box& box, const CellDemands& demands) {
  CellGrid grid;
  const auto heights = box.heights();
  const double shortest = *std::min_element(heights.begin(), heights.end());
  double width = demands.least_width();
  // Narrow cells leave a narrow buffer, and sorting atoms more often takes longer than narrow cells save. Where there
  // are few cells, ranks need them.
  constexpr double useful_width = 8, many_cells = 7;  // Å; along a vector
  if (shortest >= many_cells * std::max(width, useful_width)) width = std::max(width, useful_width);
  for (std::size_t d = 0; d < 3; ++d) {
    grid.n[d] = static_cast<std::int64_t>(std::floor(heights[d] / width));
    grid.n[d] = std::min<std::int64_t>(grid.n[d], std::int64_t{1} << 20);
    if (grid.n[d] < 2 && !demands.widest_group.empty() && demands.least_width() > demands.least_width_for_motion())
      throw InputError(
          fmt::format("{}, less than two cells of {:.3f} Å, as the virtual site {} and the atoms that it follows are "
                      "up to {:.2f} Å from each other and stay in one cell; use a larger box (in vacuum: more room "
                      "around the molecule), or define the site by atoms that are nearer",
                      describe_height(box, d), demands.least_width(), demands.widest_group, demands.group_radius));
    if (grid.n[d] < 2 && 2 * demands.mesh_reach + demands.buffer > demands.list_range)
      throw InputError(
          fmt::format("{}, less than two cells of {:.3f} Å, as the mesh is so coarse that charges reach "
                      "{:.2f} Å; use a finer mesh (pme.grid or pme.spacing)",
                      describe_height(box, d), demands.least_width(), demands.mesh_reach));
    if (grid.n[d] < 2)
      throw InputError(
          fmt::format("{}, less than two cells of {:.3f} Å (list range {:.2f} Å); use a larger box, a "
                      "shorter interactions.cutoff or a smaller parallel.buffer",
                      describe_height(box, d), demands.least_width(), demands.list_range));
    // An odd number can't be shared evenly: two ranks would own 3 and 4 of 7 layers, and eight ranks between 27 and 64
    // of 343 cells.
    if (grid.n[d] > 3) grid.n[d] -= grid.n[d] % 2;
    grid.width[d] = heights[d] / static_cast<double>(grid.n[d]);
  }
  grid.volume = box.divided(grid.n).volume();
  return grid;
}

double spare_buffer(const CellGrid& grid, const CellDemands& demands) {
  const double least = *std::min_element(grid.width.begin(), grid.width.end());
  return std::max(0.0, 2 * (least - demands.least_width_for_motion()) - 1e-6);
}

}  // namespace tessera::md::domain
