// Checks that every entry, on every operation that it supports, gives every rank the right values. Plans are carried
// out message by message, and in random orders that respect only what their ranks wait for.
#include "tessera/collectives/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/error.h"
#include "tessera/collectives/classical/build.h"
#include "tessera/collectives/classical/hypercube.h"
#include "tessera/collectives/interpret.h"
#include "tessera/collectives/predict.h"

namespace tessera::collectives {
namespace {

using machine::Link;
using machine::Medium;
using machine::Network;
using machine::Wires;

constexpr Operation all_operations[] = {Operation::barrier, Operation::broadcast,  Operation::scatter,
                                        Operation::gather,  Operation::all_gather, Operation::all_to_all,
                                        Operation::reduce,  Operation::all_reduce, Operation::reduce_scatter,
                                        Operation::scan,    Operation::exscan};

std::vector<machine::Host> hosts(int n) {
  std::vector<machine::Host> all;
  for (int i = 0; i < n; ++i) all.push_back({fmt::format("n{}", i), 1, Link{1e-6, 5e9}});
  return all;
}

Wires one_switch(int n_ranks) { return {machine::one_switch(hosts(n_ranks), {5e-5, 1e8}), rank_order(n_ranks)}; }

/// Returns hosts of two racks that share a link with the rate of a single host; the job's ranks are spread without
/// order.
Wires two_racks(int n_ranks) {
  Network network;
  network.hosts = hosts(6);
  const Link link{5e-5, 1e8};
  network.subnets = {{-1, {1, 2}, {}, {1e-4, 1e8}, Medium::fabric, std::nullopt},
                     {0, {}, {0, 1, 2}, link, Medium::fabric, 1e8},
                     {0, {}, {3, 4, 5}, link, Medium::fabric, 1e8}};
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) host_of_rank.push_back((5 * rank + 2) % 6);
  return {network, host_of_rank};
}

/// Returns three Ethernet segments of uneven size (Lowekamp and Beguelin 1995, §6.1); ranks are dealt to the hosts in
/// turn.
Wires three_buses(int n_ranks) {
  Network network;
  network.hosts = hosts(8);
  const Link link{5e-4, 1.2e6};
  network.subnets = {{-1, {1, 2, 3}, {}, {1e-3, 1e6}, Medium::fabric, std::nullopt},
                     {0, {}, {0, 3, 6}, link, Medium::bus, std::nullopt},
                     {0, {}, {1, 4, 7}, link, Medium::bus, std::nullopt},
                     {0, {}, {2, 5}, link, Medium::bus, std::nullopt}};
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) host_of_rank.push_back(rank % 8);
  return {network, host_of_rank};
}

/// Returns four hosts on a switch, each with a quarter of the ranks, side by side.
Wires four_quads(int n_ranks) {
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) host_of_rank.push_back(4 * rank / n_ranks);
  return {machine::one_switch(hosts(4), {5e-5, 1e8}), host_of_rank};
}

/// Returns counts by number: nothing, one element, an odd number, and blocks of different lengths of which some are
/// empty.
std::vector<std::int64_t> counts(Operation operation, int n_ranks, int which) {
  const bool by_rank = operation == Operation::scatter || operation == Operation::gather ||
                       operation == Operation::all_gather || operation == Operation::reduce_scatter;
  constexpr std::int64_t lengths[] = {0, 1, 7, 40};
  if (!by_rank) return {lengths[which]};
  std::vector<std::int64_t> blocks;
  for (int rank = 0; rank < n_ranks; ++rank) blocks.push_back(which < 3 ? lengths[which] % 4 : 7 * rank % 4);
  return blocks;
}

/// Returns the parameters that an entry would try, those with small segments, and k-ary trees of all kinds.
std::vector<Parameters> parameters_of(const Entry& known, const CollectiveProblem& problem, const Wires& wires) {
  auto all = known.candidates(problem, wires);
  EXPECT_FALSE(all.empty()) << known.name;
  if (all.size() > 4) all.resize(4);
  auto cut = all.front();
  cut.segment = 3 * problem.element_bytes;
  all.push_back(cut);
  if (std::string_view(known.name) == "k_ary") {
    all.push_back({16, 3, 2, "", false});
    all.push_back({0, 5, 3, "", false});
  }
  return all;
}

class EveryEntry : public testing::TestWithParam<Operation> {};

TEST_P(EveryEntry, GivesEveryRankItsResult) {
  const auto operation = GetParam();
  std::mt19937_64 random(1995);
  int n_plans = 0;
  for (int n_ranks = 1; n_ranks <= 32; n_ranks += n_ranks < 17 ? 1 : n_ranks == 17 ? 7 : 8) {
    const Wires networks[] = {one_switch(n_ranks), two_racks(n_ranks), three_buses(n_ranks), four_quads(n_ranks)};
    for (std::size_t network = 0; network < std::size(networks); ++network)
      for (int which = 0; which < 4; ++which)
        for (const bool commutative : {true, false}) {
          const int root = static_cast<int>(random() % static_cast<unsigned>(n_ranks));
          const CollectiveProblem problem{
              operation,  n_ranks, root, counts(operation, n_ranks, which), operation == Operation::barrier ? 0 : 8,
              commutative};
          if (!commutative && !problem.reduces()) continue;
          // Larger jobs test a random half of what smaller ones test in full.
          if (n_ranks > 9 && random() % 2 == 0) continue;
          for (const auto& known : entries()) {
            if (!known.can(problem, networks[network])) continue;
            for (const auto& parameters : parameters_of(known, problem, networks[network])) {
              const auto plan = known.plan(problem, networks[network], parameters);
              const auto where = [&] {
                return fmt::format("{} {} on {} ranks, root {}, network {}, counts {}, {}commutative", plan.entry,
                                   name_of(operation), n_ranks, root, network, which, commutative ? "" : "not ");
              };
              ASSERT_EQ(check_result(problem, interpret(plan, problem)), "") << where();
              ASSERT_TRUE(deserialise(serialise(plan)) == plan) << where();
              if (n_plans++ % 4 != 0) continue;
              ASSERT_EQ(check_result(problem, interpret_at_random(plan, problem, random)), "")
                  << where() << ", in random order";
            }
          }
        }
  }
  EXPECT_GT(n_plans, 500);
}

INSTANTIATE_TEST_SUITE_P(Operations, EveryEntry, testing::ValuesIn(all_operations),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

TEST(Serialisation, KeepsEveryMember) {
  const MessagePlan plan{"made up",
                         {{1, 2, Effect::combine_left, Buffer::input, Buffer::scratch, 3, 4, 5}, {2, 1}, {0, 0}},
                         (std::int64_t{1} << 40) + 6,
                         7,
                         8,
                         1,
                         2};
  const auto bytes = serialise(plan);
  EXPECT_TRUE(deserialise(bytes) == plan);
  EXPECT_TRUE(deserialise(serialise({})) == MessagePlan{});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_ANY_THROW(deserialise(std::span(bytes).first(size))) << size;
}

using Names = std::set<std::string>;

Names able(Operation operation, bool commutative) {
  Names names;
  for (const auto& known : entries())
    if (known.can({operation, 12, 3, counts(operation, 12, 2), 8, commutative}, one_switch(12)))
      names.insert(known.name);
  return names;
}

TEST(Registry, SaysWhoCanDoWhat) {
  const Names trees{"subnets", "star", "k_ary", "binomial", "spanning_tree"};
  const auto with = [](Names names, const Names& more) {
    names.insert(more.begin(), more.end());
    return names;
  };
  EXPECT_EQ(able(Operation::barrier, true), with(trees, {"recursive_doubling", "bruck"}));
  EXPECT_EQ(able(Operation::broadcast, true), with(trees, {"ring", "scatter_all_gather", "recursive_halving"}));
  EXPECT_EQ(able(Operation::reduce, true), with(trees, {"ring", "scatter_all_gather", "recursive_halving"}));
  EXPECT_EQ(able(Operation::scatter, true), trees);
  EXPECT_EQ(able(Operation::gather, true), trees);
  EXPECT_EQ(able(Operation::all_gather, true), with(trees, {"ring", "recursive_doubling", "bruck", "pairwise"}));
  EXPECT_EQ(able(Operation::all_to_all, true), (Names{"subnets", "pairwise", "bruck"}));
  EXPECT_EQ(able(Operation::all_reduce, true), with(trees, {"ring", "recursive_doubling", "recursive_halving"}));
  EXPECT_EQ(able(Operation::reduce_scatter, true), with(trees, {"ring", "recursive_halving", "pairwise"}));
  const Names scans{"linear_scan", "recursive_doubling"};
  for (const auto operation : {Operation::scan, Operation::exscan})
    for (const bool commutative : {true, false}) EXPECT_EQ(able(operation, commutative), scans);
  // The orders of a ring and of subnets differ from that of ranks.
  const Names ordered{"star", "k_ary", "binomial", "recursive_halving"};
  EXPECT_EQ(able(Operation::reduce, false), with(ordered, {"ring"}));
  EXPECT_EQ(able(Operation::all_reduce, false), with(ordered, {"recursive_doubling"}));
  EXPECT_EQ(able(Operation::reduce_scatter, false), with(ordered, {"pairwise"}));
}

TEST(Registry, KnowsEntriesByName) {
  for (const auto& known : entries()) EXPECT_EQ(&entry(known.name), &known);
  try {
    entry("binomal");
    FAIL() << "nothing thrown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "no collective algorithm is called \"binomal\"; did you mean \"binomial\"?");
  }
  EXPECT_THROW(rank_candidates({Operation::barrier, 4, 0, {1}, 0, true}, one_switch(4), "magic"), InputError);
}

TEST(Registry, OrdersRanksAlongTheNetwork) {
  EXPECT_EQ(topology_order(one_switch(5)), rank_order(5));
  EXPECT_EQ(topology_order(four_quads(12)), rank_order(12));
  // Ranks 0, 1, … are on hosts 2, 1, 0, 5, 4, 3, 2, 1, …; hosts 0 to 2 are one rack.
  EXPECT_EQ(topology_order(two_racks(9)), (std::vector<int>{0, 6, 1, 7, 2, 8, 3, 4, 5}));
  EXPECT_EQ(order_from(4, two_racks(9)), (std::vector<int>{4, 3, 5, 0, 6, 1, 7, 2, 8}));
}

TEST(Registry, RanksCandidatesBySeconds) {
  const auto wires = two_racks(12);
  const CollectiveProblem problem{Operation::broadcast, 12, 5, {1 << 17}, 8, true};
  const auto candidates = rank_candidates(problem, wires);
  std::set<const Entry*> seen;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& candidate = candidates[i];
    seen.insert(candidate.entry);
    EXPECT_EQ(candidate.seconds,
              predict(candidate.entry->plan(problem, wires, candidate.parameters), problem, wires).seconds);
    if (i == 0) continue;
    EXPECT_LE(candidates[i - 1].seconds, candidate.seconds);
    EXPECT_TRUE(candidates[i - 1].seconds < candidate.seconds || candidates[i - 1].entry <= candidate.entry);
  }
  EXPECT_EQ(seen.size(), 9U);
  for (const auto& candidate : rank_candidates(problem, wires, "k_ary")) EXPECT_STREQ(candidate.entry->name, "k_ary");
  // For a megabyte a chain over a thin link is faster than a star across it.
  EXPECT_LT(rank_candidates(problem, wires, "ring").front().seconds,
            0.5 * rank_candidates(problem, wires, "star").front().seconds);
}

std::map<int, std::int64_t> elements_by_level(const MessagePlan& plan, const Wires& wires) {
  std::map<int, std::int64_t> elements;
  for (const auto& message : plan.messages)
    if (message.from != message.to) elements[wires.level(message.from, message.to)] += message.length;
  return elements;
}

TEST(Hypercube, MostDataCrossesTheNearestDimension) {
  // According to Borštnik et al. (2004), Figure 2, each rank sends N/2 of a vector of N through the first dimension,
  // then N/4, then N/8. Pairs of ranks share a host, and pairs of hosts a rack.
  Network network;
  network.hosts = hosts(4);
  network.subnets = {{-1, {1, 2}, {}, {1e-4, 1e8}, Medium::fabric, std::nullopt},
                     {0, {}, {0, 1}, {5e-5, 1e8}, Medium::fabric, 1e8},
                     {0, {}, {2, 3}, {5e-5, 1e8}, Medium::fabric, 1e8}};
  const Wires wires(network, {0, 1, 2, 3, 0, 1, 2, 3});
  const std::map<int, std::int64_t> halves{{0, 8 * 40}, {1, 8 * 20}, {2, 8 * 10}};
  const CollectiveProblem sum{Operation::reduce_scatter, 8, 0, std::vector<std::int64_t>(8, 10), 8, true};
  EXPECT_EQ(elements_by_level(entry("recursive_halving").plan(sum, wires, {}), wires), halves);
  auto broadcast = sum;
  broadcast.operation = Operation::all_gather;
  EXPECT_EQ(elements_by_level(entry("recursive_doubling").plan(broadcast, wires, {}), wires), halves);
  EXPECT_EQ(make_hypercube(sum, wires).dimensions, (std::vector<int>{0, 1, 2}));
  // If all ranks are equally far apart, the blocks sent at once are consecutive: one message per step.
  EXPECT_EQ(make_hypercube(sum, one_switch(8)).dimensions, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(entry("recursive_halving").plan(sum, one_switch(8), {}).messages.size(), 8U * 3);
}

TEST(Registry, PlansInTheOrderOfRanksAreThoseOfOneSwitch) {
  Parameters by_ranks;
  by_ranks.by_ranks = true;
  int n_changed = 0;
  for (const auto operation : {Operation::broadcast, Operation::all_gather, Operation::all_reduce})
    for (const auto& known : entries()) {
      const CollectiveProblem problem{operation, 12, 3, counts(operation, 12, 2), 8, true};
      const auto wires = two_racks(12);
      ASSERT_EQ(can(known, problem, wires, by_ranks), known.can(problem, one_switch(12)));
      if (!can(known, problem, wires, by_ranks)) continue;
      const auto plan = plan_of(known, problem, wires, by_ranks);
      EXPECT_EQ(plan.messages, known.plan(problem, one_switch(12), {}).messages) << known.name;
      EXPECT_TRUE(plan.entry.ends_with("in the order of ranks")) << plan.entry;
      EXPECT_EQ(plan_of(known, problem, wires, {}), known.plan(problem, wires, {}));
      n_changed += plan.messages != known.plan(problem, wires, {}).messages ? 1 : 0;
    }
  EXPECT_GT(n_changed, 10);
  // Highest bit first, as CMPI: ranks 0 and 4 of 8 exchange halves before all others (Borštnik et al. 2004, Figure 2).
  const CollectiveProblem sum{Operation::reduce_scatter, 8, 0, std::vector<std::int64_t>(8, 10), 8, true};
  const auto first = plan_of(entry("recursive_halving"), sum, two_racks(8), by_ranks).messages.front();
  EXPECT_EQ(std::pair(first.from, first.to), std::pair(0, 4));
  EXPECT_EQ(first.length, 40);
}

TEST(SpanningTree, CrossesBetweenSubnetsAsRarelyAsCanBe) {
  const auto wires = three_buses(8);
  const CollectiveProblem problem{Operation::broadcast, 8, 4, {2000}, 8, true};
  const auto plan = entry("spanning_tree").plan(problem, wires, {});
  EXPECT_EQ(elements_by_level(plan, wires), (std::map<int, std::int64_t>{{1, 5 * 2000}, {2, 2 * 2000}}));
}

TEST(Trees, HaveTheDegreeAndDepthAskedFor) {
  const CollectiveProblem problem{Operation::broadcast, 32, 7, {1}, 8, true};
  for (const auto& [degree, depth, most_children, most_levels] :
       {std::array{2, 0, 2, 5}, {3, 0, 3, 3}, {2, 2, 15, 2}, {8, 0, 8, 2}, {4, 1, 31, 1}}) {
    const auto plan = entry("k_ary").plan(problem, one_switch(32), {0, degree, depth, "", false});
    std::vector<int> n_children(32, 0), level(32, 0);
    for (const auto& message : plan.messages) {
      ++n_children[static_cast<std::size_t>(message.from)];
      level[static_cast<std::size_t>(message.to)] = level[static_cast<std::size_t>(message.from)] + 1;
    }
    EXPECT_EQ(*std::max_element(n_children.begin(), n_children.end()), most_children) << plan.entry;
    EXPECT_EQ(*std::max_element(level.begin(), level.end()), most_levels) << plan.entry;
  }
}

TEST(Scale, PlansOfLogarithmicDepthStayShort) {
  const int n_ranks = 1024;
  const auto wires = four_quads(n_ranks);
  const auto n_messages = [&](const char* name, Operation operation) {
    const CollectiveProblem problem{operation, n_ranks, 0, counts(operation, n_ranks, 1), 8, true};
    return entry(name).plan(problem, wires, {}).messages.size();
  };
  EXPECT_EQ(n_messages("binomial", Operation::broadcast), 1023U);
  EXPECT_EQ(n_messages("recursive_doubling", Operation::all_reduce), 2 * 10 * 1024U);
  EXPECT_EQ(n_messages("bruck", Operation::barrier), 10 * 1024U);
  EXPECT_LE(n_messages("bruck", Operation::all_gather), 14 * 1024U);
}

TEST(Scale, ChoosingPricesAFewHundredThousandMessages) {
  const int n_ranks = 1024;
  const auto wires = four_quads(n_ranks);
  for (const auto operation : {Operation::all_reduce, Operation::all_gather}) {
    const CollectiveProblem problem{operation, n_ranks, 0, counts(operation, n_ranks, 1), 8, true};
    const auto candidates = rank_candidates(problem, wires, std::nullopt, 1.5);
    EXPECT_FALSE(candidates.empty());
    std::size_t n_messages = 0;
    for (const auto& candidate : candidates) n_messages += candidate.n_messages;
    EXPECT_LE(n_messages, most_priced) << name_of(operation);
  }
  EXPECT_EQ(rank_candidates({Operation::all_gather, 600, 0, counts(Operation::all_gather, 600, 1), 8, true},
                            four_quads(600), "ring")
                .size(),
            1U)
      << "what is asked for is priced all the same";
}

TEST(CentralRank, IsWhereTheNetworkIsFast) {
  // Ranks 0 and 1 are on a slow host, the others on fast ones.
  Network network{hosts(4), std::vector<machine::Subnet>(3)};
  network.subnets[0] = {-1, {1, 2}, {}, {3e-4, 1e6}, Medium::fabric, {}};
  network.subnets[1] = {0, {}, {0}, {3e-4, 1e6}, Medium::fabric, {}};
  network.subnets[2] = {0, {}, {1, 2, 3}, {3e-4, 1e7}, Medium::fabric, {}};
  const Wires slow_first(network, {0, 0, 1, 1, 2, 2, 3, 3});
  EXPECT_EQ(central_rank(slow_first, 1e6), 2);
  EXPECT_EQ(central_rank(slow_first, 0), 0) << "latencies are alike";
  EXPECT_EQ(central_rank(one_switch(5), 1e6), 0);
  EXPECT_EQ(central_rank(Wires(network, {3, 0, 2, 1}), 1e6), 0);
  for (const auto operation : {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter}) {
    const CollectiveProblem problem{operation, 8, 0, counts(operation, 8, 3), 8, true};
    for (const auto& message : entry("star").plan(problem, slow_first, {}).messages)
      EXPECT_TRUE(message.from == 2 || message.to == 2) << name_of(operation);
  }
}

TEST(Scale, RefusesPlansOfTooManyMessages) {
  const int n_ranks = 4096;
  const auto wires = four_quads(n_ranks);
  const CollectiveProblem problem{Operation::all_to_all, n_ranks, 0, {1}, 8, true};
  for (const char* name : {"pairwise", "bruck"}) EXPECT_FALSE(entry(name).can(problem, wires)) << name;
  // On two racks without order the blocks that a hypercube sends at once are not consecutive.
  const CollectiveProblem scattered{Operation::all_gather, n_ranks, 0, std::vector<std::int64_t>(n_ranks, 1), 8, true};
  EXPECT_THROW(entry("recursive_doubling").plan(scattered, two_racks(n_ranks), {}), TooManyMessages);
}

}  // namespace
}  // namespace tessera::collectives
