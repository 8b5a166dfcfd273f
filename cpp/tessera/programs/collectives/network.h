// Finds the network for which a program makes plans.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/trial.h"

namespace tessera::programs {

struct ChosenNetwork {
  std::shared_ptr<const machine::Network> network;  // null where there is a warning
  std::vector<machine::Trial> trials;               // of this MPI library; on rank 0
  std::string host;                                 // this rank's, where it is not the true one
  std::string warning;                              // why the map can't be used, the same on all ranks
};

/// Returns a sample network by its name (samples.h), else the map of a file, else the hosts of the ranks as one switch.
/// Collective.
ChosenNetwork network_for(const std::string& sample, const std::string& map, MPI_Comm comm);

}  // namespace tessera::programs
