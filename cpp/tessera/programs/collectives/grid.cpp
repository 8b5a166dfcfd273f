#include "tessera/programs/collectives/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/placement/placement.h"
#include "tessera/comm/mpi/placement/renumber.h"
#include "tessera/programs/collectives/network.h"

namespace tessera::programs {
namespace {

/// Holds the neighbours of a place and the weights of what goes to them, which are those of what comes from them.
struct PlaceNeighbours {
  std::vector<int> places, weights;
};

/// Returns the neighbours of a place of the grid; none of a place outside.
PlaceNeighbours neighbours_of(const GridRequest& request, std::size_t n_places, std::size_t place) {
  PlaceNeighbours found;
  if (place >= n_places) return found;
  std::size_t stride = 1;
  for (auto d = request.dims.size(); d-- > 0; stride *= static_cast<std::size_t>(request.dims[d])) {
    const auto length = static_cast<std::size_t>(request.dims[d]);
    const auto at = place / stride % length;
    const auto add = [&](std::size_t next) {
      found.places.push_back(static_cast<int>(place + next * stride - at * stride));
      found.weights.push_back(static_cast<int>(d) + 1);
    };
    const bool is_round = request.is_periodic && length > 2;  // of two, each is the other's only neighbour
    if (at + 1 < length || is_round) add((at + 1) % length);
    if (at > 0 || is_round) add((at + length - 1) % length);
  }
  return found;
}

/// Counts pairs of neighbours in a grid by the level at which they meet.
std::vector<int> neighbours_by_level(const GridRequest& request, const std::vector<int>& ranks,
                                     const machine::Wires& wires) {
  std::vector<int> n_pairs;
  for (std::size_t place = 0; place < ranks.size(); ++place)
    for (const int next : neighbours_of(request, ranks.size(), place).places) {
      if (next < static_cast<int>(place)) continue;
      const auto level = static_cast<std::size_t>(wires.level(ranks[place], ranks[static_cast<std::size_t>(next)]));
      n_pairs.resize(std::max(n_pairs.size(), level + 1), 0);
      ++n_pairs[level];
    }
  return n_pairs;
}

/// Makes the communicator of the grid, or of its graph. With `distributed`, each rank tells the edges of the next place.
MPI_Comm make_topology(const GridRequest& request, int n_places, MPI_Comm comm, const machine::Wires& wires) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm made = MPI_COMM_NULL;
  const auto neighbours = [&](int place) {
    return neighbours_of(request, static_cast<std::size_t>(n_places), static_cast<std::size_t>(place));
  };
  if (request.as == "graph") {
    std::vector<int> index, edges;
    for (int place = 0; place < n_places; ++place) {
      const auto found = neighbours(place).places;
      edges.insert(edges.end(), found.begin(), found.end());
      index.push_back(static_cast<int>(edges.size()));
    }
    comm::mpi::create_graph(comm, wires, n_places, index.data(), edges.data(), &made);
  } else if (request.as == "distributed") {
    const int source = (rank + 1) % wires.n_ranks();
    const auto [places, weights] = neighbours(source);
    const int degree = static_cast<int>(places.size());
    comm::mpi::create_distributed_graph(comm, wires, degree > 0 ? 1 : 0, &source, &degree, places.data(),
                                        degree > 0 ? weights.data() : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, &made);
  } else if (request.as == "adjacent") {
    const auto [places, weights] = neighbours(rank);
    const int degree = static_cast<int>(places.size());
    const int* of = degree > 0 ? weights.data() : MPI_WEIGHTS_EMPTY;
    comm::mpi::create_adjacent_graph(comm, wires, degree, places.data(), of, degree, places.data(), of, MPI_INFO_NULL,
                                     &made);
  } else {
    const std::vector<int> periodic(request.dims.size(), request.is_periodic ? 1 : 0);
    comm::mpi::create_cartesian(comm, wires, request.dims, periodic, &made);
  }
  return made;
}

/// Tells whether MPI names the neighbours that were told of a place, in order where it keeps the order.
bool has_neighbours(const GridRequest& request, MPI_Comm made, int place, PlaceNeighbours told) {
  PlaceNeighbours in, out;
  if (request.as == "graph") {
    int n = 0;
    MPI_Graph_neighbors_count(made, place, &n);
    out.places.resize(static_cast<std::size_t>(n));
    MPI_Graph_neighbors(made, place, n, out.places.data());
    return out.places == told.places;
  }
  int n_in = 0, n_out = 0, is_weighted = 0;
  MPI_Dist_graph_neighbors_count(made, &n_in, &n_out, &is_weighted);
  for (auto& [found, n] : {std::pair{&in, n_in}, std::pair{&out, n_out}})
    found->places.resize(static_cast<std::size_t>(n)), found->weights.resize(static_cast<std::size_t>(n));
  MPI_Dist_graph_neighbors(made, n_in, in.places.data(), in.weights.data(), n_out, out.places.data(),
                           out.weights.data());
  if (request.as == "distributed")
    for (auto* found : {&in, &out, &told}) {
      std::vector<std::pair<int, int>> pairs;
      for (std::size_t i = 0; i < found->places.size(); ++i) pairs.emplace_back(found->places[i], found->weights[i]);
      std::sort(pairs.begin(), pairs.end());
      for (std::size_t i = 0; i < pairs.size(); ++i) std::tie(found->places[i], found->weights[i]) = pairs[i];
    }
  return is_weighted != 0 && in.places == told.places && in.weights == told.weights && out.places == told.places &&
         out.weights == told.weights;
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

  auto made = make_topology(request, static_cast<int>(n_places), comm, *wires);
  int place = -1, is_wrong = 0, n_wrong = 0;
  if (made != MPI_COMM_NULL) {
    MPI_Comm_rank(made, &place);
    const auto told = neighbours_of(request, static_cast<std::size_t>(n_places), static_cast<std::size_t>(place));
    if (request.as != "grid") is_wrong = has_neighbours(request, made, place, told) ? 0 : 1;
    MPI_Comm_free(&made);
  }
  MPI_Allreduce(&is_wrong, &n_wrong, 1, MPI_INT, MPI_SUM, comm);
  std::vector<int> places(static_cast<std::size_t>(n_ranks)), ranks(static_cast<std::size_t>(n_places), -1);
  MPI_Allgather(&place, 1, MPI_INT, places.data(), 1, MPI_INT, comm);
  for (int r = 0; r < n_ranks; ++r)
    if (const int at = places[static_cast<std::size_t>(r)]; at >= 0 && at < n_places)
      ranks[static_cast<std::size_t>(at)] = r;
  std::vector<int> as_numbered(ranks.size());
  std::iota(as_numbered.begin(), as_numbered.end(), 0);
  return {{"ranks", ranks},
          {"neighbours",
           {{"renumbered", neighbours_by_level(request, ranks, *wires)},
            {"as_numbered", neighbours_by_level(request, as_numbered, *wires)}}},
          {"wrong", n_wrong},
          {"warning", warning}};
}

}  // namespace tessera::programs
