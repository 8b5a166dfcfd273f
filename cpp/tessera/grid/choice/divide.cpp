#include "tessera/grid/choice/divide.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "tessera/base/error.h"
#include "tessera/machine/orders.h"

namespace tessera::grid {

namespace {

/// Returns the layout of a domain, if each box is as long as the halo reaches along its edge, where that is cut.
std::optional<GridLayout> layout_of(const DivisionProblem& problem, int ranks, const machine::Wires& wires) {
  const auto processes = choose_processes(problem.shape, problem.is_periodic, ranks);
  if (processes[0] * processes[1] * processes[2] != ranks) return std::nullopt;
  for (std::size_t d = 0; d < 3; ++d)
    if (processes[d] > 1 &&
        problem.shape[d] / processes[d] < std::max(problem.halo.reach[0][d], problem.halo.reach[1][d]))
      return std::nullopt;
  return plan_layout(problem.shape, problem.is_periodic, ranks, processes, &wires);
}

double orthogonalisation(const DivisionProblem& problem, const Division& division, int domain,
                         const machine::Wires& wires, const IterationRates& iteration) {
  const auto bands = static_cast<double>(problem.bands), groups = static_cast<double>(division.bands);
  const double points =
      static_cast<double>(problem.shape[0] * problem.shape[1]) * static_cast<double>(problem.shape[2]);
  const double of_number = problem.bytes > 8 ? 4 : 1;
  double seconds = of_number * 4 * bands * bands * points / (domain * groups) / iteration.flops;
  if (division.bands > 1)  // the bands of one group to the next, twice around
    seconds +=
        2 * (groups - 1) * wires.time(0, domain, bands / groups * points / domain * static_cast<double>(problem.bytes));
  if (domain > 1) {
    const double numbers = bands * bands / groups * static_cast<double>(problem.bytes);
    const int last = domain - 1;
    const double latency = wires.latency(0, last);
    seconds += 2 * (std::bit_width(static_cast<unsigned>(last)) * latency + wires.time(0, last, numbers) - latency);
  }
  return seconds;
}

}  // namespace

std::vector<Division> rank_divisions(const DivisionProblem& problem, const machine::Network& network, int ranks,
                                     const CoreRates& rates, const IterationRates& iteration) {
  const auto wires = wires_of_threads(network, ranks, 1);
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < ranks; ++rank) host_of_rank.push_back(wires.host_of(rank));
  std::vector<Division> found;
  for (int domain = 1; domain <= ranks; ++domain) {
    if (ranks % domain != 0) continue;
    const int groups = ranks / domain;
    std::vector<std::pair<int, int>> divisions;  // groups of k-points and of bands
    for (int kpoints = 1; kpoints <= std::min<std::int64_t>(groups, problem.kpoints); ++kpoints)
      if (groups % kpoints == 0 && problem.bands % (groups / kpoints) == 0)
        divisions.emplace_back(kpoints, groups / kpoints);
    if (divisions.empty()) continue;
    const machine::Wires of_domain(wires.network(),
                                   std::vector<int>(host_of_rank.begin(), host_of_rank.begin() + domain));
    const auto layout = layout_of(problem, domain, of_domain);
    if (!layout) continue;
    const auto cost = cost_of_layout(*layout, problem.halo, problem.bytes, wires, rates);
    for (const auto& [kpoints, bands] : divisions) {
      Division one{kpoints, bands, layout->processes, {}, 0, 0};
      one.choice = choose_batches(find_model("flat-optimized"), cost.field, problem.bands / bands, 1);
      const auto turns = static_cast<double>((problem.kpoints + kpoints - 1) / kpoints);
      one.stencils = turns * iteration.stencils * one.choice.predicted.seconds();
      one.orthogonalisation = turns * orthogonalisation(problem, one, domain, wires, iteration);
      found.push_back(one);
    }
  }
  if (found.empty())
    throw InputError(fmt::format(
        "{} ranks can't be divided over {} k-points, {} bands and a grid of {} × {} × {} points; expected groups of "
        "equally many bands, and boxes at least as long as the stencil reaches: give another number of ranks (-n)",
        ranks, problem.kpoints, problem.bands, problem.shape[0], problem.shape[1], problem.shape[2]));
  std::stable_sort(found.begin(), found.end(),
                   [](const Division& a, const Division& b) { return a.seconds() < b.seconds(); });
  return found;
}

}  // namespace tessera::grid
