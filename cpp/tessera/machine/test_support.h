// Networks made up for tests: what would be measured on a given tree of subnets.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/partition.h"

namespace tessera::machine::test {

using Groups = std::vector<std::vector<int>>;

/// Times for hosts of which `group_of[h]` names the subnet: `inside[g]` in subnet g, `across(g, k)` between two.
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

/// Numbers of hosts as group numbers: {3, 3, 2} gives 0 0 0 1 1 1 2 2.
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

/// Every direction of every pair by itself longer by up to `most` (0.03: 3 %), as a measured minimum is.
inline void add_noise(TimeMatrix& times, double most, std::mt19937& random) {
  std::uniform_real_distribution<double> factor(1.0, 1.0 + most);
  for (int a = 0; a < times.n_hosts(); ++a)
    for (int b = 0; b < times.n_hosts(); ++b)
      if (a != b) times.at(a, b) *= factor(random);
}

/// The hosts of every leaf, in the order of their first hosts.
inline Groups leaves_of(const std::vector<Subnet>& subnets) {
  Groups leaves;
  for (const auto& subnet : subnets)
    if (subnet.is_leaf()) leaves.push_back(subnet.hosts);
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

}  // namespace tessera::machine::test
