// Trees of ranks, and what can be done along one: down it, up it, or up and down. Star, chain, k-ary, binomial and
// minimal spanning trees differ only in their shape.
#pragma once

#include <span>
#include <vector>

#include "tessera/collectives/classical/build.h"

namespace tessera::collectives {

struct RankTree {
  int root = 0;
  std::vector<int> parent;                 // of each rank; -1 for the root
  std::vector<std::vector<int>> children;  // of each rank, in the order in which they are combined into it

  RankTree(int n_ranks, int root);
  void attach(int child, int to);
  /// Returns all ranks, parents before children; of siblings the last combined comes first, since it has the most ranks
  /// below it.
  std::vector<int> downwards() const;
};

/// Adds the ranks of a sequence below its first one, which is in the tree already. The rest is cut into `degree`
/// consecutive pieces, each of which becomes a tree below its own first rank, so that ranks next to each other in the
/// sequence stay together. After `depth` levels (0: no limit) all remaining ranks are children of one rank. Degree 1
/// gives a chain.
void grow_k_ary(RankTree& tree, std::span<const int> sequence, int degree, int depth);
/// Builds a binomial tree: the parent of position v is v without its lowest set bit.
void grow_binomial(RankTree& tree, std::span<const int> sequence);

/// Returns the sequences along which a tree for this problem may grow, each beginning with the root: one, which is the
/// topology seen from the root; or, where operands must stay in rank order, one upwards and one downwards from the
/// root.
std::vector<std::vector<int>> arms(const CollectiveProblem& problem, const machine::Wires& wires);

RankTree k_ary_tree(const CollectiveProblem& problem, const machine::Wires& wires, int degree, int depth);
RankTree binomial_tree(const CollectiveProblem& problem, const machine::Wires& wires);

/// Offers segments of several sizes for whole vectors; blocks are pieces already.
std::vector<Parameters> tree_candidates(const CollectiveProblem& problem, const machine::Wires& wires);

/// Tells whether an operation can be done by going up or down a tree, or both.
bool can_on_tree(const CollectiveProblem& problem, const machine::Wires& wires);
/// Adds the messages of the problem's operation along the tree. Rootless operations gather at its root.
void add_tree(MessagePlan& plan, const CollectiveProblem& problem, const RankTree& tree, const Parameters& parameters);

/// Sends each rank its part from the root, which has all; or sends the part of each rank to the root.
void add_scatter(MessagePlan& plan, const RankTree& tree, const std::vector<ElementRange>& parts);
void add_gather(MessagePlan& plan, const RankTree& tree, const std::vector<ElementRange>& parts);

}  // namespace tessera::collectives
