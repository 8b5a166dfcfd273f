// Recursive doubling and halving along the dimensions of a hypercube: the vector distributed global sum of Borštnik et
// al. (2004) is reduce-scatter by halving, their broadcast all-gather by doubling; Lowekamp and Beguelin (1995) call
// such patterns of CHARMM butterflies. All-reduce by both: Rabenseifner, "Optimization of collective reduction
// operations", 2004. Ranks beyond a power of two are represented by a neighbour.
#include "tessera/base/index.h"
#include "tessera/collectives/classical/entries.h"
#include "tessera/collectives/classical/hypercube.h"

namespace tessera::collectives {
namespace {

/// Adds messages in which folded ranks send their data to their corner, or receive their part from it.
template <class What>
void add_fold(MessagePlan& plan, const CollectiveProblem& problem, const Hypercube& cube, What&& what) {
  for (std::size_t corner = 0; corner < cube.size(); ++corner)
    if (const int rank = cube.folded[corner]; rank >= 0)
      send(plan, rank, cube.corners[corner], what(rank), combine(problem, rank, cube.corners[corner]));
}

template <class What>
void add_unfold(MessagePlan& plan, const Hypercube& cube, What&& what) {
  for (std::size_t corner = 0; corner < cube.size(); ++corner)
    if (const int rank = cube.folded[corner]; rank >= 0)
      send(plan, cube.corners[corner], rank, what(rank), Effect::replace);
}

/// Adds a message of the whole vector, in buffers that hold it from `begin` and from `at` on.
PlannedMessage vector_message(std::int64_t length, int from, int to, Effect effect, Buffer source, std::int64_t begin,
                              Buffer target, std::int64_t at) {
  return {from, to, effect, source, target, begin, at, length};
}

/// Adds the exchanges of recursive doubling. Both ranks of a pair send before either combines, so what arrives waits in
/// scratch. Pairs of successive steps use two places in turn, so that nobody waits for a slow neighbour's last step.
void add_exchanges(MessagePlan& plan, const CollectiveProblem& problem, const Hypercube& cube) {
  const auto length = whole(problem).length;
  plan.scratch = cube.dimensions.empty() ? 0 : 2 * length;
  for (std::size_t step = 0; step < cube.dimensions.size(); ++step) {
    const auto at = static_cast<std::int64_t>(step % 2) * length;
    for (std::size_t corner = 0; corner < cube.size(); ++corner)
      add(plan, vector_message(length, cube.corners[corner], cube.corners[cube.neighbour(corner, step)],
                               Effect::replace, Buffer::output, 0, Buffer::scratch, at));
    for (std::size_t corner = 0; corner < cube.size(); ++corner) {
      const int rank = cube.corners[corner], other = cube.corners[cube.neighbour(corner, step)];
      add(plan,
          vector_message(length, rank, rank, combine(problem, other, rank), Buffer::scratch, at, Buffer::output, 0));
    }
  }
}

/// Adds the scan of Hillis and Steele, 1986: after the step of distance d every rank has the sum of the 2d ranks up to
/// itself. In an exclusive scan that sum is kept in scratch, and the result combines only what was received.
void add_scan(MessagePlan& plan, const CollectiveProblem& problem) {
  const auto length = whole(problem).length;
  const bool is_exclusive = problem.operation == Operation::exscan;
  const auto sum = is_exclusive ? Buffer::scratch : Buffer::output;
  const auto sum_at = is_exclusive ? 2 * length : 0;  // after two places for what comes
  plan.scratch = (is_exclusive ? 3 : 2) * length;
  for (int rank = 0; is_exclusive && rank + 1 < problem.n_ranks; ++rank)
    add(plan, vector_message(length, rank, rank, Effect::replace, Buffer::output, 0, sum, sum_at));
  std::int64_t at = 0;
  for (int distance = 1; distance < problem.n_ranks; distance *= 2) {
    for (int rank = 0; rank + distance < problem.n_ranks; ++rank)
      add(plan, vector_message(length, rank, rank + distance, Effect::replace, sum, sum_at, Buffer::scratch, at));
    for (int rank = distance; rank < problem.n_ranks; ++rank) {
      const auto add_here = [&](Effect effect, Buffer target, std::int64_t target_at) {
        add(plan, vector_message(length, rank, rank, effect, Buffer::scratch, at, target, target_at));
      };
      const bool will_send = rank + 2 * distance < problem.n_ranks;
      if (!is_exclusive || will_send) add_here(Effect::combine_left, sum, sum_at);
      if (is_exclusive) add_here(distance == 1 ? Effect::replace : Effect::combine_left, Buffer::output, 0);
    }
    at = length - at;
  }
}

bool can_doubling(const CollectiveProblem& problem, const machine::Wires&) {
  switch (problem.operation) {
    case Operation::barrier:
    case Operation::all_reduce:
    case Operation::all_gather:
    case Operation::scan:
    case Operation::exscan:
      return true;
    default:
      return false;
  }
}

MessagePlan plan_doubling(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters&) {
  MessagePlan plan{"recursive_doubling", {}, 0};
  if (problem.operation == Operation::scan || problem.operation == Operation::exscan) {
    add_scan(plan, problem);
    return plan;
  }
  const auto cube = make_hypercube(problem, wires);
  const auto all = [all = whole(problem)](int) { return all; };
  if (problem.operation == Operation::all_gather) {
    const auto blocks = blocks_of(problem);
    add_fold(plan, problem, cube, [&](int rank) { return blocks[at(rank)]; });
    HypercubeParts(cube, blocks).add_doubling(plan);
  } else {
    add_fold(plan, problem, cube, all);
    add_exchanges(plan, problem, cube);
  }
  add_unfold(plan, cube, all);
  return plan;
}

bool can_halving(const CollectiveProblem& problem, const machine::Wires&) {
  switch (problem.operation) {
    case Operation::reduce_scatter:
    case Operation::all_reduce:
    case Operation::reduce:
    case Operation::broadcast:
      return true;
    default:
      return false;
  }
}

MessagePlan plan_halving(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters&) {
  MessagePlan plan{"recursive_halving", {}, 0};
  const auto cube = make_hypercube(problem, wires);
  const auto all = [all = whole(problem)](int) { return all; };
  const bool has_blocks = problem.operation == Operation::reduce_scatter;
  const auto parts = has_blocks ? blocks_of(problem) : split(problem, cube);
  const HypercubeParts cube_parts(cube, parts);
  if (problem.reduces()) {
    add_fold(plan, problem, cube, all);
    cube_parts.add_halving(plan, problem);
  } else {
    cube_parts.add_scatter(plan, cube.corner_of(problem.root));
  }
  switch (problem.operation) {
    case Operation::reduce_scatter:
      add_unfold(plan, cube, [&](int rank) { return parts[at(rank)]; });
      break;
    case Operation::reduce:
      cube_parts.add_gather(plan, cube.corner_of(problem.root));
      break;
    default:
      cube_parts.add_doubling(plan);
      add_unfold(plan, cube, all);
  }
  return plan;
}

std::vector<Parameters> candidates(const CollectiveProblem&, const machine::Wires&) { return {{}}; }

}  // namespace

const Entry recursive_doubling_entry{"recursive_doubling",
                                     "exchange with the neighbour in each dimension of a hypercube", can_doubling,
                                     plan_doubling, candidates};
const Entry recursive_halving_entry{
    "recursive_halving",
    "halves of the vector across each dimension, the nearest first (Borštnik et al. 2004, §2), and back", can_halving,
    plan_halving, candidates};

}  // namespace tessera::collectives
