#include "tessera/machine/wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::machine {
namespace {

const Link& inside_of(const Host& host) { return host.inside ? *host.inside : Wires::unmeasured_inside; }

}  // namespace

Wires::Wires(const Network& network, std::vector<int> host_of_rank, std::span<const std::vector<int>> at_once)
    : network_(network), host_of_rank_(std::move(host_of_rank)) {
  network_.check("network");
  const auto n_hosts = network_.hosts.size();
  const auto n_subnets = network_.subnets.size();
  ranks_on_.resize(n_hosts);
  const auto check_host = [&](std::size_t rank, int host) {
    if (host < 0 || at(host) >= n_hosts)
      throw InputError(fmt::format("rank {} is on host {}, but the network has {} hosts", rank, host, n_hosts));
  };
  for (const auto& group : at_once)
    for (std::size_t r = 0; r < group.size(); ++r) check_host(r, group[r]);
  for (std::size_t r = 0; r < host_of_rank_.size(); ++r) {
    const int host = host_of_rank_[r];
    check_host(r, host);
    rank_wire_.push_back(add(fmt::format("rank {}", r), inside_of(network_.hosts[at(host)]).bandwidth));
    if (ranks_on_[at(host)].empty()) ++n_hosts_;
    ranks_on_[at(host)].push_back(static_cast<int>(r));
  }

  depth_.assign(n_subnets, 0);
  height_.assign(n_subnets, 0);
  for (std::size_t s = 1; s < n_subnets; ++s) depth_[s] = depth_[at(network_.subnets[s].parent)] + 1;
  for (std::size_t s = n_subnets - 1; s > 0; --s) {
    auto& above = height_[at(network_.subnets[s].parent)];
    above = std::max(above, height_[s] + 1);
  }
  ancestors_.resize(n_hosts);
  for (std::size_t s = 0; s < n_subnets; ++s)
    for (const int host : network_.subnets[s].hosts)
      for (int above = static_cast<int>(s); above >= 0; above = network_.subnets[at(above)].parent)
        ancestors_[at(host)].push_back(above);

  const auto* traffic = network_.traffic ? &*network_.traffic : nullptr;
  const auto lines_of = [&](std::size_t s) { return traffic ? traffic->subnets[s] : Traffic::Lines{}; };
  out_.resize(n_hosts);
  in_.resize(n_hosts);
  for (std::size_t h = 0; h < n_hosts; ++h) {
    const auto taken = traffic ? traffic->ports[h] : Traffic::Port{};
    for (std::size_t level = 0; level < ancestors_[h].size(); ++level) {
      const double rate = network_.subnets[at(ancestors_[h][level])].link.bandwidth;
      const auto& name = network_.hosts[h].name;
      const auto suffix = level == 0 ? std::string() : fmt::format(" {}", level);
      out_[h].push_back(rate > 0 ? add(fmt::format("{} out{}", name, suffix), rate * (1 - taken.out)) : -1);
      in_[h].push_back(rate > 0 ? add(fmt::format("{} in{}", name, suffix), rate * (1 - taken.in)) : -1);
    }
  }
  const auto n_ports = wires_.size();
  bus_.assign(n_subnets, -1);
  up_ = down_ = bus_;
  for (std::size_t s = 0; s < n_subnets; ++s) {
    const auto& subnet = network_.subnets[s];
    if (subnet.medium == Medium::bus && subnet.link.bandwidth > 0)
      bus_[s] = add(fmt::format("subnet {} bus", s), subnet.link.bandwidth * (1 - lines_of(s).bus));
    if (subnet.uplink && subnet.parent >= 0 && !network_.routes) {
      up_[s] = add(fmt::format("subnet {} up", s), *subnet.uplink * (1 - lines_of(s).up));
      down_[s] = add(fmt::format("subnet {} down", s), *subnet.uplink * (1 - lines_of(s).down));
    }
  }
  for (auto i = n_ports; i < wires_.size(); ++i) wires_[i].is_of_subnet = true;
  first_link_ = static_cast<int>(wires_.size());
  if (const auto& routes = network_.routes)
    for (int i = 0; i < routes->n_links(static_cast<int>(n_hosts)); ++i)
      add(fmt::format("link {}", i), routes->bandwidth);
  processors_.assign(n_hosts, -1);
  for (std::size_t p = 0; p < network_.processors.size(); ++p) {
    const auto& [hosts, work] = network_.processors[p];
    const int wire = add(fmt::format("processors {}", p), work.bandwidth);
    wires_.back().per_message = work.latency;
    wires_.back().is_processors = true;
    for (const int host : hosts) processors_[at(host)] = wire;
  }
  std::vector<int> n_users(wires_.size(), 0);
  for (const auto& group : at_once) add_users(group, n_users);
  for (std::size_t w = 0; w < wires_.size(); ++w) {
    if (n_users[w] == 0) continue;
    wires_[w].bandwidth /= 1 + n_users[w];
    wires_[w].per_message *= 1 + n_users[w];
    for (const auto number : {w, static_cast<std::size_t>(n_users[w])})
      sharing_ = (sharing_ ^ (number + 1)) * 0x9e3779b97f4a7c15U;
  }
  for (int h = 0; h < static_cast<int>(n_hosts); ++h) {
    sender_.push_back(side_of(h, true));
    receiver_.push_back(side_of(h, false));
  }
}

int Wires::add(std::string name, double bandwidth) {
  wires_.push_back({std::move(name), bandwidth, 0, 0, false, false});
  return static_cast<int>(wires_.size()) - 1;
}

void Wires::add_users(const std::vector<int>& host_of_rank, std::vector<int>& n_users) {
  const std::set<int> hosts(host_of_rank.begin(), host_of_rank.end());
  if (hosts.size() < 2) return;
  std::unordered_map<int, std::size_t> n_inside;  // hosts of the group by subnet
  for (const int host : hosts)
    for (const int subnet : ancestors_[at(host)]) ++n_inside[subnet];
  std::set<int> used;
  for (const int host : hosts) {
    const auto& above = ancestors_[at(host)];
    const auto leaves = [&](std::size_t level) { return hosts.size() > n_inside[above[level]]; };
    for (std::size_t level = 0; level < above.size() && (level == 0 || leaves(level - 1)); ++level) {
      used.insert({out_[at(host)][level], in_[at(host)][level], bus_[at(above[level])]});
      if (leaves(level)) used.insert({up_[at(above[level])], down_[at(above[level])]});
    }
    used.insert(processors_[at(host)]);
  }
  for (const int wire : used)
    if (wire >= 0) ++n_users[at(wire)];
  for (const int host : host_of_rank)
    if (const int wire = processors_[at(host)]; wire >= 0) ++wires_[at(wire)].n_other_ranks;
}

Wires::Side Wires::side_of(int host, bool is_out) const {
  Side side;
  const auto& above = ancestors_[at(host)];
  const auto& ports = (is_out ? out_ : in_)[at(host)];
  const auto& uplinks = is_out ? up_ : down_;
  for (std::size_t level = 0; level < above.size(); ++level) {
    if (ports[level] >= 0) side.ports.push_back(ports[level]);
    side.n_ports.push_back(side.ports.size());
    // A message does not leave the subnet in which it turns round: the uplink is idle, and path() adds the bus once.
    side.n_lines.push_back(side.lines.size());
    for (const int wire : {bus_[at(above[level])], uplinks[at(above[level])]})
      if (wire >= 0) side.lines.push_back(wire);
  }
  return side;
}

int Wires::common_subnet(int host_a, int host_b) const {
  const auto& a = ancestors_[at(host_a)];
  const auto& b = ancestors_[at(host_b)];
  auto at_a = a.rbegin();
  auto at_b = b.rbegin();
  int common = 0;
  for (; at_a != a.rend() && at_b != b.rend() && *at_a == *at_b; ++at_a, ++at_b) common = *at_a;
  return common;
}

std::span<const int> Wires::path(int from, int to) const {
  const int a = host_of(from);
  const int b = host_of(to);
  path_.clear();
  path_.push_back(rank_wire_[at(from)]);
  if (a != b) {
    const int common = common_subnet(a, b);
    const auto level = [&](int host) { return ancestors_[at(host)].size() - 1 - at(depth_[at(common)]); };
    const auto append = [&](const std::vector<int>& wires, std::size_t n) {
      path_.insert(path_.end(), wires.begin(), wires.begin() + static_cast<std::ptrdiff_t>(n));
    };
    const auto append_reversed = [&](const std::vector<int>& wires, std::size_t n) {
      path_.insert(path_.end(), wires.rend() - static_cast<std::ptrdiff_t>(n), wires.rend());
    };
    const auto& sender = sender_[at(a)];
    const auto& receiver = receiver_[at(b)];
    append(sender.ports, sender.n_ports[level(a)]);
    append(sender.lines, sender.n_lines[level(a)]);
    if (bus_[at(common)] >= 0) path_.push_back(bus_[at(common)]);
    if (const auto& routes = network_.routes) {
      const auto first = path_.size();
      routes->add_links(static_cast<int>(network_.hosts.size()), a, b, path_);
      for (auto i = first; i < path_.size(); ++i) path_[i] += first_link_;
    }
    append_reversed(receiver.lines, receiver.n_lines[level(b)]);
    append_reversed(receiver.ports, receiver.n_ports[level(b)]);
  }
  path_.push_back(rank_wire_[at(to)]);
  return path_;
}

double Wires::latency(int from, int to) const {
  const int a = host_of(from);
  const int b = host_of(to);
  if (a == b) return inside_of(network_.hosts[at(a)]).latency;
  return network_.subnets[at(common_subnet(a, b))].link.latency;
}

double Wires::time(int from, int to, double bytes) const {
  double least = std::numeric_limits<double>::infinity();
  for (const int wire : path(from, to)) least = std::min(least, wires_[at(wire)].bandwidth);
  return latency(from, to) + bytes / least;
}

double Wires::pace(int host, int subnet, bool is_out) const {
  const auto& side = (is_out ? sender_ : receiver_)[at(host)];
  const auto level = ancestors_[at(host)].size() - 1 - at(depth_[at(subnet)]);
  double slowest = 0;
  const auto look = [&](const std::vector<int>& wires, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) slowest = std::max(slowest, 1 / wires_[at(wires[i])].bandwidth);
  };
  look(side.ports, side.n_ports[level]);
  look(side.lines, side.n_lines[level]);
  return slowest;
}

int Wires::level(int from, int to) const {
  const int a = host_of(from);
  const int b = host_of(to);
  return a == b ? 0 : height_[at(common_subnet(a, b))] + 1;
}

}  // namespace tessera::machine
