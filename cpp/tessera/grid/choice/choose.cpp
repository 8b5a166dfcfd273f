#include "tessera/grid/choice/choose.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/machine/load/exchange_load.h"
#include "tessera/machine/orders.h"

namespace tessera::grid {

namespace {

constexpr std::size_t most_ranks_to_count = 256, counted_ranks = 32;

std::vector<int> ranks_to_count(const machine::Wires& wires) {
  const auto n = static_cast<std::size_t>(wires.n_ranks());
  if (n > most_ranks_to_count) return machine::ranks_of_some_hosts(wires, counted_ranks, counted_ranks);
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Returns the time of a stage of all counted ranks' halos, without copies inside hosts.
ExchangeCost exchange_cost(const std::vector<std::pair<int, const HaloStage*>>& stages, int ranks_of_layout,
                           std::int64_t bytes, const machine::Wires& wires, double share) {
  std::vector<char> is_counted(static_cast<std::size_t>(wires.n_ranks()));
  for (const auto& [rank, stage] : stages) is_counted[static_cast<std::size_t>(rank)] = 1;
  machine::ExchangeLoad load(wires), empty(wires), all(wires);
  double latency = 0;  // of one message
  const auto add = [&](int from, int to, std::int64_t points) {
    if (points == 0) return;
    all.add(from, to, 0);
    if (wires.host_of(from) == wires.host_of(to)) return;
    load.add(from, to, static_cast<double>(points * bytes));
    empty.add(from, to, 0);
    latency = std::max(latency, wires.latency(from, to));
  };
  for (const auto& [rank, stage] : stages) {
    const int first = rank / ranks_of_layout * ranks_of_layout;
    for (const auto& peer : stage->peers) {
      const int other = first + peer.rank;
      add(rank, other, peer.send_points());
      // What other counted ranks send here is added there.
      if (is_counted[static_cast<std::size_t>(other)] == 0) add(other, rank, peer.receive_points());
    }
  }
  return {latency, load.seconds(share) - empty.seconds(share), std::max(0.0, all.seconds(share) - latency)};
}

}  // namespace

LayoutCost cost_of_layout(const GridLayout& layout, const HaloShape& shape, std::int64_t bytes,
                          const machine::Wires& wires, const CoreRates& rates) {
  const int n = layout.ranks();
  TESSERA_CHECK(n > 0 && wires.n_ranks() % n == 0);
  const auto counted = ranks_to_count(wires);
  const double share = machine::share_of_messages(counted.size(), static_cast<std::size_t>(wires.n_ranks()));
  std::map<int, std::pair<std::vector<HaloStage>, std::vector<HaloStage>>> plans;  // by rank of the layout
  LayoutCost found;
  for (const int rank : counted) {
    auto& [at_once, by_direction] = plans[rank % n];
    if (at_once.empty()) {
      at_once = plan_halo(layout, shape, rank % n, false);
      by_direction = plan_halo(layout, shape, rank % n, true);
    }
    std::int64_t sent = 0, copied = 0, messages = 0;
    double inside = 0;  // s
    for (const auto& peer : at_once.front().peers) {
      sent += peer.send_points();
      copied += peer.send_points() + peer.receive_points();
      messages += peer.send_points() > 0 ? 1 : 0;
      const int other = rank / n * n + peer.rank;
      if (wires.host_of(other) == wires.host_of(rank))
        inside +=
            wires.time(other, rank, static_cast<double>(peer.receive_points() * bytes)) - wires.latency(other, rank);
    }
    for (const auto& piece : at_once.front().local)  // others are read where they are
      if (piece.shift[2] != 0 && layout.processes[2] > 1) copied += 2 * piece.box.size();
    found.messages = std::max(found.messages, messages);
    found.bytes = std::max(found.bytes, static_cast<double>(sent * bytes));
    found.field.packing =
        std::max(found.field.packing, inside + rates.packing / 2 * static_cast<double>(copied * bytes));
  }
  std::int64_t points = 0;
  for (const auto& box : layout.boxes) points = std::max(points, box.size());
  found.field.computing = rates.point * static_cast<double>(points);
  found.field.synchronising = rates.synchronising;
  found.field.overlap = rates.overlap;
  const auto cost_of = [&](auto&& stage_of) {
    std::vector<std::pair<int, const HaloStage*>> stages;
    for (const int rank : counted) stages.emplace_back(rank, &stage_of(plans[rank % n]));
    return exchange_cost(stages, n, bytes, wires, share);
  };
  found.field.at_once = cost_of([](const auto& plan) -> const HaloStage& { return plan.first.front(); });
  for (std::size_t d = 0; d < 3; ++d)
    found.field.by_direction.push_back(cost_of([d](const auto& plan) -> const HaloStage& { return plan.second[d]; }));
  return found;
}

std::vector<Choice> rank_approaches(const std::vector<std::string_view>& approaches, const FieldCost& cost,
                                    std::int64_t fields, int threads, const Batching& given) {
  std::vector<Choice> found;
  for (const auto name : approaches) found.push_back(choose_batches(find_model(name), cost, fields, threads, given));
  std::stable_sort(found.begin(), found.end(),
                   [](const Choice& a, const Choice& b) { return a.predicted.seconds() < b.predicted.seconds(); });
  return found;
}

machine::Wires wires_of_threads(machine::Network network, int ranks, int threads) {
  for (auto& host : network.hosts) {
    host.slots /= threads;
    auto inside = host.inside.value_or(machine::Wires::unmeasured_inside);
    inside.bandwidth *= threads;
    host.inside = inside;
  }
  return machine::wires_of_job(network, ranks);
}

}  // namespace tessera::grid
