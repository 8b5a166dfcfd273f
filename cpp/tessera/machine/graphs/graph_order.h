// Places ranks that exchange messages along the edges of a graph, so that most of them stay on a host, then in a subnet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/machine/orders.h"

namespace tessera::machine {

/// Says how much goes from one vertex to another, in any one unit; several edges of the same vertices add up.
struct Edge {
  int from = 0, to = 0;
  std::int64_t weight = 1;
};

/// Returns the host of each vertex of a graph with as many vertices as there are ranks: it is divided in two where the
/// cut has the least weight (bisect), for the two halves of the network, and so on down to the hosts. Throws InputError
/// for vertices that do not exist or negative weights.
RankOrder graph_order(const Network& network, const std::vector<int>& ranks_on_host, std::span<const Edge> edges);

/// Returns the time that the messages of all edges take one after another where ranks[v] is vertex v, s: each edge as
/// many messages of 8 KiB as its weight says.
double graph_cost(const Wires& wires, const std::vector<int>& ranks, std::span<const Edge> edges);

/// Returns these ranks, or all in the order of their numbers where that costs no more.
std::vector<int> cheaper_ranks(const Wires& wires, const std::vector<int>& ranks, std::span<const Edge> edges);

/// Returns which rank of a job takes each vertex of a graph (graph_order), then the ranks that have none: where that
/// costs no less than every rank at the vertex of its own number, this one. Throws InputError like graph_order.
std::vector<int> ranks_in_graph(const Wires& wires, int n_vertices, std::span<const Edge> edges);

}  // namespace tessera::machine
