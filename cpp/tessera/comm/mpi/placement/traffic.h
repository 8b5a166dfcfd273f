// Measures the traffic of others between the hosts of a job.
#pragma once

#include <mpi.h>

#include <vector>

#include "tessera/machine/network.h"

namespace tessera::comm::mpi {

/// Measures for about so many seconds, at least twice each, how long messages between hosts take, and returns what
/// others send. `host_of_rank` has the index of each rank's host in the network. All ranks return the same. Collective.
machine::Traffic measure_traffic(MPI_Comm comm, const machine::Network& network, const std::vector<int>& host_of_rank,
                                 double seconds);

}  // namespace tessera::comm::mpi
