#include "tessera/fft/choose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "tessera/fft/schemes.h"

namespace tessera::fft {

namespace {

// bytes/s that a rank reads and writes while it transforms, where its values do not fit in cache. A constant, since it
// weighs passes and idle ranks against exchanges and is much the same on all machines of a decade.
constexpr double bytes_per_second = 5e9;

// Up to so many ranks every message is counted, which takes a tenth of a second; of more, those of about
// `counted_ranks`.
constexpr std::size_t most_ranks_to_count = 1024, counted_ranks = 256;

/// Ranks whose messages are counted: all, or those of whole hosts, so that their ports are counted to the end, spread
/// evenly in no step that the layout of the mesh might share (the golden ratio's).
std::vector<int> ranks_to_count(const machine::Wires& wires) {
  std::vector<int> ranks(static_cast<std::size_t>(wires.n_ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (ranks.size() <= most_ranks_to_count) return ranks;
  std::vector<std::vector<int>> by_host(wires.network().hosts.size());
  for (const int rank : ranks) by_host[static_cast<std::size_t>(wires.host_of(rank))].push_back(rank);
  std::erase_if(by_host, [](const auto& list) { return list.empty(); });
  ranks.clear();
  constexpr double step = 0.6180339887498949;
  double place = 0;
  for (; ranks.size() < counted_ranks; place = std::fmod(place + step, 1)) {
    auto& mine = by_host[static_cast<std::size_t>(place * static_cast<double>(by_host.size()))];
    ranks.insert(ranks.end(), mine.begin(), mine.end());
    mine.clear();
  }
  return ranks;
}

double seconds_of(const Index3& grid, const Redistribution& move, std::int64_t real_bytes,
                  const machine::Wires& wires) {
  std::vector<double> busy(wires.wires().size()), starts(2 * move.from.size());
  const auto add = [&](int from, int to, std::int64_t values) {
    const auto bytes = static_cast<double>(values * move.components * real_bytes);
    const double latency = wires.latency(from, to);
    starts[2 * static_cast<std::size_t>(from)] += latency;
    starts[2 * static_cast<std::size_t>(to) + 1] += latency;
    for (const int wire : wires.path(from, to))
      busy[static_cast<std::size_t>(wire)] += bytes / wires.wires()[static_cast<std::size_t>(wire)].bandwidth;
  };
  const auto counted = ranks_to_count(wires);
  for_messages(grid, move, counted, [&](const Message& m) { add(m.from, m.to, m.values); });
  if (counted.size() < move.to.size()) {
    std::vector<char> is_counted(move.to.size());
    for (const int rank : counted) is_counted[static_cast<std::size_t>(rank)] = 1;
    for_messages(grid, {move.to, move.from, move.components}, counted, [&](const Message& m) {
      if (is_counted[static_cast<std::size_t>(m.from)] == 0) add(m.to, m.from, m.values);
    });
    // Subnets are taken to be alike: each wire of theirs has the mean of those as fast, of all messages whose share has
    // been seen.
    const double share = static_cast<double>(counted.size()) / static_cast<double>(move.to.size());
    std::map<double, std::pair<double, double>> alike;  // by bandwidth: how busy, how many
    for (std::size_t i = 0; i < busy.size(); ++i)
      if (const auto& wire = wires.wires()[i]; wire.is_of_subnet) {
        auto& [sum, n] = alike[wire.bandwidth];
        sum += std::exchange(busy[i], 0.0);
        ++n;
      }
    for (const auto& [bandwidth, sum_n] : alike) busy.push_back(sum_n.first / sum_n.second / (share * (2 - share)));
  }
  const auto most = [](const std::vector<double>& list) {
    return list.empty() ? 0.0 : *std::max_element(list.begin(), list.end());
  };
  return most(starts) + most(busy);
}

}  // namespace

double predict(const Plan& plan, std::int64_t real_bytes, const machine::Wires& wires) {
  // Wires are the same in both directions, and so are times but of the exchange with the user's own boxes.
  double seconds = 0;
  const auto forward = plan.forward();
  for (std::size_t i = 0; i < forward.size(); ++i) {
    const double once = seconds_of(plan.problem.grid, forward[i], real_bytes, wires);
    const bool is_same = i > 0 || plan.problem.input == plan.problem.output;
    seconds += once + (is_same ? once : seconds_of(plan.problem.grid, plan.backward().back(), real_bytes, wires));
  }
  for (const auto& stage : plan.stages) {
    std::int64_t most = 0;
    for (const auto& box : stage.swept) most = std::max(most, box.size());
    // Read and written, forward and backward.
    seconds += 4 * static_cast<double>(most * 2 * real_bytes) / bytes_per_second;
  }
  return seconds;
}

std::vector<Candidate> rank_schemes(const Problem& problem, std::int64_t real_bytes, const machine::Wires& wires) {
  std::vector<Candidate> candidates;
  for (const auto& scheme : schemes()) {
    // Slabs of more ranks than layers: ranks² messages, and nothing for most ranks to do.
    const auto layers = *std::max_element(problem.grid.begin(), problem.grid.end());
    if (scheme.plan == &plan_slab && problem.ranks > layers) continue;
    Candidate candidate{scheme.plan(problem), 0};
    candidate.seconds = predict(candidate.plan, real_bytes, wires);
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  return candidates;
}

machine::Wires wires_of_one_host(int ranks) {
  machine::Host host;
  host.name = "host";
  host.slots = ranks;
  return {machine::one_switch({host}, machine::Wires::unmeasured_inside),
          std::vector<int>(static_cast<std::size_t>(ranks))};
}

}  // namespace tessera::fft
