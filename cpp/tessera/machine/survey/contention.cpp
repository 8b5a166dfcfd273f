#include "tessera/machine/survey/contention.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "tessera/machine/routes/find_routes.h"
#include "tessera/machine/survey/derive_network.h"
#include "tessera/machine/survey/split_by_load.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

// Of the extra time that flows need when they share one wire, the part that they did need: 1 on a bus, 0 on a switch.
// Between the two bounds nothing is said.
constexpr double shared = 0.6;
constexpr double apart = 0.3;
// All together carry less than this part of what they would at their rates alone: the uplink is the limit.
constexpr double limited = 0.75;

// Messages by which the work of processors is measured; of short ones this many times fewer bytes.
constexpr std::int64_t long_piece = 30'000, short_piece = 2'000, less_of_short = 4;
// Processors are the limit where the wires could have done it in less than this part of the time.
constexpr double idle_wires = 0.67;
// Of the work for a long message, at most so much is there without its bytes.
constexpr double most_per_message = 0.9;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// For each subnet, which of its parts (or hosts, in a leaf) holds a host; -1: none.
class Tree {
 public:
  explicit Tree(const Network& network) : network_(network), leaf_(network.hosts.size(), 0) {
    for (std::size_t s = 0; s < network.subnets.size(); ++s)
      for (const int host : network.subnets[s].hosts) leaf_[index(host)] = static_cast<int>(s);
  }

  int common(int a, int b) const {  // parents stand before their parts
    while (a != b) (a > b ? a : b) = network_.subnets[index(std::max(a, b))].parent;
    return a;
  }
  int leaf(int host) const { return leaf_[index(host)]; }
  bool holds(int subnet, int host) const { return common(subnet, leaf(host)) == subnet; }
  int common_of(const std::vector<int>& hosts) const {
    int found = leaf(hosts[0]);
    for (const int host : hosts) found = common(found, leaf(host));
    return found;
  }
  int part_of(int subnet, int host) const {
    int at = leaf(host);
    if (at == subnet) return network_.subnets.empty() ? -1 : static_cast<int>(network_.subnets.size()) + host;
    while (network_.subnets[index(at)].parent != subnet) at = network_.subnets[index(at)].parent;
    return at;
  }

 private:
  const Network& network_;
  std::vector<int> leaf_;
};

/// Hosts of a subnet in turn from each of its parts, so that any beginning of the list is spread over all.
std::vector<int> spread_hosts(const Network& network, int subnet) {
  const auto& node = network.subnets[index(subnet)];
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

/// Hosts on one operating system, where these are two or more.
std::vector<std::vector<int>> hosts_by_kernel(const Measurements& measurements) {
  std::map<int, std::vector<int>> found;
  for (std::size_t h = 0; h < measurements.hosts.size(); ++h)
    if (const int kernel = measurements.hosts[h].kernel; kernel >= 0) found[kernel].push_back(static_cast<int>(h));
  std::vector<std::vector<int>> groups;
  for (auto& [kernel, hosts] : found)
    if (hosts.size() > 1) groups.push_back(std::move(hosts));
  return groups;
}

/// A ring in each of the fastest switched leaves: what processors must carry most of, and wires need no longer for than
/// for one flow alone. `link`: the slowest of these.
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
    if (own.bandwidth < limited * fastest) continue;
    if (flows.empty() || own.bandwidth < link.bandwidth) link = own;
    for (std::size_t i = 0; i < ring.size(); ++i) flows.push_back({ring[i], ring[(i + 1) % ring.size()]});
  }
  return flows;
}

}  // namespace

std::vector<Experiment> contention_experiments(const Measurements& measurements, const ContentionOptions& options) {
  const auto network = derive_network(measurements);
  const Tree tree(network);
  std::vector<Experiment> wanted;
  const auto add = [&](const std::vector<Flow>& flows, const Link& link, std::int64_t piece = 0) {
    const auto is_done = [&](const Experiment& done) {
      return done.is_done() && done.flows == flows && done.piece == piece;
    };
    if (std::any_of(measurements.experiments.begin(), measurements.experiments.end(), is_done)) return;
    Experiment experiment{flows, bytes_of_flow(link, options.seconds), {}, {}, piece};
    if (piece == short_piece) experiment.bytes = std::max(piece, experiment.bytes / less_of_short);
    const bool are_many = flows.size() > index(options.most_flows);  // to be timed one by one
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
    // Beside it, so that no thinner uplink further up is on the way; farther away only where there is nobody else.
    std::vector<int> partners;
    for (const int around : {subnet.parent, 0}) {
      if (partners.size() >= 2) break;
      partners.clear();
      for (const int host : spread_hosts(network, around))
        if (!tree.holds(static_cast<int>(s), host)) partners.push_back(host);
    }
    const auto n_flows = std::min({senders.size(), partners.size(), index(options.most_flows)});
    if (n_flows < 2) continue;  // one host alone: its uplink is its port
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < n_flows; ++i) flows.push_back({senders[i], partners[i]});
    add(std::move(flows), network.subnets[index(subnet.parent)].link);
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
    if (!subnet.uplink && subnet.parent >= 0) subnet.uplink = network.subnets[index(subnet.parent)].link.bandwidth;
  }
  std::vector<int> one_each(network.hosts.size());
  std::iota(one_each.begin(), one_each.end(), 0);
  const Wires wires(network, one_each);
  std::vector<double> busy(wires.wires().size(), 0);
  double latency = 0;
  for (const auto& [from, to] : experiment.flows) {
    for (const int wire : wires.path(from, to))
      busy[index(wire)] += static_cast<double>(experiment.bytes) / wires.wires()[index(wire)].bandwidth;
    latency = std::max(latency, wires.latency(from, to));
  }
  return latency + *std::max_element(busy.begin(), busy.end());
}

void add_contention(Network& network, const std::vector<Experiment>& experiments) {
  const Tree tree(network);
  for (const auto& experiment : experiments) {
    if (!experiment.is_done() || experiment.flows.size() < 2 || experiment.piece > 0) continue;
    std::vector<int> senders;
    std::vector<int> all;
    for (const auto& flow : experiment.flows) {
      senders.push_back(flow.from);
      all.insert(all.end(), {flow.from, flow.to});
    }
    const double slowest_alone = *std::max_element(experiment.alone.begin(), experiment.alone.end());
    const double slowest_together = *std::max_element(experiment.together.begin(), experiment.together.end());

    const int from = tree.common_of(senders);
    if (from != 0 && std::none_of(experiment.flows.begin(), experiment.flows.end(),
                                  [&](const Flow& flow) { return tree.holds(from, flow.to); })) {
      const double n_flows = static_cast<double>(experiment.flows.size());
      const double rate = n_flows * static_cast<double>(experiment.bytes) / slowest_together;
      if (slowest_alone < limited * slowest_together) {
        auto& uplink = network.subnets[index(from)].uplink;
        uplink = std::max(uplink.value_or(0), rate);  // the best of several experiments
      }
      continue;
    }

    const int within = tree.common_of(all);
    auto& subnet = network.subnets[index(within)];
    std::multiset<int> parts;
    for (const int host : all) parts.insert(tree.part_of(within, host));
    const bool are_disjoint = std::all_of(parts.begin(), parts.end(), [&](int part) { return parts.count(part) == 1; });
    // Where flows share a part that is itself a subnet, its own wires may be what slows them.
    if (!subnet.is_leaf() && !are_disjoint) continue;
    double one_by_one = 0;
    for (const double seconds : experiment.alone) one_by_one += seconds;
    const double share = (slowest_together - slowest_alone) / (one_by_one - slowest_alone);
    if (share >= shared)
      subnet.medium = Medium::bus;
    else if (share <= apart)
      subnet.medium = Medium::fabric;
  }
}

void add_processors(Network& network, const Measurements& measurements) {
  for (const auto& hosts : hosts_by_kernel(measurements)) {
    // Work of an end of a flow, s: messages times the work of one, and bytes.
    struct Work {
      double n_messages = 0, bytes = 0, seconds = 0, alone = 0, together = 0;
    } longs, shorts;
    for (const auto& experiment : measurements.experiments) {
      if (!experiment.is_done() || experiment.piece == 0 ||
          std::find(hosts.begin(), hosts.end(), experiment.flows[0].from) == hosts.end())
        continue;
      const double seconds = *std::max_element(experiment.together.begin(), experiment.together.end());
      const auto bytes = static_cast<double>(experiment.bytes);
      const Work work{bytes / static_cast<double>(experiment.piece), bytes,
                      seconds / (2 * static_cast<double>(experiment.flows.size())),
                      *std::max_element(experiment.alone.begin(), experiment.alone.end()), seconds};
      // Where it was asked for again, as the network was seen otherwise, what took least: disturbances only add.
      auto& known = experiment.piece == short_piece ? shorts : longs;
      if (known.bytes == 0 || work.seconds < known.seconds) known = work;
    }
    if (shorts.bytes == 0 || !(longs.alone < idle_wires * longs.together)) continue;
    const double per_message = std::clamp((shorts.seconds * longs.bytes - longs.seconds * shorts.bytes) /
                                              (shorts.n_messages * longs.bytes - longs.n_messages * shorts.bytes),
                                          0.0, most_per_message * longs.seconds / longs.n_messages);
    const double bandwidth = longs.bytes / (longs.seconds - longs.n_messages * per_message);
    network.processors.push_back({hosts, {per_message, bandwidth}});
  }
}

}  // namespace tessera::machine
