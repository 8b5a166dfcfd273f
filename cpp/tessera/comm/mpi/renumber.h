// Communicators whose ranks are numbered along the network, for programs that let MPI renumber them, so that ranks that
// communicate most are joined by the fastest links.
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "tessera/machine/wires.h"

namespace tessera::comm::mpi {

/// Makes a communicator of the same ranks with other numbers: `ranks[i]`, all of them in any order
/// (machine::ranks_in_order), is rank i of `renumbered`. Returns MPI's error code. Collective.
int renumber(MPI_Comm comm, std::span<const int> ranks, MPI_Comm* renumbered);

/// Returns the number of places of a Cartesian grid; 0 where it has none or more than there are ranks.
int places_of(std::span<const int> dims, int n_ranks);

/// Does what MPI_Cart_create does, and renumbers ranks along the wires of the ranks of `comm`
/// (machine::cartesian_order). Where the grid has fewer places than there are ranks, whole hosts near each other hold
/// it, and other ranks get MPI_COMM_NULL. What MPI does not allow is left to MPI to say. Collective.
int create_cartesian(MPI_Comm comm, const machine::Wires& wires, std::span<const int> dims,
                     std::span<const int> periodic, MPI_Comm* grid);

}  // namespace tessera::comm::mpi
