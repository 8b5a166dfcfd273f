#include "tessera/machine/survey/contention_results.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tessera/base/index.h"

namespace tessera::machine {
namespace {

// These bound the measured fraction of the extra time that flows would need if they shared one wire: 1 on a bus, 0 on a
// switch. Between the two bounds the medium stays unknown.
constexpr double shared = 0.6;
constexpr double apart = 0.3;
// The uplink is the limit if all flows together carry less than this fraction of the sum of their rates alone.
constexpr double limited = 0.75;

// The processors are the limit if the wires would have needed less than this fraction of the time.
constexpr double idle_wires = 0.67;
// The part of the work for a long message that does not depend on its bytes is at most this fraction.
constexpr double most_per_message = 0.9;

/// Finds for each subnet which of its parts (or hosts, in a leaf) holds a host; -1: none.
class Tree {
 public:
  explicit Tree(const Network& network) : network_(network), leaf_(network.hosts.size(), 0) {
    for (std::size_t s = 0; s < network.subnets.size(); ++s)
      for (const int host : network.subnets[s].hosts) leaf_[at(host)] = static_cast<int>(s);
  }

  int common(int a, int b) const {  // parents precede their parts
    while (a != b) (a > b ? a : b) = network_.subnets[at(std::max(a, b))].parent;
    return a;
  }
  int leaf(int host) const { return leaf_[at(host)]; }
  bool holds(int subnet, int host) const { return common(subnet, leaf(host)) == subnet; }
  int common_of(const std::vector<int>& hosts) const {
    int found = leaf(hosts[0]);
    for (const int host : hosts) found = common(found, leaf(host));
    return found;
  }
  int part_of(int subnet, int host) const {
    int below = leaf(host);
    if (below == subnet) return network_.subnets.empty() ? -1 : static_cast<int>(network_.subnets.size()) + host;
    while (network_.subnets[at(below)].parent != subnet) below = network_.subnets[at(below)].parent;
    return below;
  }

 private:
  const Network& network_;
  std::vector<int> leaf_;
};

}  // namespace

std::vector<std::vector<int>> hosts_by_kernel(const Measurements& measurements) {
  std::map<int, std::vector<int>> found;
  for (std::size_t h = 0; h < measurements.hosts.size(); ++h)
    if (const int kernel = measurements.hosts[h].kernel; kernel >= 0) found[kernel].push_back(static_cast<int>(h));
  std::vector<std::vector<int>> groups;
  for (auto& [kernel, hosts] : found)
    if (hosts.size() > 1) groups.push_back(std::move(hosts));
  return groups;
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
        auto& uplink = network.subnets[at(from)].uplink;
        uplink = std::max(uplink.value_or(0), rate);  // the best of several experiments
      }
      continue;
    }

    const int within = tree.common_of(all);
    auto& subnet = network.subnets[at(within)];
    std::multiset<int> parts;
    for (const int host : all) parts.insert(tree.part_of(within, host));
    const bool are_disjoint = std::all_of(parts.begin(), parts.end(), [&](int part) { return parts.count(part) == 1; });
    // If flows share a part that is itself a subnet, its own wires may be what slows them down.
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
    // Holds the work of one end of a flow, s; n_messages and bytes tell what it consists of.
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
      // If an experiment was repeated, because the network was seen differently then, the least time counts, as
      // disturbances only add.
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
