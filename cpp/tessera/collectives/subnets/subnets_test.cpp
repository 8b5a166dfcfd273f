#include "tessera/collectives/subnets/subnets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tessera/base/error.h"
#include "tessera/collectives/choose.h"
#include "tessera/collectives/predict.h"
#include "tessera/collectives/subnets/delivery_tree.h"
#include "tessera/collectives/test_networks.h"

namespace tessera::collectives {
namespace {

constexpr std::int64_t vector_length = 54212 * 3;  // doubles: forces on the atoms of Borštnik et al. (2004)

CollectiveProblem problem_of(Operation operation, int n_ranks) {
  CollectiveProblem problem{operation, n_ranks, 0, {vector_length}, 8, true};
  if (operation == Operation::broadcast) problem.blocks = {1'000'000}, problem.element_bytes = 1;
  if (operation == Operation::all_to_all) problem.blocks = {8192}, problem.element_bytes = 1;
  if (operation == Operation::all_gather || operation == Operation::reduce_scatter) {
    problem.blocks.assign(static_cast<std::size_t>(n_ranks), vector_length / n_ranks);
    for (std::int64_t i = 0; i < vector_length % n_ranks; ++i) ++problem.blocks[static_cast<std::size_t>(i)];
  }
  return problem;
}

/// Returns the ms of some bytes over a wire of this many Mbit/s.
double ms(double bytes, double rate) { return 1e3 * bytes / test::mbit(rate); }

/// Returns the least predicted time over all candidates of `subnets`, and the load of the busiest wire of that plan
/// (ms).
std::pair<double, double> best(const CollectiveProblem& problem, const machine::Wires& wires) {
  std::pair<double, double> least{1e300, 0};
  for (const auto& parameters : candidates_subnets(problem, wires)) {
    const auto prediction = predict(plan_subnets(problem, wires, parameters), problem, wires);
    const double busiest = *std::max_element(prediction.wire_busy.begin(), prediction.wire_busy.end());
    least = std::min(least, {1e3 * prediction.seconds, 1e3 * busiest});
  }
  return least;
}

struct Case {
  const char* name;
  machine::Network network;
  double bounds[5];  // ms: broadcast, all_reduce, reduce_scatter, all_gather, all_to_all
};

TEST(Subnets, ComeNearTheBandwidthBoundOfEveryNetwork) {
  constexpr double vector_bytes = 8.0 * vector_length, message = 1e6, block = 8192;
  const Operation operations[] = {Operation::broadcast, Operation::all_reduce, Operation::reduce_scatter,
                                  Operation::all_gather, Operation::all_to_all};
  // The bounds follow from the bytes that must cross the busiest wire: a group's ports together for groups, a host's
  // port for one switch.
  const Case cases[] = {
      {"quads",
       test::quads(),
       {ms(message, 40), ms(1.5 * vector_bytes, 40), ms(0.75 * vector_bytes, 40), ms(0.75 * vector_bytes, 40),
        ms(8 * 24 * block, 40)}},
      {"pairs",
       test::pairs(),
       {ms(message, 20), ms(1.75 * vector_bytes, 20), ms(0.875 * vector_bytes, 20), ms(0.875 * vector_bytes, 20),
        ms(4 * 28 * block, 20)}},
      {"one slow switch",
       test::one_slow_switch(),
       {ms(message, 10), ms(1.875 * vector_bytes, 10), ms(0.9375 * vector_bytes, 10), ms(0.9375 * vector_bytes, 10),
        ms(2 * 30 * block, 10)}},
      {"two racks",
       test::two_racks(),
       {ms(message, 10), ms(vector_bytes, 10), ms(0.5 * vector_bytes, 10), ms(0.5 * vector_bytes, 10),
        ms(8 * 8 * block, 10)}},
      {"three segments",
       test::three_segments(),
       {ms(3 * message, 10), ms(6 * vector_bytes, 10), ms(3 * vector_bytes, 10), ms(3 * vector_bytes, 10),
        ms(36 * block, 10)}},
  };
  for (const auto& [name, network, bounds] : cases) {
    const auto wires = test::wires_of(network);
    for (std::size_t i = 0; i < std::size(operations); ++i) {
      const auto [time, busiest] = best(problem_of(operations[i], wires.n_ranks()), wires);
      EXPECT_GE(busiest, 0.999 * bounds[i]) << name << ", " << name_of(operations[i]) << ": below what is possible";
      EXPECT_LE(busiest, 1.15 * bounds[i]) << name << ", " << name_of(operations[i]);
      EXPECT_LE(time, 1.5 * bounds[i]) << name << ", " << name_of(operations[i]);
    }
  }
}

/// If the slow links between groups are busy as long as the processors are with the fast links inside groups, a
/// reduction must do both at the same time.
TEST(Subnets, LevelsOfAReductionOverlap) {
  auto network = test::quads();
  std::vector<int> all(network.hosts.size());
  std::iota(all.begin(), all.end(), 0);
  network.processors = {{all, {1.8e-5, 1.46e8}}};
  const auto wires = test::wires_of(network);
  const std::pair<Operation, double> most_over_busiest[] = {
      {Operation::all_reduce, 1.25}, {Operation::reduce_scatter, 1.4}, {Operation::reduce, 1.7}};
  for (const auto& [operation, most] : most_over_busiest) {
    const auto [time, busiest] = best(problem_of(operation, wires.n_ranks()), wires);
    EXPECT_LT(time, most * busiest) << name_of(operation);
  }
}

TEST(Subnets, BothPhasesOfAnAllReduceLoadTheWiresEvenly) {
  const auto wires = test::wires_of(test::quads());
  const auto problem = problem_of(Operation::all_reduce, wires.n_ranks());
  for (const char* pattern : {"chain", "binomial", "binomial,chain"}) {
    auto plan = plan_subnets(problem, wires, {16384, 2, 0, pattern, false});
    const double both = least_seconds(plan, problem, wires);
    std::erase_if(plan.messages, [](const PlannedMessage& message) { return message.effect == Effect::replace; });
    EXPECT_LT(least_seconds(plan, problem, wires), 0.53 * both) << pattern;
  }
}

TEST(Subnets, BroadcastLeavesThroughAllPortsOfTheRootsGroup) {
  const auto wires = test::wires_of(test::quads());
  const auto problem = problem_of(Operation::broadcast, wires.n_ranks());
  std::set<int> senders;
  for (const auto& message : plan_subnets(problem, wires, {8192, 2, 0, "chain", false}).messages)
    if (wires.host_of(message.from) < 4 && wires.host_of(message.to) >= 4) senders.insert(wires.host_of(message.from));
  EXPECT_EQ(senders, (std::set<int>{0, 1, 2, 3}));
}

TEST(Subnets, AThinLinkIsCrossedOnceAPiece) {
  const auto wires = test::wires_of(test::two_racks());
  const auto problem = problem_of(Operation::broadcast, wires.n_ranks());
  const auto plan = plan_subnets(problem, wires, {50'000, 2, 0, "binomial", false});
  std::int64_t crossed = 0;
  for (const auto& message : plan.messages)
    if (wires.level(message.from, message.to) == 2) crossed += message.length;
  EXPECT_EQ(crossed, 1'000'000);
}

TEST(DeliveryTrees, ReachEveryRankOnceFromAnyRoot) {
  for (const auto& network : {test::quads(), test::two_racks(), test::three_segments(), test::one_slow_switch()}) {
    const auto wires = test::wires_of(network);
    for (const char* pattern : {"chain", "binary", "binomial", "star", "chain,star", "binomial,chain", "chain/star"}) {
      DeliveryTrees trees(wires, patterns_of(pattern));
      for (int root = 0; root < wires.n_ranks(); ++root)
        for (const auto direction : {DeliveryTrees::Direction::from_root, DeliveryTrees::Direction::to_root}) {
          std::set<int> reached{root};
          for (const auto& edge : trees.add_tree(root, 1000, direction)) {
            EXPECT_TRUE(reached.contains(edge.parent)) << "before it has the data";
            EXPECT_TRUE(reached.insert(edge.child).second) << "twice";
          }
          EXPECT_EQ(static_cast<int>(reached.size()), wires.n_ranks());
        }
      auto roots = trees.spread_roots();
      std::sort(roots.begin(), roots.end());
      for (int rank = 0; rank < wires.n_ranks(); ++rank) EXPECT_EQ(roots[static_cast<std::size_t>(rank)], rank);
    }
  }
  EXPECT_THROW(patterns_of("chain,ladder"), InputError);
  EXPECT_THROW(patterns_of("chain/"), InputError);
}

/// Returns four hosts on a bus and four on a switch, joined by a router.
machine::Network bus_and_switch() {
  return test::network_of({{4, 1, 10, 10, machine::Medium::bus}, {4, 1, 10, 10}, {1, 1, 10}}, 10);
}

TEST(DeliveryTrees, ASubnetHasThePatternOfItsKind) {
  const auto wires = test::wires_of(bus_and_switch());
  for (const char* pattern : {"chain/star", "binomial,chain/star"}) {
    std::set<int> givers_on_bus, givers_on_switch;
    for (const auto& [parent, child] :
         DeliveryTrees(wires, patterns_of(pattern)).add_tree(0, 1000, DeliveryTrees::Direction::from_root)) {
      if (wires.level(parent, child) > 1) continue;
      (parent < 4 ? givers_on_bus : givers_on_switch).insert(parent);
    }
    EXPECT_EQ(givers_on_bus, (std::set<int>{0})) << pattern;
    EXPECT_EQ(givers_on_switch.size(), 3u) << pattern;
  }
}

TEST(Subnets, BusesAndSwitchesAreOfferedPatternsOfTheirOwn) {
  const auto n_mixed = [](const machine::Network& network) {
    const auto wires = test::wires_of(network);
    const auto found = candidates_subnets(problem_of(Operation::broadcast, wires.n_ranks()), wires);
    return std::count_if(found.begin(), found.end(), [](auto& p) { return p.pattern.find('/') != std::string::npos; });
  };
  EXPECT_GT(n_mixed(bus_and_switch()), 0);
  EXPECT_EQ(n_mixed(test::quads()), 0);
}

TEST(Predict, OneMessageTakesLatencyAndBytes) {
  const auto wires = test::wires_of(test::one_slow_switch());
  const CollectiveProblem problem{Operation::broadcast, 32, 0, {60'000}, 1, true};
  const MessagePlan plan{"", {{0, 2, Effect::replace, Buffer::output, Buffer::output, 0, 0, 60'000}}, 0};
  EXPECT_NEAR(predict(plan, problem, wires).seconds, 3.3e-4 + 60'000 / test::mbit(10), 1e-6);
}

TEST(Predict, MessagesOfOnePortQueueAndThoseOfOthersDoNot) {
  const auto wires = test::wires_of(test::one_slow_switch());
  const CollectiveProblem problem{Operation::broadcast, 32, 0, {60'000}, 1, true};
  const auto message = [](int from, int to) {
    return PlannedMessage{from, to, Effect::replace, Buffer::output, Buffer::output, 0, 0, 60'000};
  };
  const double alone = 60'000 / test::mbit(10);
  EXPECT_NEAR(predict({"", {message(0, 2), message(1, 4)}, 0}, problem, wires).seconds, 2 * alone, 0.01 * alone);
  EXPECT_NEAR(predict({"", {message(0, 2), message(4, 6)}, 0}, problem, wires).seconds, alone, 0.02 * alone);
  EXPECT_NEAR(predict({"", {message(0, 2), message(2, 4)}, 0}, problem, wires).seconds, 2 * alone, 0.02 * alone)
      << "the second forwards the first";
  const auto segments = test::wires_of(test::three_segments());
  EXPECT_NEAR(
      predict({"", {message(0, 1), message(2, 3)}, 0}, {Operation::broadcast, 8, 0, {60'000}, 1, true}, segments)
          .seconds,
      2 * alone, 0.01 * alone)
      << "one bus";
}

TEST(Predict, HostsThatShareProcessorsWaitForThem) {
  auto network = test::one_slow_switch();
  network.processors = {{{0, 1, 2, 3}, {1e-3, 1e6}}};
  const auto wires = test::wires_of(network);
  const CollectiveProblem problem{Operation::broadcast, 32, 0, {60'000}, 1, true};
  const auto seconds = [&](const std::vector<std::pair<int, int>>& messages) {
    MessagePlan plan;
    for (const auto& [from, to] : messages)
      plan.messages.push_back({from, to, Effect::replace, Buffer::output, Buffer::output, 0, 0, 60'000});
    return predict(plan, problem, wires).seconds;
  };
  const double alone = 60'000 / test::mbit(10), work = 1e-3 + 60'000 / 1e6;  // of one end
  EXPECT_NEAR(seconds({{8, 10}, {12, 14}}), alone, 0.02 * alone) << "hosts with their own";
  EXPECT_NEAR(seconds({{0, 2}, {4, 6}}), 4 * work + 8 * slice_of_a_rank, 0.02 * work)
      << "two ends of two messages, and a round of eight ranks";
  network.processors.front().work = {1e-5, 1e8};
  const auto fast = test::wires_of(network);
  MessagePlan burst;
  for (const int from : {0, 4})
    burst.messages.push_back({from, from + 2, Effect::replace, Buffer::output, Buffer::output, 0, 0, 60'000});
  EXPECT_NEAR(predict(burst, problem, fast).seconds, alone, 0.05 * alone) << "a burst is over before turns are felt";
  EXPECT_NEAR(seconds({{0, 8}, {10, 2}}), 2 * work, 0.02 * work) << "one end of each";
  EXPECT_LT(seconds({{0, 1}}), 0.1 * work) << "inside a host";
}

TEST(Predict, BeyondTheHorizonARankWaitsForItsEarlierMessages) {
  const auto wires = test::wires_of(test::one_slow_switch());
  const CollectiveProblem problem{Operation::broadcast, 32, 0, {60'000}, 1, true};
  MessagePlan plan;
  for (const int to : {2, 1})
    plan.messages.push_back({0, to, Effect::replace, Buffer::output, Buffer::output, 0, 0, 60'000});
  const double alone = 60'000 / test::mbit(10);
  EXPECT_LT(predict(plan, problem, wires).done[1], 0.1 * alone) << "inside the host";
  plan.horizon = 2;
  EXPECT_LT(predict(plan, problem, wires).done[1], 0.1 * alone);
  plan.horizon = 1;
  EXPECT_GT(predict(plan, problem, wires).done[1], alone);
}

TEST(Predict, GivesUpBeyondALimit) {
  const auto wires = test::wires_of(test::one_slow_switch());
  const CollectiveProblem problem{Operation::broadcast, 32, 0, {60'000}, 1, true};
  MessagePlan plan;
  for (int from = 0; from < 16; from += 2)
    plan.messages.push_back({from, from + 2, Effect::replace, Buffer::output, Buffer::output, 0, 0, 60'000});
  const auto whole = predict(plan, problem, wires);
  EXPECT_EQ(predict(plan, problem, wires, whole.seconds).seconds, whole.seconds);
  const double limit = whole.seconds / 3;
  const double at_least = predict(plan, problem, wires, limit).seconds;
  EXPECT_GT(at_least, limit);
  EXPECT_LT(at_least, whole.seconds);
  EXPECT_DOUBLE_EQ(least_seconds(plan, problem, wires),
                   *std::max_element(whole.wire_busy.begin(), whole.wire_busy.end()));
}

/// Over TCP two hosts that send to one port at once take longer, and so does a message that the library requests first.
TEST(Predict, CrowdedPortsAndLongMessagesTakeLonger) {
  const auto wires = test::wires_of(test::one_slow_switch());
  const auto seconds = [&](std::vector<std::pair<int, int>> messages, std::int64_t length) {
    const CollectiveProblem problem{Operation::broadcast, 32, 0, {4 * length}, 1, true};
    MessagePlan plan;
    std::int64_t at = 0;
    for (const auto& [from, to] : messages) {
      plan.messages.push_back({from, to, Effect::replace, Buffer::output, Buffer::output, at, at, length});
      at += length;
    }
    return predict(plan, problem, wires).seconds;
  };
  const double alone = seconds({{0, 2}}, 60'000);
  EXPECT_NEAR(seconds({{0, 2}, {1, 3}}, 60'000), 2 * alone, 0.02 * alone) << "of one host";
  EXPECT_NEAR(seconds({{0, 4}, {2, 4}}, 60'000), 2.25 * alone, 0.02 * alone) << "of two";
  EXPECT_NEAR(seconds({{0, 2}}, 80'000), 1.3 * 80'000 / test::mbit(10), 0.02 * alone);
}

TEST(Choose, FollowsTheMapWhereItGainsAndStepsAsideWhereItDoesNot) {
  const auto quads = test::wires_of(test::quads());
  const auto far = choose(problem_of(Operation::broadcast, 32), quads);
  ASSERT_TRUE(far.ours.has_value()) << far.reason;
  EXPECT_STREQ(far.ours->entry->name, "hierarchical");
  EXPECT_TRUE(far.ours->parameters.pattern.starts_with("subnets")) << far.ours->parameters.pattern;
  EXPECT_GT(far.native_seconds, 2 * far.ours->seconds);
  EXPECT_FALSE(
      choose({Operation::barrier, 32, 0, {1}, 0, true}, test::wires_of(test::one_slow_switch())).ours.has_value());
  EXPECT_FALSE(choose(problem_of(Operation::broadcast, 32), quads, "native").ours.has_value());
  EXPECT_FALSE(choose(problem_of(Operation::barrier, 1), test::wires_of(test::network_of({{1, 1}}, 10))).ours);
  EXPECT_THROW(choose(problem_of(Operation::broadcast, 32), quads, "subnet"), InputError);
}

TEST(Choose, OneProblemStandsForItsClass) {
  const auto shape_of = [](std::vector<std::int64_t> blocks, std::int64_t element_bytes = 8) {
    const auto n_ranks = std::max(2, static_cast<int>(blocks.size()));
    return representative({Operation::all_gather, n_ranks, 0, std::move(blocks), element_bytes, true});
  };
  const auto blocks_of = [&](std::vector<std::int64_t> blocks) { return shape_of(std::move(blocks)).blocks; };
  using Blocks = std::vector<std::int64_t>;
  for (const std::int64_t count : {97, 100, 128, 191}) EXPECT_EQ(blocks_of({count}), Blocks{128}) << count;
  EXPECT_EQ(blocks_of({95}), Blocks{64});
  EXPECT_EQ(blocks_of({192}), Blocks{256});
  EXPECT_EQ(blocks_of({0}), Blocks{0});
  EXPECT_EQ(shape_of({1}, 3).blocks, Blocks{1});
  EXPECT_EQ(blocks_of({100, 140, 120, 152}), Blocks(4, 128));
  EXPECT_EQ(blocks_of({1, 1, 1}), Blocks(3, 1));
  EXPECT_EQ(blocks_of({0, 1000, 10, 14}), Blocks({0, 1024, 0, 0}));
  EXPECT_EQ(blocks_of({30, 0, 0, 480, 0, 0, 0, 2}), Blocks({0, 0, 0, 512, 0, 0, 0, 0}));
  EXPECT_EQ(blocks_of({0, 0, 0, 0}), Blocks(4, 0));
  // It has at most as many bytes as the power of two, and at least half of them.
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 1000; ++turn) {
    Blocks blocks(1 + random() % 9);
    for (auto& count : blocks) count = static_cast<std::int64_t>((random() % 100'000) >> (random() % 18));
    const auto shape = shape_of(blocks, static_cast<std::int64_t>(1 + random() % 30));
    const auto total = static_cast<double>(std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0}));
    const auto least = *std::min_element(shape.blocks.begin(), shape.blocks.end());
    const double ratio = static_cast<double>(shape.offsets().back()) / std::max(1.0, total);
    const bool is_right =
        shape.blocks.size() == blocks.size() && least >= 0 && (total < 30 || (ratio > 0.3 && ratio < 1.4));
    EXPECT_TRUE(is_right) << fmt::format("{} for {}", fmt::join(shape.blocks, " "), fmt::join(blocks, " "));
  }
}

TEST(Choose, TrialsCorrectThePredictions) {
  const auto wires = test::wires_of(test::network_of(std::vector<test::Group>(4, {8, 1, 100, 40}), 10));
  const auto problem = problem_of(Operation::broadcast, 32);
  const auto plain = choose(problem, wires);
  ASSERT_TRUE(plain.ours.has_value());
  const auto text = text_of({plain.ours->entry->name, plain.ours->parameters});
  const auto trial = [&](const std::string& entry, double predicted, double factor, std::int64_t bytes) {
    return machine::Trial{"any", "broadcast", 32, bytes, entry, predicted, factor * predicted, 0, ""};
  };
  const auto bytes = bytes_of(problem);
  // The best entry takes ten times as long as predicted, so another one, or the library, takes its place.
  std::vector trials{trial(text, plain.ours->seconds, 10, bytes)};
  auto choice = choose(problem, wires, std::nullopt, trials);
  EXPECT_TRUE(!choice.ours || text_of({choice.ours->entry->name, choice.ours->parameters}) != text);
  // The library is as fast as the entry that was tried, so it is chosen.
  trials = {trial(text, plain.ours->seconds, 1, bytes),
            trial("native", plain.native_seconds, plain.ours->seconds / plain.native_seconds, bytes)};
  choice = choose(problem, wires, std::nullopt, trials);
  EXPECT_FALSE(choice.ours.has_value()) << choice.reason;
  EXPECT_NE(choice.reason.find("tried"), std::string::npos);
  EXPECT_NEAR(choice.native_seconds, plain.ours->seconds, 1e-9);
  // The entry is faster by the median, but with scattered times it is not clearly faster than the library.
  for (const double least : {0.8, 1.5}) {
    trials = {trial(text, plain.ours->seconds, 1, bytes), trial("native", plain.native_seconds, 1, bytes)};
    trials[0].least_gain = least;
    const auto of_these = choose(problem, wires, text_of({plain.ours->entry->name, std::nullopt}), trials);
    const bool is_faster = of_these.ranked.front().seconds < 0.9 * plain.native_seconds;
    EXPECT_EQ(is_faster, least == 1.5) << least;
  }
  // An entry that was not tried must be clearly better than one that was.
  const auto& second = plain.ranked[1];
  trials = {trial(text, plain.ours->seconds, 1.1 * second.seconds / plain.ours->seconds, bytes),
            trial("subnets:segment=1", 1, 1, bytes)};  // the model is right for others of its kind
  EXPECT_EQ(text_of({choose(problem, wires, "subnets", trials).ours->entry->name,
                     choose(problem, wires, "subnets", trials).ours->parameters}),
            text);
  // The slowest entry by the model took half of the predicted time, but is still slower than the fastest.
  const auto all = rank_candidates(problem, wires);
  const auto& last = all.back();
  const auto slow = text_of({last.entry->name, last.parameters});
  ASSERT_GT(last.seconds, 4 * plain.ours->seconds);
  trials = {trial(text, plain.ours->seconds, 1, bytes), trial(slow, last.seconds, 0.5, bytes)};
  choice = choose(problem, wires, std::nullopt, trials);
  ASSERT_TRUE(choice.ours.has_value());
  EXPECT_EQ(text_of({choice.ours->entry->name, choice.ours->parameters}), text);
  for (const auto& candidate : choice.ranked) {
    if (text_of({candidate.entry->name, candidate.parameters}) != slow) continue;
    EXPECT_NEAR(candidate.seconds, 0.5 * last.seconds, 1e-9);
  }
  // Trials of other sizes, operations, numbers of ranks and placements have no effect.
  std::vector others(4, trial(text, 1, 10, bytes));
  others[0].bytes *= 16;
  others[1].operation = "all_gather";
  others[2].n_ranks = 31;
  others[3].placement = "0123456789abcdef";
  for (const auto& other : others) {
    const std::vector one{other};
    EXPECT_EQ(choose(problem, wires, std::nullopt, one).native_seconds, plain.native_seconds);
    EXPECT_EQ(choose(problem, wires, std::nullopt, one).ours->seconds, plain.ours->seconds);
  }
}

TEST(NamedEntry, ReadsWhatItWrites) {
  for (const char* text : {"ring", "native", "subnets:segment=8192:pattern=chain+star",
                           "k_ary:segment=0:degree=3:depth=2", "recursive_halving:segment=0:order=ranks"})
    EXPECT_EQ(text_of(named_entry(text)), text);
  EXPECT_FALSE(named_entry("ring").parameters.has_value());
  EXPECT_EQ(named_entry("subnets:pattern=chain+star").parameters->pattern, "chain,star");
  EXPECT_THROW(named_entry("ring:colour=red"), InputError);
  EXPECT_THROW(named_entry("ring:order=job"), InputError);
  EXPECT_THROW(named_entry("ring:segment=big"), InputError);
  EXPECT_THROW(named_entry("k_ary:degree=0"), InputError);
  EXPECT_THROW(named_entry("k_ary:depth=-1"), InputError);
  EXPECT_THROW(named_entry("ring:segment=-8"), InputError);
  EXPECT_THROW(named_entry("hierarchical:pattern=rang"), InputError);
  EXPECT_EQ(named_entry("hierarchical:pattern=subnets+chain").parameters->pattern, "subnets,chain");
}

TEST(Choose, LeavesOrderedReductionsToEntriesThatKeepTheOrder) {
  auto problem = problem_of(Operation::all_reduce, 32);
  problem.commutative = false;
  const auto choice = choose(problem, test::wires_of(test::quads()), "subnets");
  EXPECT_FALSE(choice.ours.has_value());
  EXPECT_NE(choice.reason.find("subnets"), std::string::npos);
}

}  // namespace
}  // namespace tessera::collectives
