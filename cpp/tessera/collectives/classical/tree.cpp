#include "tessera/collectives/classical/tree.h"

#include <algorithm>

#include "tessera/base/index.h"

namespace tessera::collectives {
namespace {

struct Branch {
  std::span<const int> sequence;
  int depth;  // levels left; 0: no limit
};

void add_down(MessagePlan& plan, const RankTree& tree, const std::vector<int>& downwards, const ElementRange& range) {
  for (const int rank : downwards)
    if (rank != tree.root) send(plan, tree.parent[at(rank)], rank, range, Effect::replace);
}

void add_up(MessagePlan& plan, const CollectiveProblem& problem, const RankTree& tree,
            const std::vector<int>& downwards, const ElementRange& range) {
  for (auto rank = downwards.rbegin(); rank != downwards.rend(); ++rank)
    if (*rank != tree.root) {
      const int parent = tree.parent[at(*rank)];
      send(plan, *rank, parent, range, combine(problem, *rank, parent));
    }
}

/// Returns, for each rank, its part and the parts of all ranks below it.
std::vector<std::vector<ElementRange>> parts_below(const RankTree& tree, const std::vector<int>& downwards,
                                                   const std::vector<ElementRange>& parts) {
  std::vector<std::vector<ElementRange>> below(parts.size());
  for (auto rank = downwards.rbegin(); rank != downwards.rend(); ++rank) {
    auto& own = below[at(*rank)];
    own.push_back(parts[at(*rank)]);
    own = runs(std::move(own));
    if (*rank == tree.root) continue;
    auto& above = below[at(tree.parent[at(*rank)])];
    above.insert(above.end(), own.begin(), own.end());
  }
  return below;
}

}  // namespace

RankTree::RankTree(int n_ranks, int root_rank) : root(root_rank), parent(at(n_ranks), -1), children(at(n_ranks)) {}

void RankTree::attach(int child, int to) {
  parent[at(child)] = to;
  children[at(to)].push_back(child);
}

std::vector<int> RankTree::downwards() const {
  std::vector<int> order, waiting{root};
  while (!waiting.empty()) {
    const int rank = waiting.back();
    waiting.pop_back();
    order.push_back(rank);
    waiting.insert(waiting.end(), children[at(rank)].begin(), children[at(rank)].end());
  }
  return order;
}

void grow_k_ary(RankTree& tree, std::span<const int> sequence, int degree, int depth) {
  std::vector<Branch> waiting{{sequence, depth}};
  while (!waiting.empty()) {
    const auto piece = waiting.back();
    waiting.pop_back();
    const int top = piece.sequence.front();
    auto rest = piece.sequence.subspan(1);
    for (auto n_left = piece.depth == 1 ? rest.size() : at(degree); !rest.empty(); --n_left) {
      const auto length = (rest.size() + n_left - 1) / n_left;
      tree.attach(rest.front(), top);
      waiting.push_back({rest.first(length), std::max(piece.depth - 1, 0)});
      rest = rest.subspan(length);
    }
  }
}

void grow_binomial(RankTree& tree, std::span<const int> sequence) {
  for (std::size_t position = 1; position < sequence.size(); ++position)
    tree.attach(sequence[position], sequence[position & (position - 1)]);
}

std::vector<std::vector<int>> arms(const CollectiveProblem& problem, const machine::Wires& wires) {
  const int root = root_of(problem, wires);
  if (!keeps_rank_order(problem)) return {order_from(root, wires)};
  std::vector<std::vector<int>> up_and_down(2);
  for (int rank = root; rank < problem.n_ranks; ++rank) up_and_down[0].push_back(rank);
  for (int rank = root; rank >= 0; --rank) up_and_down[1].push_back(rank);
  return up_and_down;
}

RankTree k_ary_tree(const CollectiveProblem& problem, const machine::Wires& wires, int degree, int depth) {
  RankTree tree(problem.n_ranks, root_of(problem, wires));
  for (const auto& arm : arms(problem, wires)) grow_k_ary(tree, arm, degree, depth);
  return tree;
}

RankTree binomial_tree(const CollectiveProblem& problem, const machine::Wires& wires) {
  RankTree tree(problem.n_ranks, root_of(problem, wires));
  for (const auto& arm : arms(problem, wires)) grow_binomial(tree, arm);
  return tree;
}

std::vector<Parameters> tree_candidates(const CollectiveProblem& problem, const machine::Wires&) {
  switch (problem.operation) {
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::all_reduce:
      return with_segments(problem, {});
    default:
      return {{}};
  }
}

bool can_on_tree(const CollectiveProblem& problem, const machine::Wires&) {
  switch (problem.operation) {
    case Operation::all_to_all:  // p² blocks would meet at the root
    case Operation::scan:
    case Operation::exscan:
      return false;
    default:
      return true;
  }
}

void add_tree(MessagePlan& plan, const CollectiveProblem& problem, const RankTree& tree, const Parameters& parameters) {
  const auto downwards = tree.downwards();
  const auto operation = problem.operation;
  if (operation == Operation::scatter) return add_scatter(plan, tree, blocks_of(problem));
  const bool gathers = operation == Operation::gather || operation == Operation::all_gather;
  if (gathers) add_gather(plan, tree, blocks_of(problem));
  for (const auto& segment : segments(problem, parameters)) {
    if (problem.reduces() || operation == Operation::barrier) add_up(plan, problem, tree, downwards, segment);
    if (operation == Operation::broadcast || operation == Operation::barrier || operation == Operation::all_gather ||
        operation == Operation::all_reduce)
      add_down(plan, tree, downwards, segment);
  }
  if (operation == Operation::reduce_scatter) add_scatter(plan, tree, blocks_of(problem));
}

void add_scatter(MessagePlan& plan, const RankTree& tree, const std::vector<ElementRange>& parts) {
  const auto downwards = tree.downwards();
  const auto below = parts_below(tree, downwards, parts);
  for (const int rank : downwards)
    if (rank != tree.root) send(plan, tree.parent[at(rank)], rank, below[at(rank)], Effect::replace);
}

void add_gather(MessagePlan& plan, const RankTree& tree, const std::vector<ElementRange>& parts) {
  const auto downwards = tree.downwards();
  const auto below = parts_below(tree, downwards, parts);
  for (auto rank = downwards.rbegin(); rank != downwards.rend(); ++rank)
    if (*rank != tree.root) send(plan, *rank, tree.parent[at(*rank)], below[at(*rank)], Effect::replace);
}

}  // namespace tessera::collectives
