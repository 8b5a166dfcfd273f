// Every block goes straight from its rank to its destination, in rounds in which each rank sends to one other rank and
// receives from one other rank.
#include "tessera/base/index.h"
#include "tessera/collectives/classical/build.h"
#include "tessera/collectives/classical/entries.h"

namespace tessera::collectives {
namespace {

bool can(const CollectiveProblem& problem, const machine::Wires&) {
  const auto n = static_cast<std::size_t>(problem.n_ranks);
  if (n * (n - 1) > most_messages) return false;
  return problem.operation == Operation::all_to_all || problem.operation == Operation::all_gather ||
         problem.operation == Operation::reduce_scatter;
}

/// Adds messages such that contributions reach each block in the order of their distance from its rank, on either side,
/// which keeps operands in order.
void add_in_rank_order(MessagePlan& plan, const CollectiveProblem& problem, const std::vector<ElementRange>& blocks) {
  for (int distance = 1; distance < problem.n_ranks; ++distance)
    for (int low = 0; low + distance < problem.n_ranks; ++low) {
      const int high = low + distance;
      send(plan, low, high, blocks[at(high)], combine(problem, low, high));
      send(plan, high, low, blocks[at(low)], combine(problem, high, low));
    }
}

MessagePlan plan(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters&) {
  MessagePlan made{"pairwise", {}, 0};
  const auto blocks = blocks_of(problem);
  if (keeps_rank_order(problem)) {
    add_in_rank_order(made, problem, blocks);
    return made;
  }
  const auto order = topology_order(wires);
  for (std::size_t distance = 1; distance < order.size(); ++distance)
    for (std::size_t position = 0; position < order.size(); ++position) {
      const int from = order[position], to = order[(position + distance) % order.size()];
      const auto& theirs = blocks[at(to)];
      const auto& own = blocks[at(from)];
      switch (problem.operation) {
        case Operation::all_to_all:
          add(made, {.from = from,
                     .to = to,
                     .source = Buffer::input,
                     .begin = theirs.begin,
                     .at = own.begin,
                     .length = own.length});
          break;
        case Operation::all_gather:
          send(made, from, to, own, Effect::replace);
          break;
        default:
          send(made, from, to, theirs, combine(problem, from, to));
      }
    }
  return made;
}

std::vector<Parameters> candidates(const CollectiveProblem&, const machine::Wires&) { return {{}}; }

}  // namespace

const Entry pairwise_entry{"pairwise", "every block straight to its place, in rounds of disjoint pairs", can, plan,
                           candidates};

}  // namespace tessera::collectives
