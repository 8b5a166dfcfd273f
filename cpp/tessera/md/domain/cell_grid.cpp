#include "tessera/md/domain/cell_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::md::domain {

double CellDemands::least_edge() const { return std::max(least_edge_for_motion(), bonded_reach + 2 * group_radius); }

double CellDemands::least_edge_for_motion() const {
  return std::max(0.5 * list_range, mesh_reach + 0.5 * buffer) + group_radius;
}

CellGrid plan_cell_grid(const Box& box, const CellDemands& demands) {
  if (!box.is_orthorhombic())
    throw InputError("the box is triclinic; the engine runs orthorhombic boxes only: prepare the system in one");
  CellGrid grid;
  const auto edges = box.edges();
  for (std::size_t d = 0; d < 3; ++d) {
    grid.n[d] = static_cast<std::int64_t>(std::floor(edges[d] / demands.least_edge()));
    grid.n[d] = std::min<std::int64_t>(grid.n[d], std::int64_t{1} << 20);
    if (grid.n[d] < 2 && 2 * demands.mesh_reach + demands.buffer > demands.list_range)
      throw InputError(fmt::format(
          "box edge {} is {:.3f} Å, shorter than two cells of {:.3f} Å, as the mesh is so coarse that charges reach "
          "{:.2f} Å; use a finer mesh (pme.grid or pme.spacing)",
          "xyz"[d], edges[d], demands.least_edge(), demands.mesh_reach));
    if (grid.n[d] < 2)
      throw InputError(fmt::format(
          "box edge {} is {:.3f} Å, shorter than two cells of {:.3f} Å (list range {:.2f} Å); use a larger box, a "
          "shorter interactions.cutoff or a smaller parallel.buffer",
          "xyz"[d], edges[d], demands.least_edge(), demands.list_range));
    grid.edge[d] = edges[d] / static_cast<double>(grid.n[d]);
  }
  return grid;
}

double spare_buffer(const CellGrid& grid, const CellDemands& demands) {
  const double least = *std::min_element(grid.edge.begin(), grid.edge.end());
  return std::max(0.0, 2 * (least - demands.least_edge_for_motion()) - 1e-6);
}

}  // namespace tessera::md::domain
