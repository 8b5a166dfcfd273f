// Tests what is measured of cores, how often, and that all ranks choose alike by it.
#include "tessera/grid/choice/rates.h"

#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/grid/choice/agree.h"
#include "tessera/grid/distribute.h"
#include "tessera/machine/orders.h"

namespace tessera::grid {
namespace {

Stencil laplacian_of(int order) { return laplacian(order, {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}); }

TEST(GridRates, AreMeasured) {
  ThreadPool one(1), two(2);
  const auto alone = measure_rates<double>(laplacian_of(4), {.extents = {20, 18, 16}}, one);
  EXPECT_GT(alone.point, 0);
  EXPECT_GT(alone.packing, 0);
  EXPECT_EQ(alone.synchronising, 0);
  const auto whole = measure_rates<float>(laplacian_of(2), {.extents = {9, 8, 7}, .is_divided = {}}, two);
  EXPECT_GT(whole.point, 0);
  EXPECT_EQ(whole.packing, 0) << "no face goes to another rank";
  EXPECT_GT(whole.synchronising, 0);
  const auto waves = measure_rates<double>(
      laplacian_of(12), {.extents = {3, 1, 2}, .is_periodic = {false, true, false}, .components = 2}, one);
  EXPECT_GT(waves.packing, 0);
  const auto empty = measure_rates<double>(laplacian_of(4), {.extents = {0, 4, 4}}, one);
  EXPECT_EQ(empty.point, 0);
}

TEST(GridRates, OfTheSlowestRankAndOnceForAKind) {
  for (const int order : {2, 4}) {
    std::mutex one_at_a_time;
    std::set<std::tuple<double, double, double>> rates;
    std::set<std::tuple<std::string, std::int64_t, int>> choices;
    const auto before = rate_trials();
    // Ranks with boxes of 5 and 6 planes, which take different times, and one with two threads.
    for (int turn = 0; turn < 3; ++turn)
      comm::run_ranks({"a", "a", "b"}, [&](const comm::Communicator& comm) {
        const auto [layout, wires] = distribute(comm, {16, 12, 10}, {true, true, true}, Index3{3, 1, 1}, "");
        ThreadPool threads(comm.rank() == 2 ? 2 : 1);
        const auto its = agree_on_rates<double>(laplacian_of(order), 1, layout, comm, threads);
        const auto choice = choose_for_operator<double>(laplacian_of(order), 1, layout, wires.get(), {}, comm, threads);
        // By rates that are given, as what is measured depends on what else the machine does.
        const auto usual = agree_on_choice(comm, layout, wires.get(), HaloShape::of(laplacian_of(order)), 8, {});
        EXPECT_GT(usual.batch, 1) << "hosts are assumed to be on slow Ethernet";
        const std::lock_guard lock(one_at_a_time);
        rates.emplace(its.point, its.packing, its.synchronising);
        choices.emplace(choice.approach, choice.batch, choice.slope);
      });
    EXPECT_EQ(rates.size(), 1U);
    EXPECT_EQ(choices.size(), 1U);
    EXPECT_EQ(rate_trials() - before, 3) << "one trial a rank";
  }
}

TEST(GridRates, AreNotMeasuredWhereTheChoiceIsMade) {
  comm::run_ranks({"a", "b"}, [&](const comm::Communicator& comm) {
    const auto [layout, wires] = distribute(comm, {14, 14, 14}, {true, true, true}, std::nullopt, "");
    ThreadPool threads(1);
    const auto before = rate_trials();
    const auto choose = [&](const OperatorWish& wish) {
      return choose_for_operator<float>(laplacian_of(6), 1, layout, wires.get(), wish, comm, threads);
    };
    const auto given = choose({"", {3, 1}, 64});
    EXPECT_EQ(given.approach, "flat-optimized");
    EXPECT_EQ(given.batch, 3);
    EXPECT_EQ(given.slope, 1);
    EXPECT_EQ(choose({"flat-original", {}, 64}).batch, 1);
    comm.barrier();
    EXPECT_EQ(rate_trials(), before);
    comm.barrier();
    EXPECT_EQ(choose({"hybrid-master-only", {5, {}}, 64}).batch, 5);
    EXPECT_LE(choose({"", {}, 2}).batch, 2) << "two fields are given";
  });
  const auto before = rate_trials();
  ThreadPool one(1), two(2);
  const auto alone = comm::Communicator::alone();
  const auto layout = plan_layout({8, 8, 8}, {true, true, true}, 1);
  const auto wires = machine::Wires(machine::network_of({"a"}), {0});
  EXPECT_EQ(choose_for_operator<double>(laplacian_of(2), 1, layout, &wires, {}, alone, one).batch, 1);
  EXPECT_EQ(rate_trials(), before) << "one core has nothing to choose";
  const auto hybrid = choose_for_operator<double>(laplacian_of(2), 1, layout, &wires, {}, alone, two);
  EXPECT_EQ(rate_trials(), before + 1);
  EXPECT_TRUE(hybrid.approach.starts_with("hybrid-")) << hybrid.approach << ": which one follows from the rates";
  comm::run_ranks({"a", "a"}, [](const comm::Communicator& comm) {
    const auto [divided, wires_of_two] = distribute(comm, {8, 8, 8}, {true, true, true}, std::nullopt, "");
    ChoiceRequest dear;  // where meeting is
    dear.approaches = {"hybrid-multiple", "hybrid-master-only"};
    dear.threads = 2;
    dear.rates.synchronising = 50e-6;
    const auto shape = HaloShape::of(laplacian_of(2));
    EXPECT_EQ(agree_on_choice(comm, divided, wires_of_two.get(), shape, 8, dear).approach, "hybrid-multiple")
        << "threads with fields of their own meet least often";
  });
}

}  // namespace
}  // namespace tessera::grid
