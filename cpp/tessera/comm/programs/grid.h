// Ranks in a Cartesian grid along the network, and how near its neighbours are.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::comm::programs {

struct GridRequest {
  std::vector<int> dims;
  bool is_periodic = false;
  std::string network, map;  // of network_for
};

/// `ranks`: by place, row by row; `neighbours`: how many pairs of them meet on one host, in one leaf subnet, and so on
/// up, `renumbered` and `as_numbered`; `warning`: why the map was of no use. Collective; throws InputError for a grid
/// of more places than ranks.
nlohmann::json make_grid(const GridRequest& request, MPI_Comm comm);

}  // namespace tessera::comm::programs
