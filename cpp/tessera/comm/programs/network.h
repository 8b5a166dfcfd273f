// The network that plans of a program are made for.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/trial.h"

namespace tessera::comm::programs {

struct ChosenNetwork {
  std::shared_ptr<const machine::Network> network;  // null where there is a warning
  std::vector<machine::Trial> trials;               // of this MPI library; on rank 0
  std::string host;                                 // this rank's, where it is not the true one
  std::string warning;                              // why the map can't be used, the same on all ranks
};

/// A sample network by name (samples.h), else the map of a file, else the hosts that ranks run on as one switch.
/// Collective.
ChosenNetwork network_for(const std::string& sample, const std::string& map, MPI_Comm comm);

}  // namespace tessera::comm::programs
