#include "tessera/md/domain/cell_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::md::domain {

namespace {

/// Narrower cells leave a narrow buffer, and sorting atoms more often takes longer than narrow cells save.
constexpr double useful_width = 8;  // Å

constexpr double usual_radius = 1.65;  // Å: of hydrogen groups without sites, with what a bond may be stretched

/// Explains what makes cells as wide as they are, and what to do about it.
std::string reason_of(const CellDemands& demands) {
  const bool is_of_bonds = demands.least_width() > demands.least_width_for_motion();
  if (is_of_bonds && !demands.widest_group.empty() && demands.group_radius > usual_radius)
    return fmt::format(
        ", as the virtual site {} and the atoms that it follows are up to {:.2f} Å from each other and stay in one "
        "cell; use a larger box, or define the site by atoms that are nearer",
        demands.widest_group, demands.group_radius);
  if (is_of_bonds)
    return fmt::format(", as bonded atoms may be {:.2f} Å apart, at any cut-off; use a larger box",
                       demands.bonded_reach + 2 * demands.group_radius);
  if (2 * demands.mesh_reach + demands.buffer > demands.list_range)
    return fmt::format(
        ", as the mesh is so coarse that charges reach {:.2f} Å; use a finer mesh (pme.grid or pme.spacing)",
        demands.mesh_reach);
  return fmt::format(
      " (list range {:.2f} Å); use a larger box, a shorter interactions.cutoff or a smaller parallel.buffer",
      demands.list_range);
}

}  // namespace

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
  // Where there are few cells, ranks need them.
  constexpr double many_cells = 7;  // along a vector
  if (shortest >= many_cells * std::max(width, useful_width)) width = std::max(width, useful_width);
  for (std::size_t d = 0; d < 3; ++d) {
    grid.n[d] = static_cast<std::int64_t>(std::floor(heights[d] / width));
    grid.n[d] = std::min<std::int64_t>(grid.n[d], std::int64_t{1} << 20);
    if (grid.n[d] < 2)
      throw InputError(fmt::format("{}, less than two cells of {:.3f} Å{}", describe_height(box, d),
                                   demands.least_width(), reason_of(demands)));
    // An odd number can't be shared evenly: two ranks would own 3 and 4 of 7 layers, and eight ranks between 27 and 64
    // of 343 cells.
    if (grid.n[d] > 3) grid.n[d] -= grid.n[d] % 2;
    grid.width[d] = heights[d] / static_cast<double>(grid.n[d]);
  }
  grid.volume = box.divided(grid.n).volume();
  return grid;
}

CellGrid plan_vacuum_grid(const Box& frame, const CellDemands& demands, const Fraction& lower, const Fraction& upper) {
  CellGrid grid;
  grid.is_periodic = false;
  const auto edges = frame.edges();
  const double width = std::max(demands.least_width(), useful_width);
  for (std::size_t d = 0; d < 3; ++d) {
    grid.n[d] = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(edges[d] / width)));
    grid.width[d] = edges[d] / static_cast<double>(grid.n[d]);
  }
  grid.volume = frame.divided(grid.n).volume();
  const auto from = grid.cell_of(lower), to = grid.cell_of(upper), whole = grid.n;
  for (std::size_t d = 0; d < 3; ++d) {  // with a cell more on each side, so that atoms seldom leave the grid
    grid.first[d] = std::max<std::int64_t>(0, from[d] - 1);
    grid.n[d] = std::min(whole[d], to[d] + 2) - grid.first[d];
    grid.outside[d] = whole[d] - grid.n[d];
  }
  return grid;
}

CellGrid with_cells(CellGrid grid, std::int64_t least) {
  const auto whole = grid.whole();
  while (grid.size() < least && grid.n != whole)
    for (std::size_t d = 0; d < 3; ++d) {
      const auto end = std::min(whole[d], grid.first[d] + grid.n[d] + 1);
      grid.first[d] = std::max<std::int64_t>(0, grid.first[d] - 1);
      grid.n[d] = end - grid.first[d];
      grid.outside[d] = whole[d] - grid.n[d];
    }
  return grid;
}

double spare_buffer(const CellGrid& grid, const CellDemands& demands) {
  const double least = *std::min_element(grid.width.begin(), grid.width.end());
  return std::max(0.0, 2 * (least - demands.least_width_for_motion()) - 1e-6);
}

}  // namespace tessera::md::domain
