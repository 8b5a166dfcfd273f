// Rings and chains in topology order: every rank communicates with its two neighbours only, and every link carries the
// vector once. Broadcast by scatter and all-gather: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, "Building a
// high-performance collective communication library", 1994.
#include <algorithm>

#include "tessera/base/index.h"
#include "tessera/collectives/classical/entries.h"
#include "tessera/collectives/classical/tree.h"
#include "tessera/collectives/predict.h"

namespace tessera::collectives {
namespace {

/// Calls `send` for the n−1 steps of a ring; in step s position v sends the part of position `first(v, s)` to v+1.
template <class Send>
void around(const std::vector<int>& order, int lag, Send&& send_part) {
  const auto n = order.size();
  for (std::size_t step = 0; step + 1 < n; ++step)
    for (std::size_t v = 0; v < n; ++v)
      send_part(v, (v + 1) % n, (v + 2 * n - step - static_cast<std::size_t>(lag)) % n);
}

/// Moves each part round the ring to its own rank, from the position behind it, and combines it with all contributions.
void add_ring_reduce_scatter(MessagePlan& plan, const CollectiveProblem& problem, const Parameters& parameters,
                             const std::vector<int>& order, const std::vector<ElementRange>& parts) {
  around(order, 1, [&](std::size_t from, std::size_t to, std::size_t owner) {
    send(plan, order[from], order[to], pieces(parts[at(order[owner])], problem.element_bytes, parameters.segment),
         combine(problem, order[from], order[to]));
  });
}

/// Sends each part from its own rank to all. Position v already has `held[v]` parts: its own and those of the following
/// positions.
void add_ring_all_gather(MessagePlan& plan, const CollectiveProblem& problem, const Parameters& parameters,
                         const std::vector<int>& order, const std::vector<ElementRange>& parts,
                         const std::vector<std::size_t>& held) {
  const auto n = order.size();
  around(order, 0, [&](std::size_t from, std::size_t to, std::size_t owner) {
    if ((owner + n - to) % n >= held[to])
      send(plan, order[from], order[to], pieces(parts[at(order[owner])], problem.element_bytes, parameters.segment),
           Effect::replace);
  });
}

/// Tells whether so many rounds take few enough messages.
bool can_go_around(const CollectiveProblem& problem, std::size_t times) {
  const auto n = at(problem.n_ranks);
  return times * n * (n - 1) <= most_messages;
}

bool is_chain(Operation operation) { return operation == Operation::broadcast || operation == Operation::reduce; }

bool can_ring(const CollectiveProblem& problem, const machine::Wires&) {
  if (is_chain(problem.operation)) return true;
  switch (problem.operation) {
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_reduce:
      // Contributions come in the order of the ring, beginning at the position where the part started.
      return !keeps_rank_order(problem) && can_go_around(problem, problem.operation == Operation::all_reduce ? 2 : 1);
    default:
      return false;
  }
}

MessagePlan plan_ring(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters) {
  if (is_chain(problem.operation)) {
    MessagePlan plan{describe("ring", {"chain", segment_text(parameters)}), {}, 0};
    add_tree(plan, problem, k_ary_tree(problem, wires, 1, 0), parameters);
    return plan;
  }
  MessagePlan plan{parameters.segment > 0 ? describe("ring", {segment_text(parameters)}) : "ring", {}, 0};
  const auto order = topology_order(wires);
  const bool is_whole = problem.operation == Operation::all_reduce;
  const auto parts = is_whole ? split(problem, order) : blocks_of(problem);
  if (problem.reduces()) add_ring_reduce_scatter(plan, problem, parameters, order, parts);
  if (problem.operation != Operation::reduce_scatter)
    add_ring_all_gather(plan, problem, parameters, order, parts, std::vector<std::size_t>(order.size(), 1));
  return plan;
}

std::vector<Parameters> ring_candidates(const CollectiveProblem& problem, const machine::Wires&) {
  if (is_chain(problem.operation)) return with_segments(problem, {});
  std::vector<Parameters> candidates{{}};
  if (problem.offsets().back() * problem.element_bytes / problem.n_ranks > most_unasked)
    candidates.emplace_back().segment = 32768;
  return candidates;
}

bool can_scatter_all_gather(const CollectiveProblem& problem, const machine::Wires&) {
  return is_chain(problem.operation) && !keeps_rank_order(problem) && can_go_around(problem, 1);
}

MessagePlan plan_scatter_all_gather(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters&) {
  MessagePlan plan{"scatter_all_gather", {}, 0};
  const auto order = order_from(problem.root, wires);
  const auto parts = split(problem, order);
  const auto tree = binomial_tree(problem, wires);
  if (problem.operation == Operation::reduce) {
    add_ring_reduce_scatter(plan, problem, {}, order, parts);
    add_gather(plan, tree, parts);
    return plan;
  }
  add_scatter(plan, tree, parts);
  // After the scatter, position v has the parts of all below it in the binomial tree: as many as its lowest set bit
  // says.
  std::vector<std::size_t> held{order.size()};
  for (std::size_t v = 1; v < order.size(); ++v) held.push_back(std::min(v & -v, order.size() - v));
  add_ring_all_gather(plan, problem, {}, order, parts, held);
  return plan;
}

std::vector<Parameters> one_candidate(const CollectiveProblem&, const machine::Wires&) { return {{}}; }

}  // namespace

const Entry ring_entry{
    "ring", "to the next neighbour in topology order: ring, or pipelined chain (Lowekamp and Beguelin 1995, §6)",
    can_ring, plan_ring, ring_candidates};
const Entry scatter_all_gather_entry{"scatter_all_gather",
                                     "broadcast as scatter and ring all-gather, reduce as their reverse (van de Geijn)",
                                     can_scatter_all_gather, plan_scatter_all_gather, one_candidate};

}  // namespace tessera::collectives
