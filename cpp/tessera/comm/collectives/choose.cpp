#include "tessera/comm/collectives/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "tessera/comm/collectives/predict.h"

namespace tessera::comm::collectives {
namespace {

// A predicted gain smaller than this is within what the model can't tell. Short operations live by latency, where the
// library has ways that a plan has not (shared memory, hardware).
constexpr double least_gain = 1.05, least_gain_when_short = 1.3;
constexpr double short_in_latencies = 20;

// Libraries take longer than the best textbook algorithm at its best size of pieces: 1.2 times and more in all that was
// measured on switched networks (docs/guide/collectives.md), never less than this.
constexpr double library_over_textbook = 1.1;

// What MPI libraries choose from; they know ranks, not links.
constexpr std::array<std::string_view, 10> textbook{
    "binomial",           "k_ary", "ring",     "recursive_doubling", "recursive_halving",
    "scatter_all_gather", "bruck", "pairwise", "linear_scan",        "star"};

}  // namespace

double native_seconds(const Problem& problem, const machine::Wires& wires) {
  // Planned for ranks that are all alike on one switch, which keeps them in the order of the job, but priced on the
  // true network.
  std::vector<machine::Host> hosts(static_cast<std::size_t>(problem.n_ranks));
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].name = fmt::format("rank{}", i);
  std::vector<int> one_each(hosts.size());
  std::iota(one_each.begin(), one_each.end(), 0);
  const machine::Wires blind(machine::one_switch(hosts, {1e-5, 1e9}), one_each);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& entry : entries()) {
    if (std::find(textbook.begin(), textbook.end(), entry.name) == textbook.end() || !entry.can(problem)) continue;
    const auto parameters = entry.candidates(problem, blind).front();
    least = std::min(least, predict(entry.plan(problem, blind, parameters), problem, wires).seconds);
  }
  return library_over_textbook * least;
}

Choice choose(const Problem& problem, const machine::Wires& wires, const std::optional<std::string>& only) {
  Choice choice;
  if (only == "native") {
    choice.reason = "the MPI library's own was asked for";
    return choice;
  }
  if (problem.n_ranks == 1) {
    choice.reason = "one rank has nobody to talk to";
    return choice;
  }
  if (only) {
    if (!entry(*only).can(problem)) {
      choice.reason = fmt::format("{} can't do this {}; the MPI library does it", *only, name_of(problem.operation));
      return choice;
    }
  }
  const auto candidates = rank_candidates(problem, wires, only);
  if (candidates.empty()) {
    choice.reason = fmt::format("no entry can do this {}; the MPI library does it", name_of(problem.operation));
    return choice;
  }
  const auto& best = candidates.front();
  if (only) {
    choice.ours = best;
    choice.reason = fmt::format("{} was asked for", *only);
    return choice;
  }
  choice.native_seconds = native_seconds(problem, wires);
  if (!std::isfinite(choice.native_seconds)) {
    choice.native_seconds = 0;
    choice.reason = "nothing can be said of the MPI library's time";
    return choice;
  }
  const double gain = choice.native_seconds / best.seconds;
  const bool is_short = best.seconds < short_in_latencies * wires.network().subnets.front().link.latency;
  if (gain >= (is_short ? least_gain_when_short : least_gain)) {
    choice.ours = best;
    choice.reason = fmt::format("{} is predicted {:.2g} times as fast as the MPI library", best.entry->name, gain);
  } else {
    choice.reason = fmt::format("{} is predicted {:.2g} times as fast as the MPI library, which is no clear gain",
                                best.entry->name, gain);
  }
  return choice;
}

}  // namespace tessera::comm::collectives
