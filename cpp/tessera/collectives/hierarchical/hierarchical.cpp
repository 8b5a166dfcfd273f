#include "tessera/collectives/hierarchical/hierarchical.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "tessera/base/index.h"
#include "tessera/collectives/classical/build.h"

namespace tessera::collectives {
namespace {

bool are_hosts_consecutive(const CollectiveProblem& problem, const machine::Wires& wires) {
  for (int rank = 0; rank < problem.n_ranks; ++rank) {
    const auto ranks = wires.ranks_on(wires.host_of(rank));
    if (ranks.back() - ranks.front() + 1 != static_cast<int>(ranks.size())) return false;
  }
  return true;
}

/// The part of the problem that is solved between the leaders.
struct Between {
  std::vector<int> leaders;   // of the hosts in the order of their lowest ranks
  CollectiveProblem problem;  // the leaders are its ranks, the blocks of a host's ranks together are its blocks
  machine::Wires wires;
};

Between make_between(const CollectiveProblem& problem, const machine::Wires& wires) {
  const auto offsets = problem.offsets();
  auto outer = problem;
  outer.root = 0;
  if (has_blocks_by_rank(problem.operation)) outer.blocks.clear();
  std::vector<int> leaders, hosts;
  for (int rank = 0; rank < problem.n_ranks; ++rank) {
    const int host = wires.host_of(rank);
    const auto ranks = wires.ranks_on(host);
    if (ranks.front() != rank) continue;
    if (has_root(problem.operation) && wires.host_of(problem.root) == host) outer.root = static_cast<int>(hosts.size());
    if (has_blocks_by_rank(problem.operation))
      outer.blocks.push_back(offsets[at(ranks.back()) + 1] - offsets[at(rank)]);
    leaders.push_back(leader_of(problem, wires, host));
    hosts.push_back(host);
  }
  outer.n_ranks = static_cast<int>(hosts.size());
  return {std::move(leaders), std::move(outer), {wires.network(), hosts}};
}

/// Returns whether an entry can run between hosts. A plan between hosts finds in the output what was collected and
/// leaves there what is to be distributed; Bruck's barrier keeps its notices in scratch instead, so it does not fit.
bool fits_between(const Entry& entry, const Between& between) {
  return entry.can(between.problem, between.wires) &&
         (between.problem.operation != Operation::barrier || entry.name != std::string_view("bruck"));
}

/// Splits the pattern into the entry that it begins with and that entry's parameters.
std::pair<const Entry*, Parameters> entry_between(Parameters parameters, const Between& between) {
  const auto comma = parameters.pattern.find(',');
  const auto name = parameters.pattern.substr(0, comma);
  parameters.pattern = comma == std::string::npos ? "" : parameters.pattern.substr(comma + 1);
  for (const auto& known : entries())
    if (name == known.name && fits_between(known, between)) return {&known, parameters};
  return {&entry("binomial"), parameters};
}

struct HostTreeEdge {
  int parent = 0, child = 0;
  ElementRange below;  // the blocks of the child and of all below it, of operations that have blocks by rank
};

/// Returns the tree inside a host; MPI libraries are assumed to use a binomial one. Edges are listed round by round,
/// towards the leader. Ranks above and below the leader form separate arms, so that partial results are of neighbouring
/// ranks.
std::vector<HostTreeEdge> tree_inside(const CollectiveProblem& problem, std::span<const int> ranks, int leader) {
  const auto offsets = problem.offsets();
  const auto middle = std::find(ranks.begin(), ranks.end(), leader);
  const std::vector<int> above(middle, ranks.end()), below(std::make_reverse_iterator(middle + 1), ranks.rend());
  std::vector<HostTreeEdge> edges;
  for (const auto& arm : {above, below})
    for (std::size_t bit = 1; bit < arm.size(); bit *= 2)
      for (std::size_t v = bit; v < arm.size(); v += 2 * bit) {
        auto& edge = edges.emplace_back(HostTreeEdge{arm[v - bit], arm[v], {}});
        if (!has_blocks_by_rank(problem.operation)) continue;  // else the leader is the lowest
        const auto begin = offsets[at(arm[v])], end = offsets[at(arm[std::min(v + bit, arm.size()) - 1]) + 1];
        edge.below = {begin, end - begin};
      }
  return edges;
}

}  // namespace

int leader_of(const CollectiveProblem& problem, const machine::Wires& wires, int host) {
  if (has_root(problem.operation) && wires.host_of(problem.root) == host) return problem.root;
  return wires.ranks_on(host).front();
}

bool can_hierarchical(const CollectiveProblem& problem, const machine::Wires& wires) {
  switch (problem.operation) {
    case Operation::scatter:
    case Operation::gather:
    case Operation::all_to_all:
    case Operation::scan:
    case Operation::exscan:
      return false;
    default:
      break;
  }
  if (wires.n_hosts() < 2 || wires.n_hosts() == problem.n_ranks) return false;
  if (problem.offsets().back() > std::numeric_limits<int>::max()) return false;  // MPI 3 counts no further
  return !(has_blocks_by_rank(problem.operation) || keeps_rank_order(problem)) || are_hosts_consecutive(problem, wires);
}

MessagePlan plan_hierarchical(const CollectiveProblem& problem, const machine::Wires& wires,
                              const Parameters& parameters) {
  const auto between = make_between(problem, wires);
  const auto [entry, chosen] = entry_between(parameters, between);
  auto plan = entry->plan(between.problem, between.wires, chosen);
  for (auto& message : plan.messages) {
    message.from = between.leaders[at(message.from)];
    message.to = between.leaders[at(message.to)];
  }
  const auto operation = problem.operation;
  MessagePlan collect, distribute;
  for (const int leader : between.leaders) {
    const auto edges = tree_inside(problem, wires.ranks_on(wires.host_of(leader)), leader);
    if (operation != Operation::broadcast)
      for (const auto& [parent, child, below] : edges)
        send(collect, child, parent, operation == Operation::all_gather ? below : whole(problem),
             combine(problem, child, parent));
    if (operation != Operation::reduce)
      for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge)
        send(distribute, edge->parent, edge->child,
             operation == Operation::reduce_scatter ? edge->below : whole(problem), Effect::replace);
  }
  plan.entry = fmt::format("hierarchical({})", plan.entry);
  plan.n_collected = collect.messages.size();
  plan.n_distributed = distribute.messages.size();
  plan.messages.insert(plan.messages.begin(), collect.messages.begin(), collect.messages.end());
  plan.messages.insert(plan.messages.end(), distribute.messages.begin(), distribute.messages.end());
  return plan;
}

std::vector<Parameters> candidates_hierarchical(const CollectiveProblem& problem, const machine::Wires& wires) {
  // Stages follow each other, so the fastest plan between hosts is part of the fastest plan.
  const auto between = make_between(problem, wires);
  const auto ranked = rank_candidates(between.problem, between.wires, std::nullopt, 1);
  const auto best =
      std::find_if(ranked.begin(), ranked.end(), [&](auto& c) { return fits_between(*c.entry, between); });
  if (best == ranked.end()) return {{}};
  auto parameters = best->parameters;
  parameters.pattern = best->entry->name + (parameters.pattern.empty() ? "" : "," + parameters.pattern);
  return {parameters};
}

}  // namespace tessera::collectives
