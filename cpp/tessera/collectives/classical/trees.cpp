// Star, k-ary and binomial trees along the topology (Lowekamp and Beguelin 1995, §4.2: the degree of a subnet's tree,
// and the depth to which it is expanded, should suit the network).
#include <fmt/format.h>

#include "tessera/collectives/classical/entries.h"
#include "tessera/collectives/classical/tree.h"

namespace tessera::collectives {
namespace {

/// Returns one candidate, as a root that sends everything to everyone gains nothing by sending it in pieces.
std::vector<Parameters> star_candidates(const CollectiveProblem&, const machine::Wires&) { return {{}}; }

MessagePlan plan_star(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters) {
  MessagePlan plan{describe("star", {segment_text(parameters)}), {}, 0};
  add_tree(plan, problem, k_ary_tree(problem, wires, problem.n_ranks, 1), parameters);
  return plan;
}

MessagePlan plan_k_ary(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters) {
  const std::string depth = parameters.depth > 0 ? fmt::format("depth {}", parameters.depth) : "";
  MessagePlan plan{
      describe("k_ary", {fmt::format("degree {}", parameters.degree), depth, segment_text(parameters)}), {}, 0};
  add_tree(plan, problem, k_ary_tree(problem, wires, parameters.degree, parameters.depth), parameters);
  return plan;
}

std::vector<Parameters> k_ary_candidates(const CollectiveProblem& problem, const machine::Wires& wires) {
  std::vector<Parameters> candidates;
  for (auto parameters : tree_candidates(problem, wires))
    for (const int degree : {2, 3, 4, 8})
      // Two levels: as many stars as the degree.
      for (const int depth : {0, 2}) {
        const bool is_star = degree > 2 && degree + 1 >= problem.n_ranks;
        const bool has_large_stars = depth > 0 && problem.n_ranks > 64;
        if (is_star || has_large_stars) continue;
        parameters.degree = degree;
        parameters.depth = depth;
        candidates.push_back(parameters);
      }
  return candidates;
}

MessagePlan plan_binomial(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters) {
  MessagePlan plan{describe("binomial", {segment_text(parameters)}), {}, 0};
  add_tree(plan, problem, binomial_tree(problem, wires), parameters);
  return plan;
}

}  // namespace

const Entry star_entry{"star", "the root talks to every rank itself (Lowekamp and Beguelin 1995, §6)", can_on_tree,
                       plan_star, star_candidates};
const Entry k_ary_entry{"k_ary",
                        "a tree of given degree and depth along the topology (Lowekamp and Beguelin 1995, §4.2)",
                        can_on_tree, plan_k_ary, k_ary_candidates};
const Entry binomial_entry{"binomial", "whoever has the data passes it on, twice as many in each round", can_on_tree,
                           plan_binomial, tree_candidates};

}  // namespace tessera::collectives
