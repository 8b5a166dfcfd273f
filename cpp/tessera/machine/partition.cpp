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

using Times = std::vector<double>;  // one per message size; NaN: not known

struct Edge {
  double key;
  int a, b;
};

bool is_known_at_some_size(std::span<const TimeMatrix> by_size, int a, int b) {
  return std::any_of(by_size.begin(), by_size.end(), [&](const TimeMatrix& times) { return times.is_known(a, b); });
}

/// Returns the edges of known time, shortest first; equal ones are ordered by their hosts.
std::vector<Edge> sorted_edges(std::span<const TimeMatrix> by_size) {
  const int n = by_size.empty() ? 0 : by_size[0].n_hosts();
  Times least(by_size.size(), infinity);
  if (by_size.size() > 1)
    for (std::size_t k = 0; k < by_size.size(); ++k)
      for (int a = 0; a < n; ++a)
        for (int b = a + 1; b < n; ++b) least[k] = std::fmin(least[k], by_size[k].between(a, b));
  std::vector<Edge> edges;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      if (!is_known_at_some_size(by_size, a, b)) continue;
      if (by_size.size() == 1) {
        edges.push_back({by_size[0].between(a, b), a, b});
        continue;
      }
      double sum = 0;
      int n_known = 0;
      for (std::size_t k = 0; k < by_size.size(); ++k)
        if (const double time = by_size[k].between(a, b); !std::isnan(time)) {
          sum += std::log(time / least[k]);
          ++n_known;
        }
      edges.push_back({sum / n_known, a, b});
    }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) { return x.key < y.key; });
  return edges;
}

/// Returns the times between groups, each the least between their hosts.
std::vector<TimeMatrix> between_groups(std::span<const TimeMatrix> by_size,
                                       const std::vector<std::vector<int>>& groups) {
  std::vector<TimeMatrix> result;
  for (const auto& times : by_size) {
    std::vector<int> group_of(static_cast<std::size_t>(times.n_hosts()));
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const int host : groups[g]) group_of[static_cast<std::size_t>(host)] = static_cast<int>(g);
    auto& between = result.emplace_back(static_cast<int>(groups.size()));
    for (int a = 0; a < times.n_hosts(); ++a)
      for (int b = a + 1; b < times.n_hosts(); ++b) {
        const int group_a = group_of[static_cast<std::size_t>(a)];
        const int group_b = group_of[static_cast<std::size_t>(b)];
        if (group_a == group_b) continue;
        between.set_both(group_a, group_b, std::fmin(between.at(group_a, group_b), times.between(a, b)));
      }
  }
  return result;
}

/// Holds the least time of each size so far, by host or subnet.
class Least {
 public:
  Least(std::size_t n, std::size_t n_sizes) : n_sizes_(n_sizes), times_(n * n_sizes, infinity) {}
  double& at(std::size_t i, std::size_t k) { return times_[i * n_sizes_ + k]; }

 private:
  std::size_t n_sizes_;
  Times times_;
};

}  // namespace

TimeMatrix::TimeMatrix(int n_hosts)
    : n_hosts_(n_hosts), times_(static_cast<std::size_t>(n_hosts) * static_cast<std::size_t>(n_hosts), unknown) {}

std::vector<std::vector<int>> partition(const TimeMatrix& times, double tolerance) {
  return partition(std::span(&times, 1), std::span(&tolerance, 1));
}

std::vector<Subnet> hierarchy(const TimeMatrix& times, double tolerance) {
  return hierarchy(std::span(&times, 1), std::span(&tolerance, 1));
}

std::vector<std::vector<int>> partition(std::span<const TimeMatrix> by_size, std::span<const double> tolerances) {
  const auto n = by_size.empty() ? std::size_t{0} : static_cast<std::size_t>(by_size[0].n_hosts());
  const auto n_sizes = by_size.size();
  const auto edges = sorted_edges(by_size);
  Least of_host(n, n_sizes);    // node.min_edge
  Least of_subnet(n, n_sizes);  // subnet_min_edge, by the subnet's root; infinite: no edge yet
  for (const auto& edge : edges)
    for (const int host : {edge.a, edge.b})
      for (std::size_t k = 0; k < n_sizes; ++k) {
        auto& least = of_host.at(static_cast<std::size_t>(host), k);
        least = std::fmin(least, by_size[k].between(edge.a, edge.b));
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
    bool is_near = true;
    for (std::size_t k = 0; k < n_sizes && is_near; ++k) {
      const double time = by_size[k].between(edge.a, edge.b);  // comparisons with NaN are false
      is_near = !(time > tolerances[k] * of_host.at(static_cast<std::size_t>(edge.a), k) ||
                  time > tolerances[k] * of_host.at(static_cast<std::size_t>(edge.b), k) ||
                  time > tolerances[k] * of_subnet.at(a, k) || time > tolerances[k] * of_subnet.at(b, k));
    }
    if (!is_near) continue;
    const auto [first, second] = std::minmax(a, b);
    above[second] = static_cast<int>(first);
    for (std::size_t k = 0; k < n_sizes; ++k)
      of_subnet.at(first, k) =
          std::fmin(by_size[k].between(edge.a, edge.b), std::min(of_subnet.at(a, k), of_subnet.at(b, k)));
  }
  // The root of a subnet is its first host, so groups are ordered by their first hosts.
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

std::vector<Subnet> hierarchy(std::span<const TimeMatrix> by_size, std::span<const double> tolerances) {
  struct Node {
    std::vector<int> parts;  // indices of nodes
    std::vector<int> hosts;  // of a leaf
    Times least;             // of each size, between two parts; empty in a leaf
    int first_host = 0;
  };
  std::vector<Node> nodes;
  std::vector<int> top;  // nodes without a parent so far
  auto groups = partition(by_size, tolerances);
  for (auto& group : groups) {
    top.push_back(static_cast<int>(nodes.size()));
    nodes.push_back({{}, group, {}, group[0]});
  }
  for (auto between = between_groups(by_size, groups); top.size() > 1; between = between_groups(between, groups)) {
    groups = partition(between, tolerances);
    if (groups.size() == top.size()) {  // no known time joins them
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
      for (const auto& times : between) {
        double least = unknown;
        for (const int a : group)
          for (const int b : group)
            if (a < b) least = std::fmin(least, times.between(a, b));
        whole.least.push_back(least);
      }
      const auto is_as_near = [&](const Node& part) {
        for (std::size_t k = 0; k < part.least.size(); ++k)
          if (!(whole.least[k] <= tolerances[k] * part.least[k])) return false;
        return !part.least.empty();
      };
      for (const int member : group) {
        const int part = top[static_cast<std::size_t>(member)];
        const auto& node = nodes[static_cast<std::size_t>(part)];
        // If one group is closer together than the rest, the rest would join first and the group one step later at the
        // same cost. This is one level of the network, not two, so the inner level is dissolved.
        if (is_as_near(node))
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
