// Trees of ranks, and what can be done along one: down it, up it, or up and down. Star, chain, k-ary, binomial and
// minimal spanning trees differ only in their shape.
#pragma once

#include <span>
#include <vector>

#include "tessera/comm/collectives/classical/build.h"

namespace tessera::comm::collectives {

struct Tree {
  int root = 0;
  std::vector<int> parent;                 // of each rank; -1 for the root
  std::vector<std::vector<int>> children;  // of each rank, in the order in which they are combined into it

  Tree(int n_ranks, int root);
  void attach(int child, int to);
  /// All ranks, parents before children; of siblings the last combined comes first, since it has the most below it.
  std::vector<int> downwards() const;
};

/// Adds the ranks of a sequence below its first one, which is in the tree already. The rest is cut into `degree`
/// consecutive pieces, each a tree below its own first rank, so that ranks next to each other in the sequence stay
/// together. After `depth` levels (0: no limit) all that is left hangs on one rank. Degree 1 is a chain.
void grow_k_ary(Tree& tree, std::span<const int> sequence, int degree, int depth);
/// Position v hangs on v without its lowest set bit.
void grow_binomial(Tree& tree, std::span<const int> sequence);

/// The sequences along which a tree for this problem may grow, each beginning with the root: one, the topology seen
/// from the root; or, where operands must stay in rank order, one upwards and one downwards from the root.
std::vector<std::vector<int>> arms(const Problem& problem, const machine::Wires& wires);

Tree k_ary_tree(const Problem& problem, const machine::Wires& wires, int degree, int depth);
Tree binomial_tree(const Problem& problem, const machine::Wires& wires);

/// Whole vectors in segments of several sizes; blocks are pieces already.
std::vector<Parameters> tree_candidates(const Problem& problem, const machine::Wires& wires);

/// Whether an operation can be done by going up or down a tree, or both.
bool can_on_tree(const Problem& problem, const machine::Wires& wires);
/// Adds the messages of the problem's operation along the tree. Rootless operations gather at its root.
void add_tree(Plan& plan, const Problem& problem, const Tree& tree, const Parameters& parameters);

/// Each rank gets its part from the root, which has all; or the root gets the part of each.
void add_scatter(Plan& plan, const Tree& tree, const std::vector<Range>& parts);
void add_gather(Plan& plan, const Tree& tree, const std::vector<Range>& parts);

}  // namespace tessera::comm::collectives
