// Names of hosts and the map of the machine, which must be the same on all ranks.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/trial.h"

namespace tessera::comm::mpi {

/// Returns the names that all ranks give, by rank. Collective.
std::vector<std::string> gather_names(const std::string& name, MPI_Comm comm);

/// Returns the text of the lowest rank that has one, on all ranks; empty if none has. Collective.
std::string agreed_text(const std::string& text, MPI_Comm comm);

struct MapReading {
  std::shared_ptr<const machine::Network> network;  // null where there is a warning
  std::vector<machine::Trial> trials;               // of this MPI library; on rank 0
  std::string warning;                              // one line, the same on all ranks
};
/// Returns the network of a machine file, which rank 0 reads for all ranks. Collective.
MapReading read_map(const std::string& path, MPI_Comm comm);

}  // namespace tessera::comm::mpi
