// Places ranks in a Cartesian grid, or in the graph of its neighbours, along the network, and tells how near they are.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::programs {

struct GridRequest {
  std::vector<int> dims;
  bool is_periodic = false;
  std::string as = "grid";   // what MPI is told of: grid, graph, distributed, adjacent
  std::string network, map;  // of network_for
};

/// Returns `ranks` by place, row by row; `neighbours`, the numbers of pairs of them that meet on one host, in one leaf
/// subnet, and so on up, `renumbered` and `as_numbered`; `wrong`, at how many places MPI names other neighbours of a graph
/// than those it was told; and `warning`, why the map could not be used. Throws InputError for a grid of more places than
/// ranks. Collective.
nlohmann::json make_grid(const GridRequest& request, MPI_Comm comm);

}  // namespace tessera::programs
