// Searches and kernels that go from cell to cell: a list of neighbours per atom and cell, or one flag per atom and cell
// with whole cells evaluated (algorithms 1 to 4 of J. Jung et al., J. Comput. Chem. 40, 1919 (2019),
// doi:10.1002/jcc.25840), with coordinates and forces in either layout.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/pair/cells/pair_table.h"
#include "tessera/md/pair/cluster_kernel.h"

namespace tessera::md::pair::cells {

/// Of coordinates and forces: x y z of one atom after another, or all x, then all y, then all z.
enum class Layout { array_of_structures, structure_of_arrays };

/// Arrays by slot have room for a register beyond the last slot; coordinates there lie far away.
inline constexpr std::int32_t spare_slots = 16;

/// Cells and the pairs of cells that are this rank's.
struct CellPairs {
  std::vector<std::int32_t> begin, end;                              // by local cell: slots of its atoms
  std::vector<std::array<std::int32_t, n_neighbour_cells>> partner;  // by local cell and offset; −1: not ours
  std::vector<std::array<float, 3>> shift;                           // by offset, Å
};

/// What searches and kernels read. Coordinates in Å relative to the cell's centre; parameters as in ClusterData.
struct CellAtoms {
  Layout layout;
  std::int64_t n_slots;  // with the spare ones: from all x to all y in a structure of arrays
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

/// The neighbours of an i-atom in one cell, those that the force field excludes first; they end where the next row's
/// begin.
struct NeighbourRow {
  std::int32_t slot, begin, n_excluded;
};

/// One thread's lists of neighbours, by pairs of cells.
struct NeighbourList {
  struct CellPair {
    std::int32_t offset, row_begin;
  };
  std::vector<CellPair> cell_pairs;     // and one more, which ends the last
  std::vector<NeighbourRow> rows;       // and one more
  std::vector<std::int32_t> neighbour;  // slots; may hold room beyond the last row's end
  std::int32_t n = 0;                   // of neighbours

  std::size_t bytes() const;
};

/// A pair too close for a kernel's integers or table, left out for the caller to do in double precision.
struct ClosePair {
  std::int32_t i, j, offset;
  bool is_excluded;
};

/// Algorithm 1: appends the neighbours closer than cutoff + reach_i + reach_j of all atoms of a cell.
void list_neighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourList& list);
/// Algorithm 2: forces of the cell pairs [begin, end) of a list, in pair_force_unit and in the atoms' layout; energies
/// where given. Excluded pairs give forces and virial (of the mesh's correction), not energies.
void add_listed_forces(const CellAtoms& atoms, const NeighbourList& list, std::size_t begin, std::size_t end,
                       std::int32_t* force, EnergyVirial* energies, std::vector<ClosePair>& close);

/// Algorithm 3: bit o of an atom's flags: some atom of the cell at offset o is closer than cutoff + reach_i + reach_j.
using NeighbourFlags = std::uint64_t;
void flag_neighbours(const CellAtoms& atoms, std::int32_t cell, float cutoff, NeighbourFlags* flags);
/// Algorithm 4: forces of all flagged atoms of a cell with whole cells, as above.
void add_flagged_forces(const CellAtoms& atoms, std::int32_t cell, const NeighbourFlags* flags, std::int32_t* force,
                        EnergyVirial* energies, std::vector<ClosePair>& close);

/// Calls visit(j) for the slots that the force field excludes from a slot's atom.
template <class Visit>
void for_excluded(const ExcludedClusters& excluded, std::int32_t slot, Visit&& visit) {
  for (const auto& partner : excluded.of(slot / cluster_size))
    for (unsigned bits = (partner.excluded >> (cluster_size * (slot % cluster_size))) & 0xFu, j = 0; bits != 0;
         bits >>= 1, ++j)
      if (bits & 1u) visit(partner.cluster * cluster_size + static_cast<std::int32_t>(j));
}

}  // namespace tessera::md::pair::cells
