// Writes host files that make an MPI launcher place ranks in a given order.
#pragma once

#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/orders.h"

namespace tessera::machine {

enum class HostFileFormat { open_mpi, mpich, slurm, plain };

/// Takes "openmpi", "mpich", "slurm" or "plain"; throws InputError that suggests the nearest name.
HostFileFormat host_file_format(const std::string& name);

/// Returns the file with ranks in the given order; comments in its first lines explain its use.
std::string host_file(const Network& network, const RankOrder& order, HostFileFormat format);

}  // namespace tessera::machine
