// Plans the global cell grid. It follows from the box, the list range and the molecules, never from ranks or threads,
// so that everything computed in a cell or a pair of cells is the same on any machine layout.
//
// Cells are at least half the list range wide (plus the reach of hydrogen groups), so interacting atoms are at most two
// cells apart and the midpoint cell of a pair is at most one cell from either. A rank that owns a brick of cells
// therefore needs one layer of halo cells (midpoint cell method: J. Jung, T. Mori, Y. Sugita, J. Comput. Chem. 35, 1064
// (2014), doi:10.1002/jcc.23591).
#pragma once

#include <string>

#include "tessera/base/box.h"
#include "tessera/base/index_box.h"

namespace tessera::md::domain {

/// A vacuum has cells where its atoms are: of those that its frame is cut into, a part without neighbours beyond its
/// faces. Which part does not matter to results.
struct CellGrid {
  Index3 n{1, 1, 1};              // cells along each box vector
  std::array<double, 3> width{};  // Å, of a cell between opposite faces: its edges in an orthorhombic box
  double volume = 0;              // Å³, of a cell
  Index3 first{0, 0, 0};          // of the cells that the box is cut into, the first of the grid
  Index3 outside{0, 0, 0};        // of these, how many the grid leaves out
  bool is_periodic = true;

  /// Returns how many cells the box is cut into along each vector.
  Index3 whole() const { return {n[0] + outside[0], n[1] + outside[1], n[2] + outside[2]}; }
  std::int64_t size() const { return n[0] * n[1] * n[2]; }
  std::int64_t flat(const Index3& cell) const { return (cell[0] * n[1] + cell[1]) * n[2] + cell[2]; }
  Index3 unflat(std::int64_t index) const { return {index / (n[1] * n[2]), index / n[2] % n[1], index % n[2]}; }
  Index3 cell_of(const Fraction& f) const {
    const auto cells = whole();
    return {along(f.x, cells[0]) - first[0], along(f.y, cells[1]) - first[1], along(f.z, cells[2]) - first[2]};
  }
  /// Returns the fractional position of a cell's centre.
  Fraction centre(const Index3& cell) const {
    const auto cells = whole();
    return {middle(cell[0] + first[0], cells[0]), middle(cell[1] + first[1], cells[1]),
            middle(cell[2] + first[2], cells[2])};
  }
  bool contains(const Index3& cell) const { return IndexBox{{0, 0, 0}, n}.contains(cell); }
  /// Returns whether another part of the same cells of a frame lies within.
  bool contains(const CellGrid& other) const {
    const auto part = [](const CellGrid& grid) {
      return IndexBox{grid.first, {grid.first[0] + grid.n[0], grid.first[1] + grid.n[1], grid.first[2] + grid.n[2]}};
    };
    return intersection(part(*this), part(other)) == part(other);
  }
  /// Returns the cell wrapped into the grid of a box that repeats.
  Index3 wrapped(const Index3& cell) const {
    Index3 w;
    for (int d = 0; d < 3; ++d) w[d] = ((cell[d] % n[d]) + n[d]) % n[d];
    return w;
  }

 private:
  static std::int64_t along(std::int32_t f, std::int64_t cells) {
    const auto shifted = static_cast<std::uint64_t>(static_cast<std::uint32_t>(f) ^ 0x80000000u);
    return static_cast<std::int64_t>((shifted * static_cast<std::uint64_t>(cells)) >> 32);
  }
  static std::int32_t middle(std::int64_t cell, std::int64_t cells) {
    const auto shifted = static_cast<std::uint64_t>(((2 * cell + 1) << 31) / cells);
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(shifted) ^ 0x80000000u);
  }
};

/// Lists the lengths that a cell must be wide enough for between any two opposite faces, Å.
struct CellDemands {
  double list_range = 0;    // cut-off plus buffer
  double group_radius = 0;  // how far an atom may be from its hydrogen group's key atom
  double bonded_reach = 0;  // how far apart the atoms of a bonded term may be
  double mesh_reach = 0;    // half the support of the mesh's spline
  double buffer = 0;        // how far two atoms together may move between searches
  std::string widest_group =
      {};  // the virtual site to which the radius is due, for messages; empty where there is none

  /// Returns the least width of a cell that satisfies all demands.
  double least_width() const;
  /// Returns the least width for the demands that contain the buffer; it grows by half of the buffer.
  double least_width_for_motion() const;
};

/// Returns the beginning of a sentence about the height of a box along its vector `d`: "box edge x is 20.000 Å".
std::string describe_height(const Box& box, std::size_t d);

/// Returns the finest grid whose cells are at least `demands.least_width()` wide, or 8 Å where seven along each vector
/// are so wide, and whose number along each vector is even or 3. Throws InputError if the box is too small for two
/// cells along some vector.
CellGrid plan_cell_grid(const Box& box, const CellDemands& demands);

/// Returns the grid of a vacuum in this frame, around the cells of atoms whose fractions are between these corners.
CellGrid plan_vacuum_grid(const Box& frame, const CellDemands& demands, const Fraction& lower, const Fraction& upper);

/// Returns the same grid of a vacuum with at least so many cells, where the frame has them.
CellGrid with_cells(CellGrid grid, std::int64_t least);

/// Returns how much further than `demands.buffer` two atoms together may move between searches before the grid would
/// need fewer cells, Å.
double spare_buffer(const CellGrid& grid, const CellDemands& demands);

}  // namespace tessera::md::domain
