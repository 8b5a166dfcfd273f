#include "tessera/programs/collectives/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::programs {
namespace {

constexpr machine::Link gigabit{50e-6, 1.2e8}, fast{80e-6, 1.2e7}, slow{300e-6, 1.2e6};

/// Makes a network of parts to which hosts are dealt in turn.
machine::Network in_parts(int n_hosts, int n_parts, machine::Link inside, machine::Medium medium,
                          machine::Link between) {
  std::vector<machine::Host> hosts;
  for (int h = 0; h < n_hosts; ++h) hosts.emplace_back().name = fmt::format("h{}", h);
  n_parts = std::min(n_parts, n_hosts);
  if (n_parts == 1) return machine::one_switch(hosts, inside);
  machine::Network network{hosts, {machine::Subnet{}}};
  network.subnets.front().link = between;
  network.subnets.front().medium = machine::Medium::fabric;
  for (int part = 0; part < n_parts; ++part) {
    machine::Subnet subnet;
    subnet.parent = 0;
    subnet.link = inside;
    subnet.medium = medium;
    subnet.uplink = between.bandwidth;
    for (int h = part; h < n_hosts; h += n_parts) subnet.hosts.push_back(h);
    network.subnets.front().subnets.push_back(part + 1);
    network.subnets.push_back(subnet);
  }
  return network;
}

}  // namespace

SampleNetwork sample_network(const std::string& name, int n_ranks) {
  SampleNetwork sample;
  const int n_hosts = name == "segments" ? n_ranks : (n_ranks + 1) / 2;
  if (name == "switch") {
    sample.network = in_parts(n_hosts, 1, gigabit, machine::Medium::fabric, gigabit);
  } else if (name == "racks") {
    sample.network = in_parts(n_hosts, 2, gigabit, machine::Medium::fabric, fast);
  } else if (name == "segments") {
    sample.network = in_parts(n_hosts, 3, slow, machine::Medium::bus, slow);
  } else if (name == "quads") {
    sample.network = in_parts(n_hosts, (n_hosts + 3) / 4, gigabit, machine::Medium::fabric, fast);
  } else {
    throw InputError(
        fmt::format("no sample network is called \"{}\"; there are switch, racks, segments and quads", name));
  }
  for (int rank = 0; rank < n_ranks; ++rank) {
    const int host = name == "switch" ? rank / 2 : rank % n_hosts;
    sample.hosts.push_back(sample.network.hosts[static_cast<std::size_t>(host)].name);
  }
  return sample;
}

}  // namespace tessera::programs
