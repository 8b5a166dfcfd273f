#include "tessera/fft/choice/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/collectives/registry.h"
#include "tessera/fft/schemes.h"
#include "tessera/machine/orders.h"

namespace tessera::fft {

namespace {

// bytes/s that a rank reads and writes while it transforms, where its values do not fit in cache. A constant, since it
// weighs passes and idle ranks against exchanges and is much the same on all machines of a decade.
constexpr double bytes_per_second = 5e9;

// Of up to so many ranks all messages are counted, which takes a second; of more, what some of about as many receive.
constexpr int counted_ranks = 16384;

/// Ranks whose messages are counted: all, or one of every few neighbours, so that ranks of all hosts are among them,
/// drawn at random (the same everywhere), so that no step is shared with the layout of the mesh.
std::vector<int> ranks_to_count(int n_ranks) {
  const int every = (n_ranks + counted_ranks - 1) / counted_ranks;
  std::mt19937 random(1);
  std::vector<int> ranks;
  for (int first = 0; first < n_ranks; first += every) {
    const auto n = static_cast<std::mt19937::result_type>(std::min(every, n_ranks - first));
    ranks.push_back(first + static_cast<int>(random() % n));
  }
  return ranks;
}

double seconds_of(const Index3& grid, const Redistribution& move, std::int64_t real_bytes,
                  const machine::Wires& wires) {
  std::vector<double> values(wires.wires().size()), starts(2 * move.from.size());  // values: over each wire
  std::vector<std::int64_t> messages(wires.network().processors.empty() ? 0 : values.size());
  const auto counted = ranks_to_count(wires.n_ranks());
  const double share = static_cast<double>(counted.size()) / static_cast<double>(move.to.size());
  // Where some ranks are counted, all that these receive is known: they are taken to send as much.
  const bool is_complete = share == 1;
  for_messages(grid, move, counted, [&](const Message& m) {
    const auto n = static_cast<double>(m.values);
    const double latency = wires.latency(m.from, m.to);
    if (is_complete) starts[2 * static_cast<std::size_t>(m.from)] += latency;
    starts[2 * static_cast<std::size_t>(m.to) + 1] += latency;
    const auto path = wires.path(m.from, m.to);
    if (is_complete) values[static_cast<std::size_t>(path.front())] += n;
    for (const int wire : path.subspan(1, path.size() - 2)) values[static_cast<std::size_t>(wire)] += n / share;
    values[static_cast<std::size_t>(path.back())] += is_complete ? n : 2 * n;
    if (const int sends = wires.host_of(m.from), receives = wires.host_of(m.to); sends != receives && !messages.empty())
      for (const int host : {sends, receives})
        if (const int wire = wires.processors_of(host); wire >= 0) {
          values[static_cast<std::size_t>(wire)] += n / share;
          ++messages[static_cast<std::size_t>(wire)];
        }
  });
  double busiest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& wire = wires.wires()[i];
    double busy = values[i] * static_cast<double>(move.components * real_bytes) / wire.bandwidth;
    if (wire.is_processors) busy += static_cast<double>(messages[i]) / share * wire.per_message;
    busiest = std::max(busiest, busy);
  }
  return *std::max_element(starts.begin(), starts.end()) + busiest;
}

struct Order {
  std::string name;
  std::vector<int> places;  // by rank; empty: the rank's own number
};

/// Ranks[i] stands where the i-th step through the layout comes, direction `nearest` fastest.
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

std::vector<Order> orders_of(const Plan& plan, const machine::Wires& wires) {
  std::vector<Order> orders{{"as numbered", {}}};
  const int n_used = wires.n_hosts();
  const bool is_flat = wires.network().subnets.size() == 1 && n_used == wires.n_ranks();
  if (n_used == 1 || is_flat || wires.n_ranks() > most_ranks_to_order) return orders;

  Index3 dims{};  // as the schemes count places: the direction that is swept first is slowest
  for (std::size_t i = 0; i < 3; ++i) dims[i] = plan.processes[static_cast<std::size_t>(plan.problem.order[i])];
  const auto add = [&](std::string name, std::vector<int> places) {
    std::vector<int> own(places.size());
    std::iota(own.begin(), own.end(), 0);
    const bool is_known = places == own || std::any_of(orders.begin(), orders.end(),
                                                       [&](const Order& order) { return order.places == places; });
    if (!is_known) orders.push_back({std::move(name), std::move(places)});
  };
  const auto along = comm::collectives::topology_order(wires);
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

Prediction predict(const Plan& plan, std::int64_t real_bytes, const machine::Wires& wires) {
  // Wires are the same in both directions, and so are times but of the exchange with the user's own boxes.
  Prediction predicted;
  const auto forward = plan.forward();
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const double once = seconds_of(plan.problem.grid, forward[i], real_bytes, wires);
    const bool is_same = i > 0 || plan.problem.input == plan.problem.output;
    predicted.exchanges +=
        once + (is_same ? once : seconds_of(plan.problem.grid, plan.backward().back(), real_bytes, wires));
  }
  for (const auto& stage : plan.stages) {
    std::int64_t most = 0;
    for (const auto& box : stage.swept) most = std::max(most, box.size());
    // Read and written, forward and backward.
    predicted.passes += 4 * static_cast<double>(most * 2 * real_bytes) / bytes_per_second;
  }
  return predicted;
}

std::vector<Candidate> rank_schemes(const Problem& problem, std::int64_t real_bytes, const machine::Wires& wires,
                                    std::string_view only) {
  TESSERA_CHECK(wires.n_ranks() == problem.ranks);
  std::vector<Candidate> candidates;
  const auto layers = *std::max_element(problem.grid.begin(), problem.grid.end());
  for (const auto& scheme : schemes()) {
    if (only != "auto" && only != scheme.name) continue;
    // Slabs of more ranks than layers: ranks² messages, and nothing for most ranks to do.
    if (only == "auto" && scheme.plan == &plan_slab && problem.ranks > layers) continue;
    const auto plain = plan_transform(scheme.name, problem);
    std::vector<Candidate> found;
    for (auto& [name, places] : orders_of(plain, wires)) {
      auto& candidate = found.emplace_back(Candidate{plain, std::move(name), {}});
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
  if (candidates.empty()) (void)plan_transform(only, problem);  // says that there is no such scheme
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted.seconds() < b.predicted.seconds();
  });
  return candidates;
}

std::string text_of(const std::vector<Candidate>& candidates) {
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
