// Tests the model of times against the formula that it generalises and against counts by hand.
#include "tessera/grid/choice/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/batches.h"
#include "tessera/grid/choice/agree.h"
#include "tessera/grid/choice/choose.h"
#include "tessera/grid/choice/divide.h"
#include "tessera/grid/distribute.h"
#include "tessera/grid/operator.h"
#include "tessera/machine/orders.h"
#include "tessera/machine/test_support.h"

namespace tessera::grid {
namespace {

/// Returns the wait of Kristensen et al. (2011), Figure 5.2, with the remaining batches counted as its text says.
/// `byte_time`: of a field's surface, `c`: of its points.
double wait_of_the_paper(double l, double byte_time, double c, double t, double b, int n) {
  double wait = l + b / std::pow(2, n) * byte_time;
  for (int i = 1; i <= n; ++i) wait += std::max(0.0, l + b / std::pow(2, i - 1) * byte_time - c * b / std::pow(2, i));
  return wait + std::max(0.0, l + b * byte_time - c * b) * std::max(0.0, t / b - 2 + std::pow(2, -n));
}

TEST(GridCost, IsTheFormulaOfThePaper) {
  for (const double c : {1.0, 3.0, 20.0})
    for (const double l : {0.5, 40.0})
      for (const int n : {0, 1, 2, 3}) {
        // Whole batches: n smaller ones, b/2ⁿ + … + b/2, then those of b.
        const std::int64_t b = 16, first = 16 / (1 << n), t = 2 * b - first + 3 * b;
        const FieldCost cost{c, 0, {l, 2.0}, {}, 0, 1};
        const auto found = predict(find_model("flat-optimized"), cost, t, 1, b, n);
        EXPECT_NEAR(found.waiting, wait_of_the_paper(l, 2.0, c, static_cast<double>(t), 16, n), 1e-9)
            << c << " " << l << " " << n;
        EXPECT_DOUBLE_EQ(found.computing, c * static_cast<double>(t));
      }
}

/// The paper's own count, t/b + 1 − 2ⁿ⁺¹, is right in units of the first batch: of b = 2ⁿ, where that is 1.
TEST(GridCost, LastBatchMayBeSmaller) {
  const FieldCost cost{1, 0, {3, 2}, {}, 0, 1};
  // Batches 4, 4, 2: the first waits 3 + 8, the second 11 − 4, the third 3 + 4 − 4.
  EXPECT_DOUBLE_EQ(predict(find_model("flat-optimized"), cost, 10, 1, 4, 0).waiting, 11 + 7 + 3);
  // One batch alone: there is nothing to overlap, and no negative count.
  EXPECT_DOUBLE_EQ(predict(find_model("flat-optimized"), cost, 3, 1, 8, 0).waiting, 3 + 6);
}

TEST(GridCost, ByHand) {
  const FieldCost cost{10, 2, {1, 3}, {{1, 1}, {1, 1}, {1, 1}}, 5, 1};
  const auto original = predict(find_model("flat-original"), cost, 8, 1, 4, 1);
  EXPECT_DOUBLE_EQ(original.waiting, 8 * 6);
  EXPECT_DOUBLE_EQ(original.seconds(), 8 * (10 + 2 + 6));
  // Four threads have two fields each, and their messages share the links: 1 + 4 · 3 · 2, all in one batch.
  const auto multiple = predict(find_model("hybrid-multiple"), cost, 8, 4, 2, 0);
  EXPECT_DOUBLE_EQ(multiple.waiting, 1 + 4 * 3 * 2);
  EXPECT_DOUBLE_EQ(multiple.computing, 20);
  EXPECT_DOUBLE_EQ(multiple.synchronising, 5);
  // With a batch of one, the first field's 13 s are waited for, and the second's pass while the first is packed out (1)
  // and computed (10).
  EXPECT_DOUBLE_EQ(predict(find_model("hybrid-multiple"), cost, 8, 4, 1, 0).waiting, 13 + 2);
  const auto master = predict(find_model("hybrid-master-only"), cost, 8, 4, 2, 0);
  EXPECT_DOUBLE_EQ(master.computing, 20);
  EXPECT_DOUBLE_EQ(master.packing, 4);
  EXPECT_DOUBLE_EQ(master.synchronising, 4 * 3 * 5);  // four batches are packed, unpacked and computed
  EXPECT_DOUBLE_EQ(predict(find_model("flat-optimized"), cost, 0, 1, 4, 1).seconds(), 0);
}

TEST(GridCost, OverlapIsAShareOfComputing) {
  FieldCost cost{10, 0, {2, 4}, {}, 0, 1};
  const auto waits = [&](double overlap) {
    cost.overlap = overlap;
    return predict(find_model("flat-optimized"), cost, 4, 1, 1, 0).waiting;
  };
  EXPECT_DOUBLE_EQ(waits(1), 6);
  EXPECT_DOUBLE_EQ(waits(0.5), 6 + 3 * 1);
  EXPECT_DOUBLE_EQ(waits(0), 4 * 6);
}

TEST(GridCost, BatchesHelpWhereLatencyCounts) {
  const FieldCost quick{1, 0, {100, 0.1}, {}, 0, 1};
  EXPECT_GT(choose_batches(find_model("flat-optimized"), quick, 1000, 1).batch, most_batch / 2);
  // Sloped batches pay where starting messages costs the core's own time, and computing hides the rest: in the paper's
  // formula, which leaves that out, a smaller batch throughout waits as little.
  const FieldCost started{3, 0, {1, 2, 20}, {}, 0, 1};
  const auto sloped = choose_batches(find_model("flat-optimized"), started, 100, 1);
  EXPECT_GT(sloped.slope, 0);
  EXPECT_LT(sloped.predicted.seconds(),
            predict(find_model("flat-optimized"), started, 100, 1, sloped.batch, 0).seconds());
  // Where computing hides all, batches gain nothing but a later start.
  const FieldCost slow{1000, 0, {1, 0.1}, {}, 0, 1};
  EXPECT_EQ(choose_batches(find_model("flat-optimized"), slow, 1000, 1).batch, 1);
  // The best of all, by trying all.
  const FieldCost between{3, 0.5, {10, 4}, {}, 0, 0.7};
  const auto best = choose_batches(find_model("flat-optimized"), between, 100, 1);
  for (std::int64_t batch = 1; batch <= most_batch; ++batch)
    for (int slope = 0; slope < 7; ++slope)
      EXPECT_LE(best.predicted.seconds(),
                1.021 * predict(find_model("flat-optimized"), between, 100, 1, batch, slope).seconds());
}

TEST(GridCost, KnowsEachApproach) {
  for (const auto& entry : approaches()) EXPECT_EQ(find_model(entry.name).name, entry.name);
  EXPECT_THROW(find_model("round"), InputError);
}

machine::Network hosts_on_a_switch(int hosts, int slots) {
  std::vector<machine::Host> list;
  for (int i = 0; i < hosts; ++i) list.push_back({"n" + std::to_string(i), slots, machine::Link{1e-7, 1e12}});
  return machine::one_switch(list, {1e-6, 1e9});
}

TEST(GridCost, CountsBytesOfALayout) {
  const HaloShape two{{Index3{2, 2, 2}, Index3{2, 2, 2}}, false};
  const CoreRates rates{1e-8, 1e-9, 0, 1};
  // 4 × 4 × 4 ranks of 8³ points on hosts of their own: six faces of 2 · 64 points.
  const auto layout = plan_layout({32, 32, 32}, {true, true, true}, 64);
  const auto cost = cost_of_layout(layout, two, 8, wires_of_threads(hosts_on_a_switch(64, 1), 64, 1), rates);
  EXPECT_EQ(cost.messages, 6);
  EXPECT_DOUBLE_EQ(cost.bytes, 6 * 128 * 8);
  EXPECT_DOUBLE_EQ(cost.field.computing, 512e-8);
  EXPECT_NEAR(cost.field.packing, cost.bytes * 1e-9, 1e-15);
  EXPECT_NEAR(cost.field.at_once.transfer, cost.bytes / 1e9, 1e-12);
  ASSERT_EQ(cost.field.by_direction.size(), 3U);
  double sum = 0;
  for (const auto& stage : cost.field.by_direction) sum += stage.transfer;
  EXPECT_NEAR(cost.field.at_once.latency, 1e-6, 1e-12);
  EXPECT_NEAR(cost.field.at_once.starting, 2e-6, 1e-12);  // six halves of a latency, less one
  EXPECT_NEAR(sum, cost.field.at_once.transfer, 1e-12);
  // Eight layouts of 8 ranks, all on hosts of 8: nothing leaves a host.
  const auto small = plan_layout({32, 32, 32}, {true, true, true}, 8);
  const auto inside = cost_of_layout(small, two, 8, wires_of_threads(hosts_on_a_switch(8, 8), 64, 1), rates);
  EXPECT_EQ(inside.field.at_once.transfer, 0);
  EXPECT_NEAR(inside.field.packing, inside.bytes * (1e-9 + 1e-12), 1e-15) << "images along z are read where they are";
  // A sample of many ranks gives what all do.
  const auto many = plan_layout({64, 64, 64}, {true, true, true}, 512);
  const auto sampled = cost_of_layout(many, two, 8, wires_of_threads(hosts_on_a_switch(512, 1), 512, 1), rates);
  EXPECT_NEAR(sampled.field.at_once.transfer, cost.field.at_once.transfer, 1e-12);
}

TEST(GridCost, ThreadsTakeSlots) {
  const auto wires = wires_of_threads(hosts_on_a_switch(4, 8), 8, 4);
  EXPECT_EQ(wires.n_hosts(), 4);
  EXPECT_DOUBLE_EQ(wires.wires()[0].bandwidth, 4e12);
  EXPECT_THROW(wires_of_threads(hosts_on_a_switch(4, 8), 9, 4), InputError);
}

/// Each host has a box of 8³ points, and its neighbours' are one link away: 2 · 8² points cross each link of the torus,
/// however large it is.
TEST(GridCost, OnATorusDoesNotGrowWithIt) {
  const HaloShape two{{Index3{2, 2, 2}, Index3{2, 2, 2}}, false};
  for (const int n : {4, 8, 16, 32}) {
    const Index3 hosts{n, n, n}, points{8 * n, 8 * n, 8 * n};
    const auto wires = machine::test::torus({n, n, n}, 1, true);
    const auto layout = plan_layout(points, {true, true, true}, n * n * n, hosts);
    const auto cost = cost_of_layout(layout, two, 8, wires, {}).field;
    // The port of a host carries all six faces that it sends.
    EXPECT_NEAR(cost.at_once.transfer, 6 * 2 * 64 * 8 / 1e9, 1e-12) << n;
    for (const auto& one : cost.by_direction) EXPECT_NEAR(one.transfer, 2 * 2 * 64 * 8 / 1e9, 1e-12) << n;
  }
  // Two ranks a host send twice as much.
  const auto wires = machine::test::torus({4, 32, 8}, 2, true);
  const auto layout = plan_layout({32, 256, 128}, {true, true, true}, 2048, Index3{4, 32, 16});
  const auto small = machine::test::torus({4, 4, 4}, 2, true);
  const auto as_small = plan_layout({32, 32, 64}, {true, true, true}, 128, Index3{4, 4, 8});
  EXPECT_NEAR(cost_of_layout(layout, two, 8, wires, {}).field.at_once.transfer,
              cost_of_layout(as_small, two, 8, small, {}).field.at_once.transfer, 1e-12);
}

TEST(GridCost, AllRanksAgree) {
  comm::run_ranks({"a", "a", "b", "b"}, [&](const comm::Communicator& comm) {
    const auto grid = distribute(comm, {24, 24, 24}, {true, true, true}, std::nullopt, "");
    const HaloShape two{{Index3{2, 2, 2}, Index3{2, 2, 2}}, false};
    const ChoiceRequest request{{"flat-original", "flat-optimized"}, 100, 1, {}, {}};
    const auto choice = agree_on_choice(comm, grid.layout, grid.wires.get(), two, 8, request);
    EXPECT_EQ(choice.approach, "flat-optimized");
    EXPECT_GT(choice.batch, 1) << "hosts are assumed to be on slow Ethernet";
    EXPECT_GT(choice.predicted.seconds(), 0);
    EXPECT_THROW(agree_on_choice(comm, grid.layout, grid.wires.get(), two, 8, {{"round"}, 1, 1, {}, {}}), InputError);
  });
}

TEST(GridCost, GivenBatchesAreKept) {
  const FieldCost cost{3, 0, {1, 2, 20}, {}, 0, 1};
  const auto& model = find_model("flat-optimized");
  EXPECT_EQ(choose_batches(model, cost, 100, 1, {5, {}}).batch, 5);
  EXPECT_EQ(choose_batches(model, cost, 100, 1, {{}, 2}).slope, 2);
  const auto both = choose_batches(model, cost, 100, 1, {9, 1});
  EXPECT_EQ(both.batch, 9);
  EXPECT_EQ(both.slope, 1);
  EXPECT_DOUBLE_EQ(both.predicted.seconds(), predict(model, cost, 100, 1, 9, 1).seconds());
}

TEST(GridDivide, TakesKPointsFirst) {
  const HaloShape two{{Index3{2, 2, 2}, Index3{2, 2, 2}}, false};
  const DivisionProblem problem{{48, 48, 48}, {true, true, true}, two, 16, 4, 64};
  const auto found = rank_divisions(problem, hosts_on_a_switch(4, 8), 32, {}, {});
  ASSERT_FALSE(found.empty());
  for (const auto& one : found) {
    const auto& d = one.domain;
    EXPECT_EQ(one.kpoints * one.bands * d[0] * d[1] * d[2], 32);
    EXPECT_EQ(64 % one.bands, 0);
  }
  // Different k-points need no messages at all.
  EXPECT_EQ(found.front().kpoints, 4);
  // One k-point and one band leave the domain.
  const auto one_field =
      rank_divisions({{48, 48, 48}, {true, true, true}, two, 8, 1, 1}, hosts_on_a_switch(4, 8), 32, {}, {});
  ASSERT_EQ(one_field.size(), 1U);
  EXPECT_EQ(one_field.front().domain, (Index3{4, 4, 2}));
  EXPECT_THROW(rank_divisions({{2, 2, 2}, {true, true, true}, two, 8, 1, 1}, hosts_on_a_switch(4, 8), 32, {}, {}),
               InputError);
}

}  // namespace
}  // namespace tessera::grid
