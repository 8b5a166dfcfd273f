// The minimal spanning tree over the times of links (Lowekamp and Beguelin 1995, §4): it has the least traffic in all,
// but does not consider which messages could be under way at once.
#include <algorithm>
#include <limits>

#include "tessera/collectives/classical/entries.h"
#include "tessera/collectives/classical/tree.h"

namespace tessera::collectives {
namespace {

// All pairs are looked at.
constexpr int most_ranks = 1024;

/// Finds a minimal spanning tree by Prim's algorithm. Of equal links the one from the rank that came first is taken, so
/// that a rank sends to all other ranks of its host, and one link joins two subnets.
RankTree minimal_spanning_tree(const CollectiveProblem& problem, const machine::Wires& wires) {
  const auto bytes = static_cast<double>(whole(problem).length * problem.element_bytes);
  RankTree tree(problem.n_ranks, root_of(problem, wires));
  const auto n = static_cast<std::size_t>(problem.n_ranks);
  std::vector<double> time(n, std::numeric_limits<double>::infinity());
  std::vector<int> nearest(n, -1), joined;
  std::vector<int> outside = order_from(tree.root, wires);
  for (int last = tree.root;;) {
    joined.push_back(last);
    std::erase(outside, last);
    if (outside.empty()) break;
    for (const int rank : outside) {
      const auto r = static_cast<std::size_t>(rank);
      if (const double direct = wires.time(last, rank, bytes); direct < time[r]) {
        time[r] = direct;
        nearest[r] = last;
      }
    }
    last = *std::min_element(outside.begin(), outside.end(), [&](int a, int b) {
      return time[static_cast<std::size_t>(a)] < time[static_cast<std::size_t>(b)];
    });
    tree.parent[static_cast<std::size_t>(last)] = nearest[static_cast<std::size_t>(last)];
  }
  // The child with the most ranks below it is sent to first, and combined last.
  std::vector<int> n_below(n, 1);
  for (auto rank = joined.rbegin(); *rank != tree.root; ++rank)
    n_below[static_cast<std::size_t>(tree.parent[static_cast<std::size_t>(*rank)])] +=
        n_below[static_cast<std::size_t>(*rank)];
  std::stable_sort(joined.begin(), joined.end(), [&](int a, int b) {
    return n_below[static_cast<std::size_t>(a)] < n_below[static_cast<std::size_t>(b)];
  });
  for (const int rank : joined)
    if (rank != tree.root) tree.attach(rank, tree.parent[static_cast<std::size_t>(rank)]);
  return tree;
}

bool can(const CollectiveProblem& problem, const machine::Wires& wires) {
  return can_on_tree(problem, wires) && !keeps_rank_order(problem) && problem.n_ranks <= most_ranks;
}

MessagePlan plan(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters) {
  MessagePlan made{describe("spanning_tree", {segment_text(parameters)}), {}, 0};
  add_tree(made, problem, minimal_spanning_tree(problem, wires), parameters);
  return made;
}

}  // namespace

const Entry spanning_tree_entry{"spanning_tree",
                                "the minimal spanning tree over link times (Lowekamp and Beguelin 1995, §4)", can, plan,
                                tree_candidates};

}  // namespace tessera::collectives
