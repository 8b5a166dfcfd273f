// Makes networks for tests, and what would be measured on a given tree of subnets.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/partition.h"
#include "tessera/machine/survey/measurements.h"
#include "tessera/machine/wires.h"

namespace tessera::machine::test {

using Groups = std::vector<std::vector<int>>;

/// Returns times for hosts in the subnets `group_of[h]`: `inside[g]` in subnet g, `across(g, k)` between two.
template <class Across>
TimeMatrix times_of_groups(const std::vector<int>& group_of, const std::vector<double>& inside, Across&& across) {
  TimeMatrix times(static_cast<int>(group_of.size()));
  for (std::size_t a = 0; a < group_of.size(); ++a)
    for (std::size_t b = a + 1; b < group_of.size(); ++b)
      times.set_both(static_cast<int>(a), static_cast<int>(b),
                     group_of[a] == group_of[b] ? inside[static_cast<std::size_t>(group_of[a])]
                                                : across(group_of[a], group_of[b]));
  return times;
}

/// Converts numbers of hosts to group numbers: {3, 3, 2} gives 0 0 0 1 1 1 2 2.
inline std::vector<int> group_of_sizes(const std::vector<int>& sizes) {
  std::vector<int> group_of;
  for (std::size_t g = 0; g < sizes.size(); ++g)
    group_of.insert(group_of.end(), static_cast<std::size_t>(sizes[g]), static_cast<int>(g));
  return group_of;
}

inline Groups groups_of(const std::vector<int>& group_of) {
  std::map<int, std::vector<int>> members;
  for (std::size_t h = 0; h < group_of.size(); ++h) members[group_of[h]].push_back(static_cast<int>(h));
  Groups groups;
  for (const auto& [group, hosts] : members) groups.push_back(hosts);
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// Lengthens every direction of every pair independently by up to `most` (0.03: 3 %), like a measured minimum.
inline void add_noise(TimeMatrix& times, double most, std::mt19937& random) {
  std::uniform_real_distribution<double> factor(1.0, 1.0 + most);
  for (int a = 0; a < times.n_hosts(); ++a)
    for (int b = 0; b < times.n_hosts(); ++b)
      if (a != b) times.at(a, b) *= factor(random);
}

/// Returns the hosts of every leaf, in the order of their first hosts.
inline Groups leaves_of(const std::vector<Subnet>& subnets) {
  Groups leaves;
  for (const auto& subnet : subnets)
    if (subnet.is_leaf()) leaves.push_back(subnet.hosts);
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

/// Returns racks of these numbers of hosts under one root; a single rack is the whole. Ports are not shared.
inline Network tree_of_racks(const std::vector<int>& sizes, Link inside, Link between) {
  Network network;
  if (sizes.size() > 1) network.subnets.push_back({-1, {}, {}, between, Medium::fabric, std::nullopt});
  for (const int size : sizes) {
    const int parent = sizes.size() > 1 ? 0 : -1;
    if (parent == 0) network.subnets[0].subnets.push_back(static_cast<int>(network.subnets.size()));
    network.subnets.push_back({parent, {}, {}, inside, Medium::fabric, std::nullopt});
    for (int i = 0; i < size; ++i) {
      network.subnets.back().hosts.push_back(static_cast<int>(network.hosts.size()));
      network.hosts.push_back({"n" + std::to_string(network.hosts.size()), 1, Link{1e-6, 5e9}});
    }
  }
  return network;
}

inline Wires one_rank_a_host(const Network& network) {
  std::vector<int> hosts(network.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  return {network, hosts};
}

/// Returns what a survey of this network would measure, without noise.
inline Measurements measure(const Network& network, const std::vector<std::int64_t>& sizes) {
  std::vector<MeasuredHost> hosts;
  for (const auto& host : network.hosts) hosts.push_back({host.name, host.slots, {}, {}, -1});
  auto measurements = Measurements::of(hosts, sizes);
  const auto wires = one_rank_a_host(network);
  for (std::size_t k = 0; k < sizes.size(); ++k)
    for (int a = 0; a < wires.n_ranks(); ++a) {
      const auto& inside = network.hosts[static_cast<std::size_t>(a)].inside;
      if (inside) measurements.inside[k][static_cast<std::size_t>(a)] = inside->time(static_cast<double>(sizes[k]));
      for (int b = 0; b < a; ++b) measurements.times[k].set_both(a, b, wires.time(a, b, static_cast<double>(sizes[k])));
    }
  return measurements;
}

/// Runs an experiment on the wires: flows that meet on a wire share it, so each takes as long as its fullest wire.
/// Values already filled in as `alone` stay.
inline void run(const Network& network, Experiment& experiment) {
  const auto wires = one_rank_a_host(network);
  const auto bytes = static_cast<double>(experiment.bytes);
  std::vector<double> busy(wires.wires().size(), 0);
  const bool is_alone_known = !experiment.alone.empty();
  for (const auto& flow : experiment.flows) {
    if (!is_alone_known) experiment.alone.push_back(wires.time(flow.from, flow.to, bytes));
    for (const int wire : wires.path(flow.from, flow.to))
      busy[static_cast<std::size_t>(wire)] += bytes / wires.wires()[static_cast<std::size_t>(wire)].bandwidth;
  }
  for (const auto& flow : experiment.flows) {
    double fullest = 0;
    for (const int wire : wires.path(flow.from, flow.to))
      fullest = std::max(fullest, busy[static_cast<std::size_t>(wire)]);
    experiment.together.push_back(wires.latency(flow.from, flow.to) + fullest);
  }
}

/// Returns the wires of ranks on a torus of hosts, whose links carry 1 GB/s; its routes are known or not.
inline Wires torus(const std::vector<int>& shape, int ranks_per_host, bool has_routes) {
  std::vector<Host> hosts;
  std::vector<int> host_of_rank;
  const int n_hosts = std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
  for (int host = 0; host < n_hosts; ++host) {
    hosts.push_back({"n" + std::to_string(host), ranks_per_host, Link{0, 1e10}});
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(ranks_per_host), host);
  }
  auto network = one_switch(hosts, {0, 1e9});
  if (has_routes) network.routes = Routes{Routes::Kind::torus, shape, 1e9};
  return {network, host_of_rank};
}

}  // namespace tessera::machine::test
