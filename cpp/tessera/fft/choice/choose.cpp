#include "tessera/fft/choice/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/collectives/registry.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/load/exchange_load.h"
#include "tessera/machine/orders.h"

namespace tessera::fft {

namespace {

// If routes are known, there are many links, each counted on its own, so as many ranks are counted as have about
// `messages_on_links`: the fewer messages there are, the larger the share of them that decides the load of the busiest
// link.
constexpr std::size_t messages_on_links = 600'000;

/// Returns one of every `few` neighbouring ranks, so that all parts of the network are represented. It is drawn at
/// random (with the same result on all machines), so that its step is not that of the mesh's layout.
std::vector<int> one_of_neighbours(std::size_t n_ranks, std::size_t few) {
  std::mt19937 random(1);
  std::vector<int> ranks;
  for (std::size_t first = 0; first < n_ranks; first += few)
    ranks.push_back(static_cast<int>(first + random() % std::min(few, n_ranks - first)));
  return ranks;
}

/// Returns the ranks whose messages are counted: all, or some.
std::vector<int> ranks_to_count(const Index3& grid, const Redistribution& move, const machine::Wires& wires) {
  const auto n_ranks = move.to.size();
  if (n_ranks <= machine::most_ranks_to_count) return one_of_neighbours(n_ranks, 1);
  if (!wires.network().routes) return machine::ranks_of_some_hosts(wires);
  const auto some = one_of_neighbours(n_ranks, n_ranks / 64);
  std::size_t n = 1;
  for_messages(grid, move, some, [&](const RedistributionMessage&) { ++n; });
  const auto most_ranks = std::max<std::size_t>(1, messages_on_links * some.size() / n);
  return one_of_neighbours(n_ranks, (n_ranks + most_ranks - 1) / most_ranks);
}

double seconds_of(const Index3& grid, const Redistribution& move, std::int64_t real_bytes,
                  const machine::Wires& wires) {
  machine::ExchangeLoad load(wires);
  const auto bytes = [&](std::int64_t values) { return static_cast<double>(values * move.components * real_bytes); };
  const auto counted = ranks_to_count(grid, move, wires);
  for_messages(grid, move, counted, [&](const RedistributionMessage& m) { load.add(m.from, m.to, bytes(m.values)); });
  if (counted.size() == move.to.size()) return load.seconds();
  std::vector<char> is_counted(move.to.size());
  for (const int rank : counted) is_counted[static_cast<std::size_t>(rank)] = 1;
  for_messages(grid, {move.to, move.from, move.components}, counted, [&](const RedistributionMessage& m) {
    if (is_counted[static_cast<std::size_t>(m.from)] == 0) load.add(m.to, m.from, bytes(m.values));
  });
  return load.seconds(machine::share_of_messages(counted.size(), move.to.size()));
}

struct Order {
  std::string name;
  std::vector<int> places;  // by rank; empty: the rank's own number
};

/// Places ranks[i] at step i through the layout, with direction `nearest` fastest.
std::vector<int> places_along(const Index3& dims, int nearest, const std::vector<int>& ranks) {
  std::array<std::size_t, 3> turn{0, 1, 2};  // slowest first
  std::rotate(std::find(turn.begin(), turn.end(), static_cast<std::size_t>(nearest)),
              std::find(turn.begin(), turn.end(), static_cast<std::size_t>(nearest)) + 1, turn.end());
  std::vector<int> places(ranks.size());
  std::size_t i = 0;
  Index3 at{};
  for (at[turn[0]] = 0; at[turn[0]] < dims[turn[0]]; ++at[turn[0]])
    for (at[turn[1]] = 0; at[turn[1]] < dims[turn[1]]; ++at[turn[1]])
      for (at[turn[2]] = 0; at[turn[2]] < dims[turn[2]]; ++at[turn[2]])
        places[static_cast<std::size_t>(ranks[i++])] = static_cast<int>((at[0] * dims[1] + at[1]) * dims[2] + at[2]);
  for (; i < ranks.size(); ++i) places[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);  // idle
  return places;
}

std::vector<Order> orders_of(const TransformPlan& plan, const machine::Wires& wires) {
  std::vector<Order> orders{{"as numbered", {}}};
  const int n_used = wires.n_hosts();
  const bool is_flat = wires.network().subnets.size() == 1 && n_used == wires.n_ranks();
  if (n_used == 1 || is_flat || wires.n_ranks() > most_ranks_to_order) return orders;

  Index3 dims{};  // in the schemes' order: the direction that is swept first is slowest
  for (std::size_t i = 0; i < 3; ++i) dims[i] = plan.processes[static_cast<std::size_t>(plan.problem.order[i])];
  const auto add = [&](std::string name, std::vector<int> places) {
    std::vector<int> own(places.size());
    std::iota(own.begin(), own.end(), 0);
    const bool is_known = places == own || std::any_of(orders.begin(), orders.end(),
                                                       [&](const Order& order) { return order.places == places; });
    if (!is_known) orders.push_back({std::move(name), std::move(places)});
  };
  const auto along = collectives::topology_order(wires);
  for (int d = 2; d >= 0; --d)
    if (dims[static_cast<std::size_t>(d)] > 1)
      add(fmt::format("{} nearest", "xyz"[plan.problem.order[static_cast<std::size_t>(d)]]),
          places_along(dims, d, along));
  if (dims[0] * dims[1] * dims[2] == wires.n_ranks()) {
    std::vector<int> places(static_cast<std::size_t>(wires.n_ranks()));
    const auto ranks = machine::ranks_in_grid(wires, dims);
    for (std::size_t place = 0; place < ranks.size(); ++place)
      places[static_cast<std::size_t>(ranks[place])] = static_cast<int>(place);
    add("blocks on hosts", std::move(places));
  }
  return orders;
}

}  // namespace

Prediction predict(const TransformPlan& plan, std::int64_t real_bytes, const machine::Wires& wires) {
  // Wires are the same in both directions, so times differ only for the exchange with the user's own boxes.
  Prediction predicted;
  const auto forward = plan.forward();
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const double once = seconds_of(plan.problem.grid, forward[i], real_bytes, wires);
    const bool is_same = i > 0 || plan.problem.input == plan.problem.output;
    predicted.exchanges +=
        once + (is_same ? once : seconds_of(plan.problem.grid, plan.backward().back(), real_bytes, wires));
  }
  for (const auto& stage : plan.stages) {
    double most = 0;
    for (std::size_t rank = 0; rank < stage.swept.size(); ++rank)
      most = std::max(most, static_cast<double>(stage.swept[rank].size()) / wires.wires()[rank].bandwidth);
    // Values are read and written, forward and backward.
    predicted.passes += 4 * static_cast<double>(2 * real_bytes) * most;
  }
  return predicted;
}

std::vector<RankedPlan> rank_schemes(const TransformProblem& problem, std::int64_t real_bytes,
                                     const machine::Wires& wires, std::string_view only) {
  TESSERA_CHECK(wires.n_ranks() == problem.ranks);
  std::vector<RankedPlan> candidates;
  const auto layers = *std::max_element(problem.grid.begin(), problem.grid.end());
  for (const auto& scheme : schemes()) {
    if (only != "auto" && only != scheme.name) continue;
    // With more ranks than layers, slabs would need ranks² messages and leave most ranks idle.
    if (only == "auto" && scheme.plan == &plan_slab && problem.ranks > layers) continue;
    const auto plain = plan_transform(scheme.name, problem);
    std::vector<RankedPlan> found;
    for (auto& [name, places] : orders_of(plain, wires)) {
      auto& candidate = found.emplace_back(RankedPlan{plain, std::move(name), {}});
      if (!places.empty()) {
        auto ordered = problem;
        ordered.places = std::move(places);
        candidate.plan = plan_transform(scheme.name, std::move(ordered));
      }
      candidate.predicted = predict(candidate.plan, real_bytes, wires);
    }
    candidates.push_back(std::move(*std::min_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.predicted.seconds() < b.predicted.seconds();
    })));
  }
  if (candidates.empty()) (void)plan_transform(only, problem);  // throws that there is no such scheme
  std::stable_sort(candidates.begin(), candidates.end(), [](const RankedPlan& a, const RankedPlan& b) {
    return a.predicted.seconds() < b.predicted.seconds();
  });
  return candidates;
}

std::string text_of(const std::vector<RankedPlan>& candidates) {
  std::string text;
  for (const auto& [plan, order, predicted] : candidates)
    text += fmt::format("{}{} {:.3g} ms", text.empty() ? "" : ", ", plan.scheme, 1e3 * predicted.seconds());
  return text + "; ranks stand " + candidates.front().order;
}

machine::Wires wires_of_one_host(int ranks) {
  machine::Host host;
  host.name = "host";
  host.slots = ranks;
  return {machine::one_switch({host}, machine::Wires::unmeasured_inside),
          std::vector<int>(static_cast<std::size_t>(ranks))};
}

}  // namespace tessera::fft
