#include "tessera/collectives/hierarchical/hierarchical.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/collectives/choose.h"
#include "tessera/collectives/predict.h"
#include "tessera/collectives/test_networks.h"

namespace tessera::collectives {
namespace {

constexpr machine::Link inside{2e-6, 3e9}, between{5e-5, 1e8};

/// Returns the wires of ranks on the hosts of one switch.
machine::Wires on_hosts(const std::vector<int>& host_of_rank) {
  std::vector<machine::Host> hosts;
  for (int i = 0; i <= *std::max_element(host_of_rank.begin(), host_of_rank.end()); ++i)
    hosts.push_back({fmt::format("n{}", i), 4, inside});
  return {machine::one_switch(hosts, between), host_of_rank};
}

CollectiveProblem problem_of(Operation operation, int n_ranks, std::int64_t length, bool commutative = true) {
  CollectiveProblem problem{operation, n_ranks, 0, {operation == Operation::barrier ? 1 : length}, 8, commutative};
  if (operation == Operation::all_gather || operation == Operation::reduce_scatter)
    problem.blocks.assign(static_cast<std::size_t>(n_ranks), length);
  return problem;
}

using Names = std::set<std::string>;

/// Returns the operations that the entry supports; reductions that do not commute have "ordered " before them.
Names done_on(const std::vector<int>& host_of_rank, std::int64_t length = 10) {
  const auto wires = on_hosts(host_of_rank);
  Names names;
  for (int i = 0; i <= static_cast<int>(Operation::exscan); ++i)
    for (const bool commutative : {true, false}) {
      const auto problem = problem_of(static_cast<Operation>(i), wires.n_ranks(), length, commutative);
      if (!commutative && !problem.reduces()) continue;
      if (can_hierarchical(problem, wires))
        names.insert((commutative ? "" : "ordered ") + std::string(name_of(problem.operation)));
    }
  return names;
}

TEST(Hierarchical, LeavesToOthersWhatItCantDo) {
  const Names any_order{"barrier", "broadcast", "reduce", "all_reduce"};
  auto all = any_order;
  all.insert({"all_gather", "reduce_scatter", "ordered reduce", "ordered all_reduce", "ordered reduce_scatter"});
  EXPECT_EQ(done_on({0, 0, 1, 1}), all);
  EXPECT_EQ(done_on({1, 1, 1, 0, 2, 2}), all) << "hosts need not be in order, nor alike";
  EXPECT_EQ(done_on({0, 1, 0, 1}), any_order) << "blocks, and operands in order, are of consecutive ranks";
  EXPECT_EQ(done_on({0, 0, 0, 0}), Names{}) << "one host";
  EXPECT_EQ(done_on({0, 1, 2, 3}), Names{}) << "a rank a host: that is the plan between them";
  EXPECT_EQ(done_on({0, 0, 1, 1}, std::int64_t{1} << 31), Names{"barrier"}) << "libraries of MPI 3 count with int";
}

TEST(Hierarchical, TakesAsLongAsItsStages) {
  const auto pairs = on_hosts({0, 0, 1, 1, 2, 2, 3, 3}), leaders = on_hosts({0, 1, 2, 3}), one = on_hosts({0, 0});
  constexpr std::int64_t length = 5000;
  const auto pair = problem_of(Operation::broadcast, 2, length);
  const double stage = predict(entry("binomial").plan(pair, one, {}), pair, one).seconds;
  EXPECT_NEAR(stage, inside.time(8 * length), 1.1 * inside.latency);
  const std::pair<Operation, int> stages[] = {
      {Operation::broadcast, 1}, {Operation::reduce, 1}, {Operation::all_reduce, 2}};
  for (const auto& [operation, n_stages] : stages)
    for (const std::string name : {"binomial", "ring"}) {
      Parameters parameters, named;
      named.segment = parameters.segment = 4096;
      named.pattern = name;
      const auto problem = problem_of(operation, 8, length), outer = problem_of(operation, 4, length);
      const auto plan = plan_hierarchical(problem, pairs, named);
      const auto alone = entry(name).plan(outer, leaders, parameters);
      EXPECT_EQ(plan.entry, "hierarchical(" + alone.entry + ")");
      EXPECT_NEAR(predict(plan, problem, pairs).seconds, predict(alone, outer, leaders).seconds + n_stages * stage,
                  1e-9)
          << plan.entry << " " << name_of(operation);
    }
}

TEST(Hierarchical, OnlyLeadersTalkToOtherHosts) {
  const auto wires = on_hosts({0, 1, 1, 2, 0, 2, 2, 1});
  auto problem = problem_of(Operation::reduce, 8, 100);
  problem.root = 6;
  const auto plan = plan_hierarchical(problem, wires, {});
  EXPECT_EQ(plan.entry, "hierarchical(binomial)");
  EXPECT_EQ(plan.n_collected, 5U);
  EXPECT_EQ(plan.n_distributed, 0U);
  const std::set<int> leaders{0, 1, 6};
  for (std::size_t i = 0; i < plan.messages.size(); ++i) {
    const auto& [from, to] = std::pair(plan.messages[i].from, plan.messages[i].to);
    EXPECT_EQ(wires.host_of(from) == wires.host_of(to), i < plan.n_collected);
    EXPECT_TRUE(i < plan.n_collected || (leaders.contains(from) && leaders.contains(to)));
  }
  const auto left = between_hosts(plan);
  EXPECT_FALSE(left.is_hierarchical());
  EXPECT_EQ(left.messages, std::vector(plan.messages.begin() + 5, plan.messages.end()));
}

TEST(Hierarchical, IsAmongTheCandidates) {
  const auto wires = test::wires_of(test::pairs());
  const auto problem = problem_of(Operation::all_reduce, wires.n_ranks(), 100'000);
  const auto chosen = rank_candidates(problem, wires, "hierarchical").front();
  EXPECT_TRUE(chosen.parameters.pattern.starts_with("subnets,")) << chosen.parameters.pattern;
  const auto again = named_entry(text_of({"hierarchical", chosen.parameters}));
  EXPECT_EQ(again.parameters->pattern, chosen.parameters.pattern);
  const auto choice = choose(problem, wires);
  EXPECT_TRUE(std::any_of(choice.ranked.begin(), choice.ranked.end(),
                          [&](const PricedEntry& candidate) { return candidate.entry == chosen.entry; }));
  const auto refused = choose(problem_of(Operation::all_reduce, 4, 100), on_hosts({0, 1, 2, 3}), "hierarchical");
  EXPECT_FALSE(refused.ours);
  EXPECT_EQ(refused.reason, "hierarchical can't do this all_reduce; the MPI library does it");
}

}  // namespace
}  // namespace tessera::collectives
