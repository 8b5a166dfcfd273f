#include "tessera/collectives/exchange.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tessera/collectives/registry.h"

namespace tessera::collectives {
namespace {

/// Puts blocks over the slowest links first, then sorts by distance in the order of the network, so that no port is the
/// target of many at once.
void sort_along(std::vector<ExchangeBlock>& blocks, const machine::Wires& wires) {
  const auto order = topology_order(wires);
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const auto n = static_cast<std::int64_t>(order.size());
  const auto key = [&](const ExchangeBlock& block) {
    const auto from = place[static_cast<std::size_t>(block.from)], to = place[static_cast<std::size_t>(block.to)];
    return std::tuple(-wires.level(block.from, block.to), (to - from + n) % n, from);
  };
  std::stable_sort(blocks.begin(), blocks.end(),
                   [&](const ExchangeBlock& a, const ExchangeBlock& b) { return key(a) < key(b); });
}

}  // namespace

MessagePlan plan_direct_exchange(std::vector<ExchangeBlock> blocks, const machine::Wires& wires) {
  sort_along(blocks, wires);
  MessagePlan plan{"direct", {}, 0};
  for (const auto& [from, to, begin, at, size] : blocks)
    if (size > 0) plan.messages.push_back({from, to, Effect::replace, Buffer::input, Buffer::output, begin, at, size});
  return plan;
}

MessagePlan plan_gathered_exchange(std::vector<ExchangeBlock> blocks, const machine::Wires& wires) {
  sort_along(blocks, wires);
  MessagePlan plan{"gathered", {}, 0};
  std::vector<std::pair<int, int>> pairs;  // of hosts, in the order of their first block
  std::map<std::pair<int, int>, std::vector<ExchangeBlock>> between;
  for (const auto& block : blocks) {
    if (block.size == 0) continue;
    const std::pair hosts{wires.host_of(block.from), wires.host_of(block.to)};
    auto& list = between[hosts];
    if (list.empty()) pairs.push_back(hosts);
    list.push_back(block);
  }
  std::vector<std::int64_t> used(static_cast<std::size_t>(wires.n_ranks()));  // scratch of each rank
  const auto take = [&](int rank, std::int64_t size) {
    auto& end = used[static_cast<std::size_t>(rank)];
    end += size;
    plan.scratch = std::max(plan.scratch, end);
    return end - size;
  };
  const auto add = [&](int from, int to, Buffer source, Buffer target, std::int64_t begin, std::int64_t at,
                       std::int64_t size) {
    plan.messages.push_back({from, to, Effect::replace, source, target, begin, at, size});
  };
  const auto n_hosts = wires.network().hosts.size();
  std::vector<std::size_t> turn_out(n_hosts), turn_in(n_hosts);  // of each host: how many pairs so far
  for (const auto& pair : pairs) {
    const auto& list = between[pair];
    const auto a = static_cast<std::size_t>(pair.first), b = static_cast<std::size_t>(pair.second);
    if (a == b) {
      for (const auto& [from, to, begin, at, size] : list)
        add(from, to, Buffer::input, Buffer::output, begin, at, size);
      continue;
    }
    const auto senders = wires.ranks_on(pair.first), receivers = wires.ranks_on(pair.second);
    const int carrier = senders[turn_out[a]++ % senders.size()], receiver = receivers[turn_in[b]++ % receivers.size()];
    std::int64_t length = 0;
    for (const auto& block : list) length += block.size;
    const auto out = take(carrier, length), in = take(receiver, length);
    std::int64_t offset = 0;
    for (const auto& block : list) {
      add(block.from, carrier, Buffer::input, Buffer::scratch, block.begin, out + offset, block.size);
      offset += block.size;
    }
    add(carrier, receiver, Buffer::scratch, Buffer::scratch, out, in, length);
    offset = 0;
    for (const auto& block : list) {
      add(receiver, block.to, Buffer::scratch, Buffer::output, in + offset, block.at, block.size);
      offset += block.size;
    }
  }
  return plan;
}

}  // namespace tessera::collectives
