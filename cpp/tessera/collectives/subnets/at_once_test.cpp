// Plans for groups of ranks that communicate at once, and beside the traffic of others.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tessera/collectives/choose.h"
#include "tessera/collectives/predict.h"
#include "tessera/collectives/registry.h"
#include "tessera/collectives/subnets/delivery_tree.h"
#include "tessera/collectives/test_networks.h"

namespace tessera::collectives {
namespace {

using Groups = std::vector<std::vector<int>>;

CollectiveProblem problem_of(Operation operation, int n_ranks, std::int64_t bytes) {
  CollectiveProblem problem{operation, n_ranks, 0, {bytes}, 1, true};
  if (has_blocks_by_rank(operation)) problem.blocks.assign(static_cast<std::size_t>(n_ranks), bytes / n_ranks);
  return problem;
}

/// Returns the wires of one of several groups of hosts.
machine::Wires wires_of_group(const machine::Network& network, const Groups& groups, std::size_t group) {
  auto others = groups;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(group));
  return {network, groups[group], others};
}

/// Returns the predicted time of one plan in each of the groups, with all their messages on the same wires.
double seconds_together(const machine::Network& network, const Groups& groups, const MessagePlan& plan,
                        const CollectiveProblem& problem) {
  std::vector<int> hosts;
  auto all = plan;
  all.messages.clear();
  for (const auto& group : groups) hosts.insert(hosts.end(), group.begin(), group.end());
  // The groups take turns in the list, as their messages would on the wires.
  for (const auto& message : plan.messages)
    for (std::size_t group = 0; group < groups.size(); ++group) {
      all.messages.push_back(message);
      all.messages.back().from += static_cast<int>(group) * problem.n_ranks;
      all.messages.back().to += static_cast<int>(group) * problem.n_ranks;
    }
  auto joint = problem;
  joint.n_ranks = static_cast<int>(hosts.size());
  return predict(all, joint, {network, hosts}).seconds;
}

TEST(AtOnce, GroupsArePricedAsAllTheirMessagesTogether) {
  // Columns of a grid of ranks, numbered host after host: each crosses all racks.
  struct Case {
    const char* name;
    machine::Network network;
    int n_columns;
  };
  const Case cases[] = {{"quads", test::quads(), 8},
                        {"pairs", test::pairs(), 4},
                        {"one switch", test::one_slow_switch(), 8},
                        {"segments", test::three_segments(), 2}};
  for (const auto& [name, network, n_columns] : cases) {
    const auto whole = test::wires_of(network);
    Groups groups(static_cast<std::size_t>(n_columns));
    for (int rank = 0; rank < whole.n_ranks(); ++rank)
      groups[static_cast<std::size_t>(rank % n_columns)].push_back(whole.host_of(rank));
    const auto wires = wires_of_group(network, groups, 0);
    const machine::Wires alone(network, groups[0]);
    for (const auto operation : {Operation::broadcast, Operation::all_reduce, Operation::all_gather}) {
      const auto problem = problem_of(operation, wires.n_ranks(), 1 << 20);
      const auto choice = choose(problem, wires);
      if (!choice.ours) continue;
      const auto plan = plan_of(*choice.ours->entry, problem, wires, choice.ours->parameters);
      const double together = seconds_together(network, groups, plan, problem);
      EXPECT_GT(choice.ours->seconds, 0.8 * together) << name << ", " << name_of(operation) << ", " << plan.entry;
      EXPECT_LT(choice.ours->seconds, 1.1 * together) << name << ", " << name_of(operation) << ", " << plan.entry;
      // What each would choose if it were alone takes no less time where all do it.
      const auto single = choose(problem, alone);
      if (!single.ours) continue;
      const auto other = plan_of(*single.ours->entry, problem, alone, single.ours->parameters);
      EXPECT_LT(together, 1.1 * seconds_together(network, groups, other, problem)) << name << ", " << other.entry;
    }
  }
}

/// Returns the predicted time of the choice for the quiet network beside that for this traffic, both in this traffic.
double gain(const machine::Network& quiet, const machine::Network& busy, const CollectiveProblem& problem) {
  const auto idle = test::wires_of(quiet), left = test::wires_of(busy);
  const auto before = choose(problem, idle, "subnets"), after = choose(problem, left, "subnets");
  const auto plan = plan_of(*before.ours->entry, problem, idle, before.ours->parameters);
  return predict(plan, problem, left).seconds / after.ours->seconds;
}

TEST(AtOnce, PlansKeepAwayFromTraffic) {
  const auto quiet = test::one_slow_switch();
  auto busy = quiet;
  busy.traffic =
      machine::Traffic{"2026-11-28T06:15:00Z", std::vector<machine::Traffic::Port>(quiet.hosts.size()), {{}}};
  const auto expect_gains = [&](double of_broadcast, double of_all_reduce) {
    for (const auto& [operation, least] :
         {std::pair(Operation::broadcast, of_broadcast), std::pair(Operation::all_reduce, of_all_reduce)})
      EXPECT_GT(gain(quiet, busy, problem_of(operation, test::wires_of(quiet).n_ranks(), 1 << 20)), least)
          << name_of(operation);
  };
  busy.traffic->ports[5] = {0.6, 0};
  expect_gains(2, 1.5);
  busy.traffic->ports[6] = busy.traffic->ports[11] = {0.6, 0};
  expect_gains(1.3, 1.3);
  busy.traffic->ports[5] = busy.traffic->ports[6] = busy.traffic->ports[11] = {0, 0.6};
  expect_gains(0.95, 0.95);  // each has to get all data, whatever the plan
}

TEST(AtOnce, RanksOfAHostAreNotSlow) {
  // They have no ports, so the pattern alone says who passes data on.
  const machine::Wires wires(machine::one_switch({{"a", 8, {}}}, {1e-5, 1e9}), std::vector<int>(8, 0));
  DeliveryTrees trees(wires, patterns_of("chain"));
  std::vector<int> parents(8, 0);
  for (int turn = 0; turn < 3; ++turn)
    for (const auto& [parent, child] : trees.add_tree(0, 1000, DeliveryTrees::Direction::from_root))
      parents[static_cast<std::size_t>(child)] = parent;
  EXPECT_EQ(parents, (std::vector<int>{0, 0, 0, 1, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace tessera::collectives
