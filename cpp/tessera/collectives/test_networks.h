// Networks that tests plan for: those of Borštnik et al. (2004) and Lowekamp and Beguelin (1995) at a tenth of their
// rates, and what is left of a wire's rate after frame headers.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "tessera/machine/wires.h"

namespace tessera::collectives::test {

inline double mbit(double rate) { return rate * 1e6 / 8 * 1448 / 1538; }  // bytes/s

struct Group {
  int hosts = 1;
  int slots = 1;
  double rate = 100;     // Mbit/s inside
  double uplink = 1e30;  // Mbit/s out of it
  machine::Medium medium = machine::Medium::fabric;
};

/// Returns groups of hosts under one switch at which every host has a port of `rate` Mbit/s; one group: that switch
/// alone.
inline machine::Network network_of(const std::vector<Group>& groups, double rate) {
  constexpr double latency = 3.3e-4;
  machine::Network network;
  network.subnets.resize(1);
  network.subnets[0].link = {latency, mbit(rate)};
  network.subnets[0].medium = machine::Medium::fabric;
  for (const auto& group : groups) {
    machine::Subnet subnet;
    subnet.parent = 0;
    subnet.link = {latency, mbit(group.rate)};
    subnet.medium = group.medium;
    if (group.uplink < 1e30) subnet.uplink = mbit(group.uplink);
    for (int i = 0; i < group.hosts; ++i) {
      subnet.hosts.push_back(static_cast<int>(network.hosts.size()));
      network.hosts.push_back({fmt::format("n{}", network.hosts.size()), group.slots, machine::Link{5e-6, 2e9}});
    }
    if (groups.size() == 1) {
      subnet.parent = -1;
      network.subnets = {subnet};
      break;
    }
    network.subnets[0].subnets.push_back(static_cast<int>(network.subnets.size()));
    network.subnets.push_back(subnet);
  }
  return network;
}

/// Returns the wires of a job with a rank on every slot, host by host.
inline machine::Wires wires_of(const machine::Network& network) {
  std::vector<int> host_of_rank;
  for (std::size_t host = 0; host < network.hosts.size(); ++host)
    host_of_rank.insert(host_of_rank.end(), static_cast<std::size_t>(network.hosts[host].slots),
                        static_cast<int>(host));
  return {network, host_of_rank};
}

inline machine::Network quads() { return network_of(std::vector<Group>(4, {4, 2, 100, 40}), 10); }
inline machine::Network pairs() { return network_of(std::vector<Group>(8, {2, 2, 100, 20}), 10); }
inline machine::Network one_slow_switch() { return network_of({{16, 2, 10}}, 10); }
inline machine::Network two_racks() { return network_of(std::vector<Group>(2, {2, 4, 100, 10}), 10); }
inline machine::Network three_segments() {
  const auto bus = machine::Medium::bus;
  return network_of({{3, 1, 10, 10, bus}, {3, 1, 10, 10, bus}, {2, 1, 10, 10, bus}}, 10);
}

}  // namespace tessera::collectives::test
