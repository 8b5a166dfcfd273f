// A rank's atoms brought together on the root, in id order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// All atoms' particles (place at the last search, displacement since, velocity) on the root; empty elsewhere.
/// Collective.
std::vector<md::domain::Particle> gather_particles(const md::Engine& engine, const comm::Communicator& comm);

/// Of the atoms with ids from begin to end, which a caller that needs all of them in turn can't hold at once.
/// Collective.
std::vector<md::domain::Particle> gather_particles(const md::Engine& engine, const comm::Communicator& comm,
                                                   std::int64_t begin, std::int64_t end);

/// Calls function(begin, end) for id after id of all atoms, some at a time.
template <class Function>
void for_id_ranges(std::int64_t n_atoms, Function&& function) {
  constexpr std::int64_t least_atoms = 4096, most_ranges = 64;
  const auto step = std::max(least_atoms, (n_atoms + most_ranges - 1) / most_ranges);
  for (std::int64_t begin = 0; begin < n_atoms; begin += step) function(begin, std::min(begin + step, n_atoms));
}

/// (n,3) kcal/mol/Å on the root; empty elsewhere. Collective.
std::vector<double> gather_forces(const md::Engine& engine, const comm::Communicator& comm);

}  // namespace tessera::app
