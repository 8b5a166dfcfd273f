#include "tessera/machine/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/machine/json_reader.h"

namespace tessera::machine {
namespace {

void check_link(const Link& link, const std::string& name, const std::string& where) {
  if (!is_latency(link.latency))
    throw InputError(fmt::format("{}: the latency {} is {} s, expected a time from 0 to 1e6; measure the network again",
                                 name, where, link.latency));
  if (!is_rate(link.bandwidth))
    throw InputError(
        fmt::format("{}: the bandwidth {} is {} bytes/s, expected a rate from 1e-6 to 1e18; measure the network again",
                    name, where, link.bandwidth));
}

void check_hosts(const std::vector<Host>& hosts, const std::string& name) {
  if (hosts.empty()) throw InputError(fmt::format("{}: the network has no hosts, expected one or more", name));
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const auto& host = hosts[h];
    if (const auto problem = problem_of_host_name(host.name); !problem.empty())
      throw InputError(fmt::format("{}: host {} {}; give every host the name that launchers know", name, h, problem));
    if (const auto [first, is_new] = seen.emplace(host.name, h); !is_new)
      throw InputError(fmt::format("{}: hosts {} and {} are both called {}; list every host once", name, first->second,
                                   h, host.name));
    if (host.slots < 1)
      throw InputError(fmt::format("{}: host {} has {} slots, expected 1 or more", name, host.name, host.slots));
    if (host.inside) check_link(*host.inside, name, "inside host " + host.name);
  }
}

void check_traffic(const Traffic& traffic, std::size_t n_hosts, std::size_t n_subnets, const std::string& name) {
  if (traffic.ports.size() != n_hosts || traffic.subnets.size() != n_subnets)
    throw InputError(fmt::format("{}: the traffic is of {} hosts and {} subnets, expected {} and {}; measure it again",
                                 name, traffic.ports.size(), traffic.subnets.size(), n_hosts, n_subnets));
  const auto check = [&](double share) {
    if (!(share >= 0 && share <= Traffic::most))
      throw InputError(fmt::format("{}: traffic takes {} of a wire, expected a share from 0 to {}; measure it again",
                                   name, share, Traffic::most));
  };
  for (const auto& [out, in] : traffic.ports) {
    check(out);
    check(in);
  }
  for (const auto& [bus, up, down] : traffic.subnets) {
    check(bus);
    check(up);
    check(down);
  }
}

}  // namespace

std::string problem_of_host_name(const std::string& name) {
  if (name.empty()) return "has no name";
  const auto quoted = nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (name.front() == '-') return fmt::format("is called {}, which a launcher would take for an option", quoted);
  const auto is_bad = [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '#' || c == ':' || c == ','; };
  if (std::any_of(name.begin(), name.end(), is_bad))
    return fmt::format("is called {}, with white space, control characters or one of # : , in it", quoted);
  return {};
}

int Traffic::n_busy() const {
  int n = 0;
  for (const auto& [out, in] : ports) n += (out > 0) + (in > 0);
  for (const auto& [bus, up, down] : subnets) n += (bus > 0) + (up > 0) + (down > 0);
  return n;
}

int Network::leaf_of(int host) const {
  for (std::size_t s = 0; s < subnets.size(); ++s)
    if (std::find(subnets[s].hosts.begin(), subnets[s].hosts.end(), host) != subnets[s].hosts.end())
      return static_cast<int>(s);
  return -1;
}

std::vector<int> Network::ancestors(int host) const {
  std::vector<int> found;
  for (int s = leaf_of(host); s >= 0; s = subnets[static_cast<std::size_t>(s)].parent) found.push_back(s);
  return found;
}

std::vector<int> Network::hosts_of(int subnet) const {
  const auto& node = subnets[static_cast<std::size_t>(subnet)];
  auto found = node.hosts;
  for (const int part : node.subnets) {
    const auto below = hosts_of(part);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

void Network::check(const std::string& name) const {
  check_hosts(hosts, name);
  if (subnets.empty())
    throw InputError(fmt::format("{}: the network has no subnets, expected at least the whole", name));
  const int n_hosts = static_cast<int>(hosts.size());
  const int n_subnets = static_cast<int>(subnets.size());
  std::vector<int> leaf(hosts.size(), -1);
  std::vector<int> listed_by(subnets.size(), -1);
  for (int s = 0; s < n_subnets; ++s) {
    const auto& subnet = subnets[static_cast<std::size_t>(s)];
    // Parents must precede parts, so there can be no loop and one pass over the list suffices.
    if (s == 0 ? subnet.parent != -1 : subnet.parent < 0 || subnet.parent >= s)
      throw InputError(fmt::format("{}: subnet {} has the parent {}, expected {}; parents stand before their parts",
                                   name, s, subnet.parent, s == 0 ? "-1" : fmt::format("one of 0 to {}", s - 1)));
    if (s > 0 && listed_by[static_cast<std::size_t>(s)] != subnet.parent)
      throw InputError(
          fmt::format("{}: subnet {} has the parent {}, whose list of parts lacks it", name, s, subnet.parent));
    if (subnet.hosts.empty() == subnet.subnets.empty())
      throw InputError(fmt::format("{}: subnet {} has {} hosts and {} parts, expected either hosts or parts", name, s,
                                   subnet.hosts.size(), subnet.subnets.size()));
    for (const int part : subnet.subnets) {
      if (part <= s || part >= n_subnets)
        throw InputError(fmt::format("{}: subnet {} has the part {}, expected one of {} to {}", name, s, part, s + 1,
                                     n_subnets - 1));
      auto& owner = listed_by[static_cast<std::size_t>(part)];
      if (owner >= 0) throw InputError(fmt::format("{}: subnet {} is a part of {} and of {}", name, part, owner, s));
      owner = s;
    }
    for (const int host : subnet.hosts) {
      if (host < 0 || host >= n_hosts)
        throw InputError(
            fmt::format("{}: subnet {} holds host {}, expected one of 0 to {}", name, s, host, n_hosts - 1));
      auto& owner = leaf[static_cast<std::size_t>(host)];
      if (owner >= 0)
        throw InputError(fmt::format("{}: host {} is in subnet {} and in subnet {}, expected one of them", name,
                                     hosts[static_cast<std::size_t>(host)].name, owner, s));
      owner = s;
    }
    // No message uses the link of a subnet with one member, so it may be absent.
    const bool is_used = subnet.hosts.size() + subnet.subnets.size() > 1;
    if (is_used || subnet.link != Link{}) check_link(subnet.link, name, fmt::format("of subnet {}", s));
    if (subnet.uplink && !is_rate(*subnet.uplink))
      throw InputError(fmt::format("{}: the uplink of subnet {} is {} bytes/s, expected a rate from 1e-6 to 1e18", name,
                                   s, *subnet.uplink));
  }
  std::vector<bool> has_processors(hosts.size(), false);
  for (std::size_t p = 0; p < processors.size(); ++p) {
    for (const int host : processors[p].hosts) {
      if (host < 0 || host >= n_hosts || has_processors[static_cast<std::size_t>(host)])
        throw InputError(fmt::format("{}: processors {} are of host {}, expected one of 0 to {} that has no others",
                                     name, p, host, n_hosts - 1));
      has_processors[static_cast<std::size_t>(host)] = true;
    }
    check_link(processors[p].work, name, fmt::format("of processors {}", p));
  }
  if (routes) routes->check(n_hosts, name);
  if (traffic) check_traffic(*traffic, hosts.size(), subnets.size(), name);
  const auto lost = std::find(leaf.begin(), leaf.end(), -1);
  if (lost != leaf.end())
    throw InputError(fmt::format("{}: host {} is in no subnet, expected one; measure the network again", name,
                                 hosts[static_cast<std::size_t>(lost - leaf.begin())].name));
}

Network one_switch(const std::vector<Host>& hosts, Link link) {
  Subnet whole;
  whole.hosts.resize(hosts.size());
  std::iota(whole.hosts.begin(), whole.hosts.end(), 0);
  whole.link = link;
  whole.medium = Medium::fabric;
  return {hosts, {whole}, {}};
}

}  // namespace tessera::machine
