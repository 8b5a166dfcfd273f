// A rank's atoms brought together on the root, in id order.
#pragma once

#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

/// All atoms' particles (place at the last search, displacement since, velocity) on the root; empty elsewhere.
/// Collective.
std::vector<md::domain::Particle> gather_particles(const md::Engine& engine, const comm::Communicator& comm);

/// (n,3) kcal/mol/Å on the root; empty elsewhere. Collective.
std::vector<double> gather_forces(const md::Engine& engine, const comm::Communicator& comm);

}  // namespace tessera::app
