#include "tessera/fft/choice/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/collectives/registry.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/orders.h"

namespace tessera::fft {

namespace {

// This fraction of the latency between two hosts occupies a rank, for sending one message and receiving another; the
// rest is travel time. Within a host all of the latency occupies the rank.
constexpr double busy_between = 0.5;

// Up to `most_ranks_to_count` ranks every message is counted, which takes a tenth of a second; of more ranks, the
// messages of about `counted_ranks` are. If routes are known, there are many links, each counted on its own, so as many
// ranks are counted as have about `messages_on_links`: the fewer messages there are, the larger the share of them that
// decides the load of the busiest link.
constexpr std::size_t most_ranks_to_count = 1024, counted_ranks = 256, messages_on_links = 600'000;

/// Returns the ranks of whole hosts, so that all messages of their ports are counted. The hosts are spread evenly with
/// the golden ratio as step, which the layout of the mesh does not share. Of a host with very many ranks, as without a
/// map, only some are returned.
std::vector<int> ranks_of_some_hosts(const machine::Wires& wires) {
  std::vector<std::span<const int>> by_host;
  for (std::size_t host = 0; host < wires.network().hosts.size(); ++host)
    if (const auto here = wires.ranks_on(static_cast<int>(host)); !here.empty()) by_host.push_back(here);
  std::vector<int> ranks;
  constexpr double step = 0.6180339887498949;
  double place = 0;
  for (; ranks.size() < counted_ranks; place = std::fmod(place + step, 1)) {
    auto& mine = by_host[static_cast<std::size_t>(place * static_cast<double>(by_host.size()))];
    const auto every = mine.size() > most_ranks_to_count ? mine.size() / counted_ranks : 1;
    for (std::size_t i = 0; i < mine.size(); i += every) ranks.push_back(mine[i]);
    mine = {};
  }
  return ranks;
}

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
  if (n_ranks <= most_ranks_to_count) return one_of_neighbours(n_ranks, 1);
  if (!wires.network().routes) return ranks_of_some_hosts(wires);
  const auto some = one_of_neighbours(n_ranks, n_ranks / 64);
  std::size_t n = 1;
  for_messages(grid, move, some, [&](const RedistributionMessage&) { ++n; });
  const auto most_ranks = std::max<std::size_t>(1, messages_on_links * some.size() / n);
  return one_of_neighbours(n_ranks, (n_ranks + most_ranks - 1) / most_ranks);
}

/// Extrapolates the load of wires from the messages that were counted to all messages. `n_laid[wire]` is the number of
/// loads that were added.
void extrapolate(const machine::Wires& wires, double share_seen, const std::vector<int>& n_laid,
                 std::vector<double>& busy) {
  if (wires.network().routes) {
    // The wires of counted ranks carry their full load. Every other wire has a sample of n loads, with a relative error
    // of about 1/√n; the expected excess of the largest of many such is that of normal variables.
    const double largest = std::sqrt(2 * std::log(static_cast<double>(busy.size())) * (1 - share_seen));
    for (std::size_t i = static_cast<std::size_t>(wires.n_ranks()); i < busy.size(); ++i)
      if (n_laid[i] > 0) busy[i] /= share_seen * (1 + largest / std::sqrt(n_laid[i]));
    return;
  }
  // Subnets are assumed to be alike: each of their wires gets the mean of those of equal bandwidth.
  std::map<double, std::pair<double, double>> alike;  // by bandwidth: sum of loads, number
  for (std::size_t i = 0; i < busy.size(); ++i)
    if (const auto& wire = wires.wires()[i]; wire.is_of_subnet) {
      auto& [sum, n] = alike[wire.bandwidth];
      sum += std::exchange(busy[i], 0.0);
      ++n;
    }
  for (const auto& [bandwidth, sum_n] : alike) busy.push_back(sum_n.first / sum_n.second / share_seen);
}

double seconds_of(const Index3& grid, const Redistribution& move, std::int64_t real_bytes,
                  const machine::Wires& wires) {
  // Loads are kept in bytes until the end, so that adding a message reads nothing else of a wire.
  std::vector<double> busy(wires.wires().size()), starts(2 * move.from.size());
  std::vector<int> n_laid(busy.size());
  const auto occupy = [&](int wire, double bytes) {
    busy[static_cast<std::size_t>(wire)] += bytes;
    ++n_laid[static_cast<std::size_t>(wire)];
  };
  // Consecutive messages from one host to another take the same path. With known links a path has many of them, so such
  // messages are added to the links together.
  struct {
    int from = -1, to = -1;         // ranks
    int sends = -1, receives = -1;  // their hosts
    double start = 0;               // s
    double bytes = 0;               // not yet added to links
  } way;
  const bool has_routes = wires.network().routes.has_value();
  const auto occupy_links = [&] {
    if (way.bytes == 0 || way.sends == way.receives) return;
    const auto path = wires.path(way.from, way.to);
    for (const int wire : path.subspan(1, path.size() - 2)) occupy(wire, way.bytes);
  };
  const auto add = [&](int from, int to, std::int64_t values) {
    const auto bytes = static_cast<double>(values * move.components * real_bytes);
    const int sends = wires.host_of(from), receives = wires.host_of(to);
    if (sends != way.sends || receives != way.receives) {
      occupy_links();
      way = {from, to, sends, receives, (sends == receives ? 1 : busy_between) * wires.latency(from, to), 0};
    }
    starts[2 * static_cast<std::size_t>(from)] += way.start;
    starts[2 * static_cast<std::size_t>(to) + 1] += way.start;
    if (has_routes) {
      for (const int rank : {from, to}) occupy(rank, bytes);
      way.bytes += bytes;
    } else {
      for (const int wire : wires.path(from, to)) occupy(wire, bytes);
    }
    if (sends != receives)
      for (const int host : {sends, receives})
        if (const int wire = wires.processors_of(host); wire >= 0) occupy(wire, bytes);
  };
  const auto counted = ranks_to_count(grid, move, wires);
  for_messages(grid, move, counted, [&](const RedistributionMessage& m) { add(m.from, m.to, m.values); });
  if (counted.size() < move.to.size()) {
    std::vector<char> is_counted(move.to.size());
    for (const int rank : counted) is_counted[static_cast<std::size_t>(rank)] = 1;
    for_messages(grid, {move.to, move.from, move.components}, counted, [&](const RedistributionMessage& m) {
      if (is_counted[static_cast<std::size_t>(m.from)] == 0) add(m.to, m.from, m.values);
    });
  }
  occupy_links();
  for (std::size_t i = 0; i < busy.size(); ++i) {
    const auto& wire = wires.wires()[i];
    busy[i] = busy[i] / wire.bandwidth + n_laid[i] * wire.per_message;
  }
  if (counted.size() < move.to.size()) {
    const double share = static_cast<double>(counted.size()) / static_cast<double>(move.to.size());
    extrapolate(wires, share * (2 - share), n_laid, busy);
  }
  const auto most = [](const std::vector<double>& list) {
    return list.empty() ? 0.0 : *std::max_element(list.begin(), list.end());
  };
  return most(starts) + most(busy);
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
    std::vector<int> host_of_rank, ranks_on_host, places(static_cast<std::size_t>(wires.n_ranks()));
    for (int rank = 0; rank < wires.n_ranks(); ++rank) host_of_rank.push_back(wires.host_of(rank));
    for (std::size_t host = 0; host < wires.network().hosts.size(); ++host)
      ranks_on_host.push_back(static_cast<int>(wires.ranks_on(static_cast<int>(host)).size()));
    const auto blocks =
        machine::cartesian_order(wires.network(), ranks_on_host,
                                 {static_cast<int>(dims[0]), static_cast<int>(dims[1]), static_cast<int>(dims[2])});
    const auto ranks = machine::ranks_in_order(host_of_rank, blocks);
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
