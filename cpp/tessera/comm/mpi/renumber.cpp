#include "tessera/comm/mpi/renumber.h"

#include <algorithm>
#include <cstdint>

#include "tessera/base/error.h"
#include "tessera/machine/orders.h"

namespace tessera::comm::mpi {

int places_of(std::span<const int> dims, int n_ranks) {
  std::int64_t n = dims.empty() ? 0 : 1;
  for (const int d : dims) {
    if (d < 1) return 0;
    n *= d;
    if (n > n_ranks) return 0;
  }
  return static_cast<int>(n);
}

namespace {

/// Returns the ranks of the grid by its places, then the ranks that have none.
std::vector<int> ranks_of_grid(const machine::Wires& wires, std::span<const int> dims, int n_places) {
  const auto& network = wires.network();
  std::vector<int> left(network.hosts.size(), 0), in_grid(network.hosts.size(), 0);
  for (std::size_t host = 0; host < left.size(); ++host)
    left[host] = static_cast<int>(wires.ranks_on(static_cast<int>(host)).size());
  auto n_missing = n_places;
  for (const int host : network.hosts_of(0)) {
    const auto h = static_cast<std::size_t>(host);
    in_grid[h] = std::min(left[h], n_missing);
    left[h] -= in_grid[h];
    n_missing -= in_grid[h];
  }
  auto order = machine::cartesian_order(network, in_grid, {dims.begin(), dims.end()});
  const auto rest = machine::ring_order(network, left);
  order.insert(order.end(), rest.begin(), rest.end());
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < wires.n_ranks(); ++rank) host_of_rank.push_back(wires.host_of(rank));
  return machine::ranks_in_order(host_of_rank, order);
}

}  // namespace

int renumber(MPI_Comm comm, std::span<const int> ranks, MPI_Comm* renumbered) {
  int own = 0;
  if (const int code = MPI_Comm_rank(comm, &own); code != MPI_SUCCESS) return code;
  const auto at = std::find(ranks.begin(), ranks.end(), own);
  TESSERA_CHECK(at != ranks.end());
  return MPI_Comm_split(comm, 0, static_cast<int>(at - ranks.begin()), renumbered);
}

int create_cartesian(MPI_Comm comm, const machine::Wires& wires, std::span<const int> dims,
                     std::span<const int> periodic, MPI_Comm* grid) {
  const auto n_dims = static_cast<int>(dims.size());
  const int n_places = places_of(dims, wires.n_ranks());
  if (n_places == 0) return MPI_Cart_create(comm, n_dims, dims.data(), periodic.data(), 0, grid);
  MPI_Comm renumbered = MPI_COMM_NULL;
  int code = renumber(comm, ranks_of_grid(wires, dims, n_places), &renumbered);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Cart_create(renumbered, n_dims, dims.data(), periodic.data(), 0, grid);
  MPI_Comm_free(&renumbered);
  return code;
}

}  // namespace tessera::comm::mpi
