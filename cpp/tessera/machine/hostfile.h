// Text of host files that make an MPI launcher place ranks in a given order.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/orders.h"

namespace tessera::machine {

enum class HostFileFormat { open_mpi, mpich, slurm, plain };

/// "openmpi", "mpich", "slurm" or "plain"; throws InputError naming the nearest.
HostFileFormat host_file_format(const std::string& name);

/// The file, ranks in the given order; its first lines are comments that say how to use it.
std::string host_file(const Network& network, const RankOrder& order, HostFileFormat format);

}  // namespace tessera::machine
