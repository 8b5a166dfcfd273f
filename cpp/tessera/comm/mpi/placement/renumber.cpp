#include "tessera/comm/mpi/placement/renumber.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/machine/graphs/graph_order.h"
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

/// Returns the edges between the neighbours of a grid.
std::vector<machine::Edge> edges_of(std::span<const int> dims, std::span<const int> periodic, int n_places) {
  std::vector<machine::Edge> edges;
  int stride = 1;
  for (auto d = dims.size(); d-- > 0; stride *= dims[d])
    for (int place = 0; place < n_places; ++place) {
      const bool is_last = place / stride % dims[d] + 1 == dims[d];
      if (is_last && (periodic[d] == 0 || dims[d] < 3)) continue;  // of two, each is the other's only neighbour
      edges.push_back({place, is_last ? place - (dims[d] - 1) * stride : place + stride});
    }
  return edges;
}

/// Holds the edges that one rank tells, three numbers each, or that its arguments are none MPI allows.
struct ToldEdges {
  std::vector<int> numbers;  // from, to, weight
  bool are_valid = true;

  /// Adds edges from one vertex to others. Weights may be absent.
  void add(int from, int n_to, const int* to, const int* weights, int n_ranks) {
    const bool is_weighted = weights != MPI_UNWEIGHTED;
    are_valid = are_valid && n_to >= 0 && from >= 0 && from < n_ranks;
    if (are_valid && n_to > 0)
      are_valid = to != nullptr && (!is_weighted || (weights != nullptr && weights != MPI_WEIGHTS_EMPTY));
    for (int i = 0; are_valid && i < n_to; ++i) {
      const int weight = is_weighted ? weights[i] : 1;
      are_valid = to[i] >= 0 && to[i] < n_ranks && weight >= 0;
      numbers.insert(numbers.end(), {from, to[i], weight});
    }
  }
};

/// Finds which rank is which vertex of the graph whose edges the ranks tell; `ranks` stays empty where edges of a rank
/// are not valid or there are too many. Returns MPI's error code.
int order_vertices(MPI_Comm comm, const machine::Wires& wires, int n_vertices, const ToldEdges& told,
                   std::vector<int>& ranks) {
  constexpr std::int64_t most_numbers = 3 * std::int64_t{most_edges};
  const int n_ranks = wires.n_ranks();
  int rank = 0, code = MPI_Comm_rank(comm, &rank);
  if (wires.n_hosts() == 1 || code != MPI_SUCCESS) return code;
  const auto n_own = static_cast<std::int64_t>(told.numbers.size());
  const int count = told.are_valid && n_own <= most_numbers ? static_cast<int>(n_own) : -1;
  std::vector<int> counts(at(n_ranks), 0), begins(at(n_ranks), 0);
  code = MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  if (code != MPI_SUCCESS) return code;
  std::int64_t sum = 0;
  for (int r = 0; r < n_ranks && sum <= most_numbers; ++r) {
    begins[at(r)] = static_cast<int>(sum);
    sum += counts[at(r)] < 0 ? most_numbers + 1 : counts[at(r)];
  }
  int is_ordered = sum <= most_numbers ? 1 : 0;
  code = MPI_Bcast(&is_ordered, 1, MPI_INT, 0, comm);
  if (code != MPI_SUCCESS || is_ordered == 0) return code;

  std::vector<int> numbers(rank == 0 ? at(sum) : 0);
  code =
      MPI_Gatherv(told.numbers.data(), count, MPI_INT, numbers.data(), counts.data(), begins.data(), MPI_INT, 0, comm);
  if (code != MPI_SUCCESS) return code;
  std::vector<machine::Edge> edges;
  for (std::size_t i = 0; i < numbers.size(); i += 3) edges.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  ranks.assign(at(n_ranks), 0);
  if (rank == 0) ranks = machine::ranks_in_graph(wires, n_vertices, edges);
  return MPI_Bcast(ranks.data(), n_ranks, MPI_INT, 0, comm);
}

/// Calls `create` with a communicator in which ranks[v] is rank v, and with whether MPI may reorder it: only where there
/// is no order. Returns MPI's error code.
template <class Create>
int create_renumbered(MPI_Comm comm, const std::vector<int>& ranks, const Create& create) {
  if (std::is_sorted(ranks.begin(), ranks.end())) return create(comm, ranks.empty() ? 1 : 0);
  MPI_Comm renumbered = MPI_COMM_NULL;
  int code = renumber(comm, ranks, &renumbered);
  if (code != MPI_SUCCESS) return code;
  code = create(renumbered, 0);
  MPI_Comm_free(&renumbered);
  return code;
}

/// Holds the neighbours of a vertex: MPI_Dist_graph_create_adjacent's arguments as they are sent.
struct Neighbours {
  int n[2] = {0, 0};             // sources, destinations
  int are_weighted[2] = {0, 0};  // whether they have weights
  std::vector<int> ranks[2], weights[2];

  void set(int which, int count, const int* of_ranks, const int* of_weights) {
    n[which] = count;
    are_weighted[which] = of_weights != MPI_UNWEIGHTED ? 1 : 0;
    if (count == 0) return;
    ranks[which].assign(of_ranks, of_ranks + count);
    if (are_weighted[which] != 0) weights[which].assign(of_weights, of_weights + count);
  }

  const int* weights_of(int which) const {
    if (are_weighted[which] == 0) return MPI_UNWEIGHTED;
    return n[which] == 0 ? MPI_WEIGHTS_EMPTY : weights[which].data();
  }
};

/// Gives `own` to one rank and takes those of another. Returns MPI's error code.
int exchange_neighbours(MPI_Comm comm, const Neighbours& own, int to, int from, Neighbours& other) {
  std::vector<int> sent, received;
  for (const int which : {0, 1}) {
    sent.insert(sent.end(), own.ranks[which].begin(), own.ranks[which].end());
    sent.insert(sent.end(), own.weights[which].begin(), own.weights[which].end());
  }
  const int own_head[] = {own.n[0], own.n[1], own.are_weighted[0], own.are_weighted[1]};
  int head[4] = {};
  int code = MPI_Sendrecv(own_head, 4, MPI_INT, to, 0, head, 4, MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return code;
  received.resize(at(head[0] * (1 + head[2]) + head[1] * (1 + head[3])));
  code = MPI_Sendrecv(sent.data(), static_cast<int>(sent.size()), MPI_INT, to, 0, received.data(),
                      static_cast<int>(received.size()), MPI_INT, from, 0, comm, MPI_STATUS_IGNORE);
  const int* next = received.data();
  for (const int which : {0, 1}) {
    const int n = head[which];
    other.set(which, n, next, head[2 + which] != 0 ? next + n : MPI_UNWEIGHTED);
    next += n * (1 + head[2 + which]);
  }
  return code;
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
  const int n_places = places_of(dims, wires.n_ranks());
  std::vector<int> ranks;
  if (n_places > 0)
    ranks = machine::cheaper_ranks(
        wires,
        machine::ranks_in_places(
            wires, n_places,
            [&](const auto& ranks_on_host) {
              return machine::cartesian_order(wires.network(), ranks_on_host, {dims.begin(), dims.end()});
            }),
        edges_of(dims, periodic, n_places));
  return create_renumbered(comm, ranks, [&](MPI_Comm of, int) {
    return MPI_Cart_create(of, static_cast<int>(dims.size()), dims.data(), periodic.data(), 0, grid);
  });
}

int create_graph(MPI_Comm comm, const machine::Wires& wires, int n_vertices, const int* index, const int* edges,
                 MPI_Comm* graph) {
  int rank = 0;
  if (const int code = MPI_Comm_rank(comm, &rank); code != MPI_SUCCESS) return code;
  ToldEdges told;
  told.are_valid = n_vertices >= 0 && n_vertices <= wires.n_ranks() && (n_vertices == 0 || index != nullptr);
  for (int v = 0, begin = 0; told.are_valid && rank == 0 && v < n_vertices; begin = index[v++])
    told.add(v, index[v] - begin, edges + begin, MPI_UNWEIGHTED, n_vertices);
  std::vector<int> ranks;
  if (const int code = order_vertices(comm, wires, n_vertices, told, ranks); code != MPI_SUCCESS) return code;
  return create_renumbered(comm, ranks, [&](MPI_Comm of, int reorder) {
    return MPI_Graph_create(of, n_vertices, index, edges, reorder, graph);
  });
}

int create_distributed_graph(MPI_Comm comm, const machine::Wires& wires, int n, const int* sources, const int* degrees,
                             const int* destinations, const int* weights, MPI_Info info, MPI_Comm* graph) {
  ToldEdges told;
  told.are_valid = n == 0 || (n > 0 && sources != nullptr && degrees != nullptr);
  std::int64_t begin = 0;
  for (int i = 0; told.are_valid && i < n; begin += degrees[i++])
    told.add(sources[i], degrees[i], destinations + begin, weights == MPI_UNWEIGHTED ? weights : weights + begin,
             wires.n_ranks());
  std::vector<int> ranks;
  if (const int code = order_vertices(comm, wires, wires.n_ranks(), told, ranks); code != MPI_SUCCESS) return code;
  // Any process may tell the edges of any vertex, so each tells the same ones.
  return create_renumbered(comm, ranks, [&](MPI_Comm of, int reorder) {
    return MPI_Dist_graph_create(of, n, sources, degrees, destinations, weights, info, reorder, graph);
  });
}

int create_adjacent_graph(MPI_Comm comm, const machine::Wires& wires, int n_sources, const int* sources,
                          const int* source_weights, int n_destinations, const int* destinations,
                          const int* destination_weights, MPI_Info info, MPI_Comm* graph) {
  int rank = 0;
  if (const int code = MPI_Comm_rank(comm, &rank); code != MPI_SUCCESS) return code;
  ToldEdges incoming, outgoing;  // the same in all, as each edge is told at both of its ends
  incoming.add(rank, n_sources, sources, source_weights, wires.n_ranks());
  outgoing.add(rank, n_destinations, destinations, destination_weights, wires.n_ranks());
  outgoing.are_valid = outgoing.are_valid && incoming.are_valid;
  std::vector<int> ranks;
  if (const int code = order_vertices(comm, wires, wires.n_ranks(), outgoing, ranks); code != MPI_SUCCESS) return code;
  return create_renumbered(comm, ranks, [&](MPI_Comm of, int reorder) {
    if (of == comm)
      return MPI_Dist_graph_create_adjacent(of, n_sources, sources, source_weights, n_destinations, destinations,
                                            destination_weights, info, reorder, graph);
    // The process that has become vertex v takes the neighbours of v, in their order, from the process of this number.
    const auto place_of = [&](int r) {
      return static_cast<int>(std::find(ranks.begin(), ranks.end(), r) - ranks.begin());
    };
    Neighbours own, taken;
    own.set(0, n_sources, sources, source_weights);
    own.set(1, n_destinations, destinations, destination_weights);
    if (const int code = exchange_neighbours(of, own, rank, place_of(place_of(rank)), taken); code != MPI_SUCCESS)
      return code;
    return MPI_Dist_graph_create_adjacent(of, taken.n[0], taken.ranks[0].data(), taken.weights_of(0), taken.n[1],
                                          taken.ranks[1].data(), taken.weights_of(1), info, reorder, graph);
  });
}

}  // namespace tessera::comm::mpi
