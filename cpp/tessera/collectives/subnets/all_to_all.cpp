#include "tessera/collectives/subnets/all_to_all.h"

#include <algorithm>

#include "tessera/collectives/classical/build.h"

namespace tessera::collectives {
namespace {

struct HostPair {
  int level = 0;             // of the link between them
  std::size_t distance = 0;  // in the order of the network
  std::size_t from = 0, to = 0;
};

/// Returns the ranks of each host that has any; hosts are in the order of the network.
std::vector<std::vector<int>> ranks_by_host(const machine::Wires& wires) {
  std::vector<std::vector<int>> hosts;
  for (const int rank : topology_order(wires))
    if (const auto here = wires.ranks_on(wires.host_of(rank)); here.front() == rank)
      hosts.emplace_back(here.begin(), here.end());
  return hosts;
}

int top_level(const machine::Wires& wires, const std::vector<int>& order) {
  int level = 0;
  for (const int rank : order) level = std::max(level, wires.level(order.front(), rank));
  return level;
}

// Switches can buffer so many bytes for an uplink without losing any, as their buffers hold a few hundred KiB.
constexpr double most_at_once = 256 * 1024, paced_at_once = 128 * 1024;

/// Returns how many messages of a rank may be under way without flooding an uplink; 0 stands for any number.
int window_of(const CollectiveProblem& problem, const machine::Wires& wires) {
  const auto& network = wires.network();
  const double block = static_cast<double>(problem.blocks.front() * problem.element_bytes);
  std::vector<double> n_inside(network.subnets.size(), 0);  // ranks in each subnet
  for (int rank = 0; rank < problem.n_ranks; ++rank)
    for (const int subnet : network.ancestors(wires.host_of(rank))) ++n_inside[static_cast<std::size_t>(subnet)];
  int window = 0;
  for (std::size_t s = 1; s < network.subnets.size(); ++s) {
    if (!network.subnets[s].uplink) continue;
    if (n_inside[s] * (problem.n_ranks - n_inside[s]) * block <= most_at_once) continue;
    const int most = std::max(1, static_cast<int>(paced_at_once / (n_inside[s] * block)));
    window = window == 0 ? most : std::min(window, most);
  }
  return window;
}

}  // namespace

bool floods_an_uplink(const CollectiveProblem& problem, const machine::Wires& wires) {
  return window_of(problem, wires) > 0;
}

MessagePlan plan_direct_all_to_all(const CollectiveProblem& problem, const machine::Wires& wires) {
  const auto order = topology_order(wires);
  const auto offsets = problem.offsets();
  const auto n = order.size();
  MessagePlan plan{"subnets(direct)", {}, 0};
  if (problem.blocks.front() == 0) return plan;
  plan.window = window_of(problem, wires);
  if (plan.window > 0) plan.entry = "subnets(direct, paced)";
  for (int level = top_level(wires, order); level >= 0; --level)
    for (std::size_t distance = 1; distance < n; ++distance)
      for (std::size_t i = 0; i < n; ++i) {
        const int from = order[i], to = order[(i + distance) % n];
        if (wires.level(from, to) != level) continue;
        plan.messages.push_back({from, to, Effect::replace, Buffer::input, Buffer::output,
                                 offsets[static_cast<std::size_t>(to)], offsets[static_cast<std::size_t>(from)],
                                 problem.blocks.front()});
      }
  return plan;
}

MessagePlan plan_gathered_all_to_all(const CollectiveProblem& problem, const machine::Wires& wires,
                                     std::int64_t segment) {
  const auto hosts = ranks_by_host(wires);
  const auto offsets = problem.offsets();
  const auto block = problem.blocks.front();
  MessagePlan plan{"subnets(gathered)", {}, 0};
  if (block == 0) return plan;

  std::vector<HostPair> pairs;
  for (std::size_t distance = 1; distance < hosts.size(); ++distance)
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      const auto g = (h + distance) % hosts.size();
      pairs.push_back({wires.level(hosts[h].front(), hosts[g].front()), distance, h, g});
    }
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.level > b.level; });

  const auto offset_of = [&](int rank) { return offsets[static_cast<std::size_t>(rank)]; };
  std::vector<std::int64_t> used(static_cast<std::size_t>(problem.n_ranks), 0);  // scratch of each rank
  const auto take = [&](int rank, std::int64_t length) {
    const auto begin = used[static_cast<std::size_t>(rank)];
    used[static_cast<std::size_t>(rank)] += length;
    plan.scratch = std::max(plan.scratch, begin + length);
    return begin;
  };
  for (const auto& pair : pairs) {
    const auto& senders = hosts[pair.from];
    const auto& receivers = hosts[pair.to];
    // Ranks of a host take turns by distance, so that each of them sends to some of the other hosts.
    const int carrier = senders[(pair.distance - 1) % senders.size()];
    const int receiver = receivers[(pair.distance - 1) % receivers.size()];
    const auto length = block * static_cast<std::int64_t>(senders.size() * receivers.size());
    const auto out = take(carrier, length), in = take(receiver, length);
    // Block (d, s) goes from rank s of the one host to rank d of the other.
    auto at = out;
    for (const int d : receivers)
      for (const int s : senders) {
        plan.messages.push_back({s, carrier, Effect::replace, Buffer::input, Buffer::scratch, offset_of(d), at, block});
        at += block;
      }
    for (const auto& piece : pieces({0, length}, problem.element_bytes, segment))
      plan.messages.push_back({carrier, receiver, Effect::replace, Buffer::scratch, Buffer::scratch, out + piece.begin,
                               in + piece.begin, piece.length});
    at = in;
    for (const int d : receivers)
      for (const int s : senders) {
        plan.messages.push_back(
            {receiver, d, Effect::replace, Buffer::scratch, Buffer::output, at, offset_of(s), block});
        at += block;
      }
  }
  for (const auto& ranks : hosts)
    for (std::size_t distance = 1; distance < ranks.size(); ++distance)
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const int from = ranks[i], to = ranks[(i + distance) % ranks.size()];
        plan.messages.push_back(
            {from, to, Effect::replace, Buffer::input, Buffer::output, offset_of(to), offset_of(from), block});
      }
  return plan;
}

}  // namespace tessera::collectives
