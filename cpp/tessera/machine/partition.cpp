#include "tessera/machine/partition.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace tessera::machine {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Edge {
  double time;
  int a, b;
};

/// Edges of known time, shortest first; equal ones by their hosts.
std::vector<Edge> sorted_edges(const TimeMatrix& times) {
  std::vector<Edge> edges;
  for (int a = 0; a < times.n_hosts(); ++a)
    for (int b = a + 1; b < times.n_hosts(); ++b)
      if (const double time = times.between(a, b); !std::isnan(time)) edges.push_back({time, a, b});
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) { return x.time < y.time; });
  return edges;
}

/// The time between two groups: the least between their hosts.
TimeMatrix between_groups(const TimeMatrix& times, const std::vector<std::vector<int>>& groups) {
  std::vector<int> group_of(static_cast<std::size_t>(times.n_hosts()));
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int host : groups[g]) group_of[static_cast<std::size_t>(host)] = static_cast<int>(g);
  TimeMatrix result(static_cast<int>(groups.size()));
  for (int a = 0; a < times.n_hosts(); ++a)
    for (int b = a + 1; b < times.n_hosts(); ++b) {
      const int group_a = group_of[static_cast<std::size_t>(a)];
      const int group_b = group_of[static_cast<std::size_t>(b)];
      if (group_a == group_b) continue;
      const double least = std::fmin(result.at(group_a, group_b), times.between(a, b));
      result.set_both(group_a, group_b, least);
    }
  return result;
}

}  // namespace

TimeMatrix::TimeMatrix(int n_hosts)
    : n_hosts_(n_hosts), times_(static_cast<std::size_t>(n_hosts) * static_cast<std::size_t>(n_hosts), unknown) {}

double TimeMatrix::between(int a, int b) const { return std::fmin(at(a, b), at(b, a)); }

std::vector<std::vector<int>> partition(const TimeMatrix& times, double tolerance) {
  const auto n = static_cast<std::size_t>(times.n_hosts());
  const auto edges = sorted_edges(times);
  std::vector<double> least_of_host(n, infinity);    // node.min_edge
  std::vector<double> least_of_subnet(n, infinity);  // subnet_min_edge, by the subnet's root; infinite: in none yet
  for (const auto& edge : edges)
    for (const int host : {edge.a, edge.b}) {
      auto& least = least_of_host[static_cast<std::size_t>(host)];
      least = std::min(least, edge.time);
    }
  std::vector<int> above(n);
  std::iota(above.begin(), above.end(), 0);
  const auto root_of = [&](int host) {
    auto h = static_cast<std::size_t>(host);
    while (static_cast<std::size_t>(above[h]) != h) {
      above[h] = above[static_cast<std::size_t>(above[h])];
      h = static_cast<std::size_t>(above[h]);
    }
    return h;
  };
  for (const auto& edge : edges) {
    const auto a = root_of(edge.a);
    const auto b = root_of(edge.b);
    if (a == b) continue;
    if (edge.time > tolerance * least_of_host[static_cast<std::size_t>(edge.a)] ||
        edge.time > tolerance * least_of_host[static_cast<std::size_t>(edge.b)])
      continue;
    if (edge.time > tolerance * least_of_subnet[a] || edge.time > tolerance * least_of_subnet[b]) continue;
    const auto [first, second] = std::minmax(a, b);
    above[second] = static_cast<int>(first);
    least_of_subnet[first] = std::min({edge.time, least_of_subnet[a], least_of_subnet[b]});
  }
  // The root of a subnet is its first host, so groups come out in order.
  std::vector<std::vector<int>> groups;
  std::vector<std::size_t> group_of(n);
  for (std::size_t host = 0; host < n; ++host) {
    const auto root = root_of(static_cast<int>(host));
    if (root == host) {
      group_of[host] = groups.size();
      groups.emplace_back();
    }
    groups[group_of[root]].push_back(static_cast<int>(host));
  }
  return groups;
}

std::vector<Subnet> hierarchy(const TimeMatrix& times, double tolerance) {
  struct Node {
    std::vector<int> parts;  // indices of nodes
    std::vector<int> hosts;  // of a leaf
    double least = unknown;  // time between two parts
    int first_host = 0;
  };
  std::vector<Node> nodes;
  std::vector<int> top;  // nodes that nothing holds yet
  auto groups = partition(times, tolerance);
  for (auto& group : groups) {
    top.push_back(static_cast<int>(nodes.size()));
    nodes.push_back({{}, group, unknown, group[0]});
  }
  for (auto between = between_groups(times, groups); top.size() > 1; between = between_groups(between, groups)) {
    groups = partition(between, tolerance);
    if (groups.size() == top.size()) {  // nothing known joins them
      groups.assign(1, std::vector<int>(top.size()));
      std::iota(groups[0].begin(), groups[0].end(), 0);
    }
    std::vector<int> next;
    for (const auto& group : groups) {
      if (group.size() == 1) {
        next.push_back(top[static_cast<std::size_t>(group[0])]);
        continue;
      }
      Node whole;
      for (const int a : group)
        for (const int b : group)
          if (a < b) whole.least = std::fmin(whole.least, between.between(a, b));
      for (const int member : group) {
        const int part = top[static_cast<std::size_t>(member)];
        const auto& node = nodes[static_cast<std::size_t>(part)];
        // Where one group is closer together than the rest, the rest joins first and the group a step later at the same
        // cost: one level of the network, not two.
        if (whole.least <= tolerance * node.least)
          whole.parts.insert(whole.parts.end(), node.parts.begin(), node.parts.end());
        else
          whole.parts.push_back(part);
      }
      const auto first_host = [&](int node) { return nodes[static_cast<std::size_t>(node)].first_host; };
      std::sort(whole.parts.begin(), whole.parts.end(), [&](int a, int b) { return first_host(a) < first_host(b); });
      whole.first_host = first_host(whole.parts[0]);
      next.push_back(static_cast<int>(nodes.size()));
      nodes.push_back(std::move(whole));
    }
    top = std::move(next);
  }
  std::vector<Subnet> tree;
  const std::function<int(int, int)> place = [&](int node, int parent) {
    const int at = static_cast<int>(tree.size());
    tree.push_back({parent, {}, nodes[static_cast<std::size_t>(node)].hosts, {}, Medium::unknown, std::nullopt});
    for (const int part : nodes[static_cast<std::size_t>(node)].parts) {
      const int placed = place(part, at);
      tree[static_cast<std::size_t>(at)].subnets.push_back(placed);
    }
    return at;
  };
  if (!top.empty()) place(top[0], -1);
  return tree;
}

}  // namespace tessera::machine
