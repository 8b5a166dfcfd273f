#include "tessera/programs/collectives/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/placement.h"
#include "tessera/comm/mpi/renumber.h"
#include "tessera/programs/collectives/network.h"

namespace tessera::programs {
namespace {

/// Counts pairs of neighbours in a grid by the level at which they meet.
std::vector<int> neighbours_by_level(const GridRequest& request, const std::vector<int>& ranks,
                                     const machine::Wires& wires) {
  std::vector<int> n_pairs;
  std::size_t stride = 1;
  for (auto d = request.dims.size(); d-- > 0; stride *= static_cast<std::size_t>(request.dims[d])) {
    const auto length = static_cast<std::size_t>(request.dims[d]);
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      const auto at = place / stride % length;
      const bool is_last = at + 1 == length;
      if (is_last && (!request.is_periodic || length < 3)) continue;  // of two, each is the other's only neighbour
      const auto next = is_last ? place - at * stride : place + stride;
      const auto level = static_cast<std::size_t>(wires.level(ranks[place], ranks[next]));
      n_pairs.resize(std::max(n_pairs.size(), level + 1), 0);
      ++n_pairs[level];
    }
  }
  return n_pairs;
}

}  // namespace

nlohmann::json make_grid(const GridRequest& request, MPI_Comm comm) {
  int rank = 0, n_ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n_ranks);
  const int n_places = comm::mpi::places_of(request.dims, n_ranks);
  if (n_places == 0)
    throw InputError(fmt::format("--dims {}: more places than the {} ranks", fmt::join(request.dims, ","), n_ranks));
  const auto chosen = network_for(request.network, request.map, comm);
  const comm::mpi::Placement placement(comm, chosen.network, chosen.host);
  const auto wires = placement.wires_of(comm);
  const auto warning = chosen.warning.empty() ? placement.warning() : chosen.warning;
  if (!wires) throw InputError(warning);

  const std::vector<int> periodic(request.dims.size(), request.is_periodic ? 1 : 0);
  MPI_Comm grid = MPI_COMM_NULL;
  comm::mpi::create_cartesian(comm, *wires, request.dims, periodic, &grid);
  int place = -1;
  if (grid != MPI_COMM_NULL) {
    MPI_Comm_rank(grid, &place);
    MPI_Comm_free(&grid);
  }
  std::vector<int> places(static_cast<std::size_t>(n_ranks)), ranks(static_cast<std::size_t>(n_places), -1);
  MPI_Allgather(&place, 1, MPI_INT, places.data(), 1, MPI_INT, comm);
  for (int r = 0; r < n_ranks; ++r)
    if (const int at = places[static_cast<std::size_t>(r)]; at >= 0) ranks[static_cast<std::size_t>(at)] = r;
  std::vector<int> as_numbered(ranks.size());
  std::iota(as_numbered.begin(), as_numbered.end(), 0);
  return {{"ranks", ranks},
          {"neighbours",
           {{"renumbered", neighbours_by_level(request, ranks, *wires)},
            {"as_numbered", neighbours_by_level(request, as_numbered, *wires)}}},
          {"warning", warning}};
}

}  // namespace tessera::programs
