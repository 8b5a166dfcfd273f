// The ranks' atoms in the order of ids, on the root or in shares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// Returns the state with the atoms with ids from begin to end on the root, without atoms elsewhere: for a caller that
/// needs all of them in turn but can't hold them at once. Collective.
md::Snapshot gather_state(const md::Engine& engine, const comm::Communicator& comm, std::int64_t begin,
                          std::int64_t end);

/// Calls function(begin, end) for id after id of all atoms, some at a time: never more than a million.
template <class Function>
void for_id_ranges(std::int64_t n_atoms, Function&& function) {
  constexpr std::int64_t least_atoms = 4096, most_atoms = 1 << 20, few_ranges = 64;
  const auto step = std::clamp((n_atoms + few_ranges - 1) / few_ranges, least_atoms, most_atoms);
  for (std::int64_t begin = 0; begin < n_atoms; begin += step) function(begin, std::min(begin + step, n_atoms));
}

/// What atoms have three numbers of, and their unit; fractions are whole numbers. The forces of one source are known
/// apart where it has a group of forces of its own (md/force_groups.h).
enum class Quantity {
  position,  // Å
  fraction,  // 2⁻³² of the box
  velocity,  // Å/ps
  force,     // kcal/mol/Å, as those below
  bonded_force,
  direct_force,
  mesh_force
};

struct AtomVector {
  std::int64_t id;
  Vec3 value;
};

/// Returns the vectors of this rank's atoms, in no particular order.
std::vector<AtomVector> own_vectors(const md::Engine& engine, Quantity quantity);
/// Returns the vectors of all atoms by id, (n,3), on all ranks. Collective.
std::vector<double> all_vectors(const md::Engine& engine, const comm::Communicator& comm, Quantity quantity);

/// Writes those of all atoms by id, (n,3), as a NumPy file; each rank writes a share. Throws RunError on all ranks.
/// Collective.
void write_vectors(const std::string& path, const md::Engine& engine, const comm::Communicator& comm,
                   Quantity quantity);

}  // namespace tessera::app
