// Gathers the ranks' atoms on the root, in id order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// The state with all atoms on the root, without atoms elsewhere. Collective.
md::Snapshot gather_state(const md::Engine& engine, const comm::Communicator& comm);

/// The same with the atoms with ids from begin to end alone, for a caller that needs all of them in turn but can't hold
/// them at once. Collective.
md::Snapshot gather_state(const md::Engine& engine, const comm::Communicator& comm, std::int64_t begin,
                          std::int64_t end);

/// Calls function(begin, end) for id after id of all atoms, some at a time.
template <class Function>
void for_id_ranges(std::int64_t n_atoms, Function&& function) {
  constexpr std::int64_t least_atoms = 4096, most_ranges = 64;
  const auto step = std::max(least_atoms, (n_atoms + most_ranges - 1) / most_ranges);
  for (std::int64_t begin = 0; begin < n_atoms; begin += step) function(begin, std::min(begin + step, n_atoms));
}

/// What atoms have three numbers of, and their unit. The forces of one source are known apart where it has a group of
/// forces of its own (md/force_groups.h).
enum class Quantity { position, velocity, force, bonded_force, direct_force, mesh_force };  // Å, Å/ps, kcal/mol/Å

struct AtomVector {
  std::int64_t id;
  Vec3 value;
};

/// Of this rank's atoms, in no particular order.
std::vector<AtomVector> own_vectors(const md::Engine& engine, Quantity quantity);
/// Of all atoms by id, (n,3), on all ranks. Collective.
std::vector<double> all_vectors(const md::Engine& engine, const comm::Communicator& comm, Quantity quantity);

/// (n,3) kcal/mol/Å on the root; empty elsewhere. Collective.
std::vector<double> gather_forces(const md::Engine& engine, const comm::Communicator& comm);

}  // namespace tessera::app
