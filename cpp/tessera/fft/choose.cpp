#include "tessera/fft/choose.h"

#include <algorithm>

#include "tessera/fft/schemes.h"

namespace tessera::fft {

namespace {

// bytes/s that a rank reads and writes while it transforms, where its values do not fit in cache. A constant, since it
// weighs passes and idle ranks against exchanges and is much the same on all machines of a decade.
constexpr double bytes_per_second = 5e9;

double seconds_of(const Index3& grid, const Redistribution& move, std::int64_t real_bytes,
                  const machine::Wires& wires) {
  std::vector<double> busy(wires.wires().size()), starts(2 * move.from.size());
  for_messages(grid, move, 0, static_cast<int>(move.to.size()), [&](const Message& message) {
    const auto bytes = static_cast<double>(message.values * move.components * real_bytes);
    const double latency = wires.latency(message.from, message.to);
    starts[2 * static_cast<std::size_t>(message.from)] += latency;
    starts[2 * static_cast<std::size_t>(message.to) + 1] += latency;
    for (const int wire : wires.path(message.from, message.to))
      busy[static_cast<std::size_t>(wire)] += bytes / wires.wires()[static_cast<std::size_t>(wire)].bandwidth;
  });
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
