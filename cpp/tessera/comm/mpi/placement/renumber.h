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
/// it, and other ranks get MPI_COMM_NULL. Ranks keep their numbers where others gain nothing. What MPI does not allow is
/// left to MPI to say. Collective.
int create_cartesian(MPI_Comm comm, const machine::Wires& wires, std::span<const int> dims,
                     std::span<const int> periodic, MPI_Comm* grid);

/// Calls MPI_Graph_create, MPI_Dist_graph_create or MPI_Dist_graph_create_adjacent with the same arguments, and
/// renumbers ranks along the wires of the ranks of `comm` (machine::graph_order): vertex v is rank v of `graph`, whichever
/// process has told its edges. Rank 0 gathers the edges; of more than most_edges nothing is renumbered by us. Collective.
int create_graph(MPI_Comm comm, const machine::Wires& wires, int n_vertices, const int* index, const int* edges,
                 MPI_Comm* graph);
int create_distributed_graph(MPI_Comm comm, const machine::Wires& wires, int n, const int* sources, const int* degrees,
                             const int* destinations, const int* weights, MPI_Info info, MPI_Comm* graph);
int create_adjacent_graph(MPI_Comm comm, const machine::Wires& wires, int n_sources, const int* sources,
                          const int* source_weights, int n_destinations, const int* destinations,
                          const int* destination_weights, MPI_Info info, MPI_Comm* graph);

/// So many edges are put in order in about two seconds.
inline constexpr int most_edges = 1 << 20;

}  // namespace tessera::comm::mpi
