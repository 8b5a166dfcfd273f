#include "tessera/machine/graphs/graph_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/machine/graphs/bisection.h"
#include "tessera/machine/halves.h"

namespace tessera::machine {
namespace {

constexpr double message = 8192;  // bytes; latency and rate count about alike on most links

/// Returns the graph of what vertices exchange, whichever of two sends.
Graph graph_of(int n, std::span<const Edge> edges) {
  for (const auto& [from, to, weight] : edges)
    if (std::min(from, to) < 0 || std::max(from, to) >= n || weight < 0)
      throw InputError(
          fmt::format("an edge of weight {} from {} to {} in a graph of {} vertices: expected vertices from "
                      "0 to {} and no negative weight",
                      weight, from, to, n, n - 1));
  std::vector<std::vector<Graph::End>> ends(at(n));
  for (const auto& [from, to, weight] : edges) {
    if (from == to) continue;
    ends[at(from)].push_back({to, weight});
    ends[at(to)].push_back({from, weight});
  }
  Graph graph;
  graph.sizes.assign(at(n), 1);
  for (auto& of_vertex : ends) {
    std::sort(of_vertex.begin(), of_vertex.end(), [](const auto& a, const auto& b) { return a.vertex < b.vertex; });
    for (const auto& end : of_vertex) {
      if (graph.ends.size() > graph.first.back() && graph.ends.back().vertex == end.vertex) {
        graph.ends.back().weight += end.weight;
      } else {
        graph.ends.push_back(end);
      }
    }
    graph.first.push_back(graph.ends.size());
    of_vertex = {};
  }
  return graph;
}

/// Returns the part of a graph with these vertices; `names`, their numbers in the whole, are divided with them.
std::pair<Graph, std::vector<int>> part_of(const Graph& graph, const std::vector<int>& names,
                                           const std::vector<bool>& is_second, bool which) {
  std::vector<int> renamed(names.size(), -1);
  std::pair<Graph, std::vector<int>> result;
  auto& [part, part_names] = result;
  for (std::size_t v = 0; v < names.size(); ++v) {
    if (is_second[v] != which) continue;
    renamed[v] = static_cast<int>(part_names.size());
    part_names.push_back(names[v]);
  }
  part.sizes.assign(part_names.size(), 1);
  for (std::size_t v = 0; v < names.size(); ++v) {
    if (is_second[v] != which) continue;
    for (const auto& end : graph.of(static_cast<int>(v)))
      if (is_second[at(end.vertex)] == which) part.ends.push_back({renamed[at(end.vertex)], end.weight});
    part.first.push_back(part.ends.size());
  }
  return result;
}

void place(const Halves& halves, int which, const Graph& graph, const std::vector<int>& names, RankOrder& order) {
  const auto& half = halves[which];
  if (half.left < 0) {
    for (const int vertex : names) order[at(vertex)] = half.host;
    return;
  }
  const auto is_second = bisect(graph, halves[half.left].end - halves[half.left].begin);
  for (const bool second : {false, true}) {
    const auto [part, part_names] = part_of(graph, names, is_second, second);
    place(halves, second ? half.right : half.left, part, part_names, order);
  }
}

}  // namespace

RankOrder graph_order(const Network& network, const std::vector<int>& ranks_on_host, std::span<const Edge> edges) {
  const Halves halves(network, ranks_on_host);
  const int n = std::accumulate(ranks_on_host.begin(), ranks_on_host.end(), 0);
  RankOrder order(at(n), -1);
  std::vector<int> names(at(n));
  std::iota(names.begin(), names.end(), 0);
  const auto graph = graph_of(n, edges);
  if (n > 0) place(halves, halves.root(), graph, names, order);
  return order;
}

double graph_cost(const Wires& wires, const std::vector<int>& ranks, std::span<const Edge> edges) {
  double cost = 0;
  for (const auto& [from, to, weight] : edges)
    if (from != to) cost += static_cast<double>(weight) * wires.time(ranks.at(at(from)), ranks.at(at(to)), message);
  return cost;
}

std::vector<int> cheaper_ranks(const Wires& wires, const std::vector<int>& ranks, std::span<const Edge> edges) {
  std::vector<int> as_numbered(at(wires.n_ranks()));
  std::iota(as_numbered.begin(), as_numbered.end(), 0);
  return graph_cost(wires, ranks, edges) < graph_cost(wires, as_numbered, edges) ? ranks : as_numbered;
}

std::vector<int> ranks_in_graph(const Wires& wires, int n_vertices, std::span<const Edge> edges) {
  const auto ranks = ranks_in_places(
      wires, n_vertices, [&](const auto& ranks_on_host) { return graph_order(wires.network(), ranks_on_host, edges); });
  return cheaper_ranks(wires, ranks, edges);
}

}  // namespace tessera::machine
