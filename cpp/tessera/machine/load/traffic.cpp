#include "tessera/machine/load/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

constexpr double least_share = 0.2;      // a flow may take this much longer by chance
constexpr std::size_t most_at_once = 4;  // flows, where hosts share processors

/// A wire that others may use. Those that delay more flows come first.
enum class Kind { bus, up, down, out, in };
using Line = std::pair<Kind, int>;  // with the subnet, or the host

/// Returns the wires of a flow that may be busy.
std::vector<Line> lines_of(const Network& network, const Flow& flow) {
  const auto from = network.ancestors(flow.from), to = network.ancestors(flow.to);
  std::size_t n_shared = 0;  // subnets of both, from the whole down
  while (n_shared < from.size() && n_shared < to.size() &&
         from[from.size() - 1 - n_shared] == to[to.size() - 1 - n_shared])
    ++n_shared;
  std::vector<Line> lines{{Kind::out, flow.from}, {Kind::in, flow.to}};
  const auto pass = [&](const std::vector<int>& subnets, Kind uplink) {
    for (std::size_t i = 0; i + n_shared < subnets.size(); ++i) {
      const auto& subnet = network.subnets[at(subnets[i])];
      if (subnet.medium == Medium::bus && subnet.link.bandwidth > 0) lines.emplace_back(Kind::bus, subnets[i]);
      if (subnet.uplink) lines.emplace_back(uplink, subnets[i]);
    }
  };
  pass(from, Kind::up);
  pass(to, Kind::down);
  const int common = from[from.size() - n_shared];
  if (network.subnets[at(common)].medium == Medium::bus) lines.emplace_back(Kind::bus, common);
  return lines;
}

/// Puts flows into probes one after another, each into the first one with which it shares no wire.
class Packer {
 public:
  Packer(const Network& network, const std::vector<int>& hosts, double seconds)
      : network_(network), seconds_(seconds), most_(network.processors.empty() ? hosts.size() : most_at_once) {
    std::vector<int> host_of_rank(network.hosts.size());
    for (std::size_t h = 0; h < host_of_rank.size(); ++h) host_of_rank[h] = static_cast<int>(h);
    network_.traffic.reset();
    wires_ = std::make_unique<Wires>(network_, host_of_rank);
  }

  void add(const Flow& flow) {
    if (!known_.insert(flow).second) return;
    const auto lines = lines_of(network_, flow);
    const double latency = wires_->latency(flow.from, flow.to);
    const double pace = wires_->time(flow.from, flow.to, 1) - latency;
    const auto bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>((seconds_ - latency) / pace));
    const auto fits = [&](const TrafficProbe& probe, const std::set<Line>& used) {
      return probe.bytes == bytes && probe.flows.size() < most_ &&
             std::none_of(lines.begin(), lines.end(), [&](const Line& line) { return used.contains(line); });
    };
    std::size_t p = 0;
    while (p < probes.size() && !fits(probes[p], used_[p])) ++p;
    if (p == probes.size()) {
      probes.push_back({{}, bytes, wires_->time(flow.from, flow.to, static_cast<double>(bytes))});
      used_.emplace_back();
    }
    probes[p].flows.push_back(flow);
    used_[p].insert(lines.begin(), lines.end());
  }

  std::vector<TrafficProbe> probes;

 private:
  Network network_;
  double seconds_;
  std::size_t most_;
  std::unique_ptr<Wires> wires_;
  std::set<Flow> known_;
  std::vector<std::set<Line>> used_;
};

/// Calls `visit(a, b)` for each two members of a ring that are beside each other, in both orders.
template <class Members, class Visit>
void for_neighbours(const Members& members, Visit&& visit) {
  const auto n = members.size();
  if (n < 2) return;
  for (std::size_t i = 0; i < n; ++i) visit(members[i], members[(i + 1) % n]);
  for (std::size_t i = 0; i < n; ++i) visit(members[i], members[(i + n - 1) % n]);
}

}  // namespace

std::vector<TrafficProbe> traffic_probes(const Network& network, const std::vector<int>& hosts, double seconds) {
  TESSERA_CHECK(seconds > 0);
  const std::set<int> present(hosts.begin(), hosts.end());
  Packer packer(network, hosts, seconds);
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    const auto& subnet = network.subnets[s];
    if (subnet.is_leaf()) {
      std::vector<int> own = subnet.hosts;
      std::erase_if(own, [&](int host) { return !present.contains(host); });
      for_neighbours(own, [&](int a, int b) { packer.add({a, b}); });
      continue;
    }
    std::vector<std::vector<int>> parts;
    for (const int part : subnet.subnets) {
      auto own = network.hosts_of(part);
      std::erase_if(own, [&](int host) { return !present.contains(host); });
      if (!own.empty()) parts.push_back(std::move(own));
    }
    // Two hosts of each part, so that a busy port of one of them is not taken for a busy up-link.
    for_neighbours(parts, [&](const auto& a, const auto& b) {
      packer.add({a.front(), b.back()});
      packer.add({a.back(), b.front()});
    });
  }
  return std::move(packer.probes);
}

Traffic traffic_of(const Network& network, const std::vector<TrafficProbe>& probes,
                   const std::vector<std::vector<double>>& seconds, std::string date) {
  TESSERA_CHECK(seconds.size() == probes.size());
  struct Seen {
    double left = 1;  // of the rate that the map says
    double explained = 1;
  };
  std::vector<Seen> seen;
  std::map<Line, std::vector<std::size_t>> flows_of;
  for (std::size_t p = 0; p < probes.size(); ++p) {
    TESSERA_CHECK(seconds[p].size() == probes[p].flows.size());
    for (std::size_t f = 0; f < probes[p].flows.size(); ++f) {
      for (const auto& line : lines_of(network, probes[p].flows[f])) flows_of[line].push_back(seen.size());
      seen.push_back({std::min(1.0, probes[p].seconds / seconds[p][f]), 1});
    }
  }
  Traffic traffic{std::move(date), std::vector<Traffic::Port>(network.hosts.size()),
                  std::vector<Traffic::Lines>(network.subnets.size())};
  for (const auto& [line, flows] : flows_of) {  // in the order of their kinds
    double least = Traffic::most, slower = 0;
    for (const auto f : flows) {
      least = std::min(least, 1 - seen[f].left / seen[f].explained);
      slower += seen[f].explained / seen[f].left / static_cast<double>(flows.size());
    }
    if (least < least_share) continue;
    const double share = std::min(1 - 1 / slower, Traffic::most);
    for (const auto f : flows) seen[f].explained = std::min(seen[f].explained, 1 - share);
    const auto& [kind, index] = line;
    switch (kind) {
      case Kind::bus:
        traffic.subnets[at(index)].bus = share;
        break;
      case Kind::up:
        traffic.subnets[at(index)].up = share;
        break;
      case Kind::down:
        traffic.subnets[at(index)].down = share;
        break;
      case Kind::out:
        traffic.ports[at(index)].out = share;
        break;
      case Kind::in:
        traffic.ports[at(index)].in = share;
        break;
    }
  }
  return traffic;
}

double seconds_for_traffic(const std::string& variable) {
  if (variable.empty()) return 0;
  double seconds = -1;
  const auto* end = variable.data() + variable.size();
  const auto parsed = std::from_chars(variable.data(), end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds >= 0 && seconds <= 3600))
    throw InputError(fmt::format("TESSERA_TRAFFIC is \"{}\", expected seconds from 0 to 3600, as in 3", variable));
  return seconds;
}

}  // namespace tessera::machine
