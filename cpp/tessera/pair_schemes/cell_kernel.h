// Declares searches and kernels that go from cell to cell: a list of neighbours per atom and cell, or one flag per atom
// and cell with whole cells evaluated (algorithms 1 to 4 of J. Jung et al., J. Comput. Chem. 40, 1919 (2019),
// doi:10.1002/jcc.25840), with coordinates and forces in either layout.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/clusters/cluster_kernel.h"
#include "tessera/pair_schemes/pair_table.h"

namespace tessera::pair_schemes {

using md::pair::cluster_size, md::pair::n_neighbour_cells, md::pair::pair_force_unit, md::pair::clash_force_over_r;
using md::pair::ExcludedClusters, md::pair::TablePairs, md::pair::KernelConstants, md::pair::KernelRule;

/// Tells how coordinates and forces are stored: x y z of one atom after another, or all x, then all y, then all z.
enum class Layout { array_of_structures, structure_of_arrays };

/// Arrays by slot have room for a register beyond the last slot; coordinates there are far away.
inline constexpr std::int32_t spare_slots = 16;

/// Lists the cells and the pairs of cells that this rank computes.
struct CellPairs {
  std::vector<std::int32_t> begin, end;                              // by local cell: slots of its atoms
  std::vector<std::array<std::int32_t, n_neighbour_cells>> partner;  // by local cell and offset; −1: another rank's
  std::vector<std::array<float, 3>> shift;                           // by offset, Å
};

/// Holds what searches and kernels read. Coordinates are in Å relative to the cell's centre; parameters are as in
/// ClusterData.
struct CellAtoms {
  Layout layout;
  std::int64_t n_slots;  // including the spare ones; in a structure of arrays the distance from x to y
  const float* place;    // 3·n_slots
  const float *q, *sigma, *epsilon;
  const float* reach;        // Å
  const std::int32_t* type;  // padding 0
  const CellPairs& cells;
  const ExcludedClusters& excluded;
  const TablePairs& table_pairs;
  const KernelConstants& constants;
  const PairTable* table;  // null: analytic functions
};

/// Marks the neighbours of an i-atom in one cell, those that the force field excludes first. They end where those of
/// the next row begin.
struct NeighbourRow {
  std::int32_t slot, begin, n_excluded;
};

/// Holds one thread's lists of neighbours, by pairs of cells.
struct NeighbourList {
  struct CellPair {
    std::int32_t offset, row_begin;
  };
  std::vector<CellPair> cell_pairs;     // one more pair marks the end of the last
  std::vector<NeighbourRow> rows;       // one more row marks the end of the last
  std::vector<std::int32_t> neighbour;  // slots; may hold room beyond the last row's end
  std::int32_t n = 0;                   // of neighbours

  std::size_t bytes() const;
};

/// Names a pair too close for a kernel's integers or table, which the caller computes in double precision.
struct ClosePair {
  std::int32_t i, j, offset;
  bool is_excluded;
};

/// Appends the neighbours closer than cutoff + reach_i + reach_j of all atoms of a cell (algorithm 1).
void list_neighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourList& list);
/// Adds forces of the cell pairs [begin, end) of a list, in pair_force_unit and in the atoms' layout (algorithm 2).
/// Excluded pairs contribute the mesh correction.
void add_listed_forces(const CellAtoms& atoms, const NeighbourList& list, std::size_t begin, std::size_t end,
                       std::int32_t* force, std::vector<ClosePair>& close);

/// Bit o of an atom's flags tells whether some atom of the cell at offset o is closer than cutoff + reach_i + reach_j
/// (algorithm 3).
using NeighbourFlags = std::uint64_t;
void flag_neighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourFlags* flags);
/// Adds forces of all flagged atoms of a cell with whole cells, like add_listed_forces (algorithm 4).
void add_flagged_forces(const CellAtoms& atoms, std::int32_t cell, const NeighbourFlags* flags, std::int32_t* force,
                        std::vector<ClosePair>& close);

/// Calls visit(j) for the slots whose atoms the force field excludes for a slot's atom.
template <class Visit>
void for_excluded(const ExcludedClusters& excluded, std::int32_t slot, Visit&& visit) {
  for (const auto& partner : excluded.of(slot / cluster_size))
    for (unsigned bits = (partner.excluded >> (cluster_size * (slot % cluster_size))) & 0xFu, j = 0; bits != 0;
         bits >>= 1, ++j)
      if (bits & 1u) visit(partner.cluster * cluster_size + static_cast<std::int32_t>(j));
}

}  // namespace tessera::pair_schemes
