#include "tessera/machine/survey/contention.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "tessera/base/index.h"
#include "tessera/machine/routes/find_routes.h"
#include "tessera/machine/survey/contention_results.h"
#include "tessera/machine/survey/derive_network.h"
#include "tessera/machine/survey/split_by_load.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

// The work of processors is measured by messages of this size, and by short ones with this many times fewer bytes in
// all.
constexpr std::int64_t long_piece = 30'000, less_of_short = 4;
// Links slower than this fraction of the fastest are left out, as they and not the processors would be the limit.
constexpr double slower = 0.75;

/// Returns the hosts of a subnet, in turn from each of its parts, so that any prefix of the list is spread over all.
std::vector<int> spread_hosts(const Network& network, int subnet) {
  const auto& node = network.subnets[at(subnet)];
  if (node.is_leaf()) return node.hosts;
  std::vector<std::vector<int>> parts;
  for (const int part : node.subnets) parts.push_back(spread_hosts(network, part));
  std::vector<int> hosts;
  for (std::size_t i = 0, added = 1; added > 0; ++i) {
    added = 0;
    for (const auto& part : parts)
      if (i < part.size()) {
        hosts.push_back(part[i]);
        ++added;
      }
  }
  return hosts;
}

/// Returns a ring in each of the fastest switched leaves. It loads the processors most, while each wire carries no more
/// than one flow. `link` becomes the slowest link of these leaves.
std::vector<Flow> neighbours(const Network& network, const std::vector<int>& hosts, Link& link) {
  std::vector<std::pair<Link, std::vector<int>>> rings;
  double fastest = 0;
  for (const auto& subnet : network.subnets) {
    if (!subnet.is_leaf() || subnet.medium != Medium::fabric) continue;
    std::vector<int> ring;
    for (const int host : subnet.hosts)
      if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) ring.push_back(host);
    if (ring.size() < 2) continue;
    fastest = std::max(fastest, subnet.link.bandwidth);
    rings.emplace_back(subnet.link, std::move(ring));
  }
  std::vector<Flow> flows;
  for (const auto& [own, ring] : rings) {
    if (own.bandwidth < slower * fastest) continue;
    if (flows.empty() || own.bandwidth < link.bandwidth) link = own;
    for (std::size_t i = 0; i < ring.size(); ++i) flows.push_back({ring[i], ring[(i + 1) % ring.size()]});
  }
  return flows;
}

}  // namespace

std::vector<Experiment> contention_experiments(const Measurements& measurements, const Network& network,
                                               const ContentionOptions& options) {
  std::vector<Experiment> wanted;
  const auto add = [&](const std::vector<Flow>& flows, const Link& link, std::int64_t piece = 0) {
    const auto is_done = [&](const Experiment& done) {
      return done.is_done() && done.flows == flows && done.piece == piece;
    };
    if (std::any_of(measurements.experiments.begin(), measurements.experiments.end(), is_done)) return;
    Experiment experiment{flows, bytes_of_flow(link, options.seconds), {}, {}, piece};
    if (piece == short_piece) experiment.bytes = std::max(piece, experiment.bytes / less_of_short);
    const bool are_many = flows.size() > at(options.most_flows);  // too many to time one by one
    if (piece == 0 && !are_many) experiment.bytes = bytes_of_flow(link, options.seconds_of_media);
    if (piece > 0 || are_many) experiment.alone.assign(flows.size(), link.time(static_cast<double>(experiment.bytes)));
    wanted.push_back(std::move(experiment));
  };
  for (const auto& hosts : hosts_by_kernel(measurements)) {
    Link link;
    const auto flows = neighbours(network, hosts, link);
    for (const auto piece : {long_piece, short_piece})
      if (flows.size() > 1) add(flows, link, piece);
  }
  for (std::size_t s = 0; s < network.subnets.size(); ++s) {
    const auto& subnet = network.subnets[s];
    std::vector<int> ends = subnet.hosts;  // one host of each part
    for (const int part : subnet.subnets) ends.push_back(spread_hosts(network, part).front());
    if (ends.size() >= 4)
      add({{ends[0], ends[1]}, {ends[2], ends[3]}}, subnet.link);
    else if (ends.size() == 3 && subnet.is_leaf())
      add({{ends[0], ends[1]}, {ends[2], ends[0]}}, subnet.link);
    else if (ends.size() == 2 && subnet.is_leaf())
      add({{ends[0], ends[1]}, {ends[1], ends[0]}}, subnet.link);

    if (subnet.parent < 0) continue;
    const auto senders = spread_hosts(network, static_cast<int>(s));
    const std::set<int> inside(senders.begin(), senders.end());
    // Partners are in the parent subnet, so that no thinner uplink further up is on the path; hosts farther away are
    // used only if it has none.
    std::vector<int> partners;
    for (const int around : {subnet.parent, 0}) {
      if (partners.size() >= 2) break;
      partners.clear();
      for (const int host : spread_hosts(network, around))
        if (!inside.contains(host)) partners.push_back(host);
    }
    const auto n_flows = std::min({senders.size(), partners.size(), at(options.most_flows)});
    if (n_flows < 2) continue;  // the uplink of a single host is its port
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < n_flows; ++i) flows.push_back({senders[i], partners[i]});
    add(flows, network.subnets[at(subnet.parent)].link);
  }
  if (network.hosts.size() >= least_hosts_with_routes)
    for (const auto& flows : route_patterns(static_cast<int>(network.hosts.size())))
      add(flows, network.subnets[0].link);
  for (const auto& leaf : network_of_times(measurements).subnets) {
    const auto loads = load_experiments(leaf.hosts, leaf.link, measurements.experiments, options.seconds);
    wanted.insert(wanted.end(), loads.begin(), loads.end());
  }
  return wanted;
}

double most_seconds(const Experiment& experiment, Network network) {
  network.routes.reset();
  for (auto& subnet : network.subnets) {
    if (subnet.medium == Medium::unknown) subnet.medium = Medium::bus;
    if (!subnet.uplink && subnet.parent >= 0) subnet.uplink = network.subnets[at(subnet.parent)].link.bandwidth;
  }
  std::vector<int> one_each(network.hosts.size());
  std::iota(one_each.begin(), one_each.end(), 0);
  const Wires wires(network, one_each);
  std::vector<double> busy(wires.wires().size(), 0);
  double latency = 0;
  for (const auto& [from, to] : experiment.flows) {
    for (const int wire : wires.path(from, to))
      busy[at(wire)] += static_cast<double>(experiment.bytes) / wires.wires()[at(wire)].bandwidth;
    latency = std::max(latency, wires.latency(from, to));
  }
  return latency + *std::max_element(busy.begin(), busy.end());
}

}  // namespace tessera::machine
