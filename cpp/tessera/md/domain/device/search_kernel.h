// Declares what the kernels read and write that sort atoms into cells. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/base/box.h"

namespace tessera::md::domain {

/// A cell may have so many atoms, which a block sorts. It cuts them so often until parts have no more than a cluster.
inline constexpr std::int32_t most_atoms_of_cell = 256, most_cuts_of_cell = 6;

/// What finds the cell of each atom, that of the first atom of its group.
struct CellArguments {
  std::int32_t n_slots;
  std::int32_t grid[3];              // cells along each box vector, fewer than 2¹⁶
  const Fraction* position;          // by slot
  const std::int32_t* atom;          // by slot; −1: padding
  const std::int32_t* key;           // by atom: the key atom of its group
  const std::int32_t* slot_of;       // by atom
  const std::int32_t* cell_of_flat;  // by place in the grid (CellGrid::flat)
  std::int32_t* cell;                // by slot; −1: padding
  std::int32_t* place;               // by slot: a number among the atoms of its cell, in no order
  std::int32_t* count;               // by cell, zeros before
};

/// What lists the atoms of each cell.
struct AtomsOfCellArguments {
  std::int32_t n_slots;
  const std::int32_t *cell, *place;  // by slot
  const std::int32_t* begin;         // by cell: its first cluster
  std::int32_t* list;                // slots before, from the first slot of each cell on
};

/// What sorts the atoms of each cell into its slots, as sort_cell() does.
struct SortArguments {
  SingleTriangular to_length;
  const Fraction* centre;     // by cell
  const std::int32_t* count;  // by cell
  const std::int32_t* begin;  // (cells+1)
  const std::int32_t* list;   // AtomsOfCellArguments
  const Fraction* position;   // by slot before
  const std::int32_t* atom;   // by slot before
  std::int32_t* slot;         // by slot before: where its atom is now
  std::int32_t* source;       // by slot now: where its atom was; −1: padding
  std::int32_t* next_atom;    // by slot now
  std::int32_t* slot_of;      // by atom, now
  Fraction* next_position;    // by slot now; padding is in the middle of its cell
  Fraction* next_reference;   // the same
  std::int32_t* cell_of;      // by cluster
};

}  // namespace tessera::md::domain
