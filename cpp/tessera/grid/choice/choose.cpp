#include "tessera/grid/choice/choose.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/grid/choice/messages.h"
#include "tessera/machine/load/exchange_load.h"
#include "tessera/machine/orders.h"

namespace tessera::grid {

namespace {

constexpr std::size_t most_ranks_to_count = 256, counted_ranks = 32;  // whose copies are counted

std::vector<int> ranks_to_count(const machine::Wires& wires) {
  const auto n = static_cast<std::size_t>(wires.n_ranks());
  if (n > most_ranks_to_count) return machine::ranks_of_some_hosts(wires, counted_ranks, counted_ranks);
  std::vector<int> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Returns the time of the exchange of halos, or of their part along a direction, without copies inside hosts.
ExchangeCost exchange_cost(const std::vector<HaloMessage>& messages, std::optional<std::size_t> direction,
                           std::int64_t bytes, const machine::Wires& wires, double share) {
  machine::ExchangeLoad load(wires), empty(wires), all(wires);
  double latency = 0;  // of one message
  for (const auto& message : messages) {
    const auto points = direction ? message.points[*direction] : message.all();
    if (points == 0) continue;
    all.add(message.from, message.to, 0);
    if (wires.host_of(message.from) == wires.host_of(message.to)) continue;
    load.add(message.from, message.to, static_cast<double>(points * bytes));
    empty.add(message.from, message.to, 0);
    latency = std::max(latency, wires.latency(message.from, message.to));
  }
  return {latency, load.seconds(share) - empty.seconds(share), std::max(0.0, all.seconds(share) - latency)};
}

/// Returns the messages to the first `n` ranks.
std::vector<HaloMessage> messages_to_count(const GridLayout& layout, const HaloShape& shape, int n) {
  const HaloMessages of_layout(layout, shape);
  std::vector<HaloMessage> found;
  for (int rank = 0; rank < n; ++rank) {
    const int first = rank / layout.ranks() * layout.ranks();
    for (auto message : of_layout.to(rank - first)) {
      message.from += first;
      message.to += first;
      found.push_back(message);
    }
  }
  return found;
}

}  // namespace

LayoutCost cost_of_layout(const GridLayout& layout, const HaloShape& shape, std::int64_t bytes,
                          const machine::Wires& wires, const CoreRates& rates) {
  const int n = layout.ranks();
  TESSERA_CHECK(n > 0 && wires.n_ranks() % n == 0);
  const auto counted = ranks_to_count(wires);
  std::map<int, std::vector<HaloStage>> plans;  // by rank of the layout
  LayoutCost found;
  for (const int rank : counted) {
    auto& at_once = plans[rank % n];
    if (at_once.empty()) at_once = plan_halo(layout, shape, rank % n, false);
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
  const int n_counted = std::min(wires.n_ranks(), machine::most_halos_to_count);
  const auto messages = messages_to_count(layout, shape, n_counted);
  const double share = machine::share_of_halos(wires, n_counted);
  found.field.at_once = exchange_cost(messages, std::nullopt, bytes, wires, share);
  for (std::size_t d = 0; d < 3; ++d)
    found.field.by_direction.push_back(exchange_cost(messages, d, bytes, wires, share));
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
