// Compares predicted times with a count of every message, on a torus with known routes.
#include "tessera/fft/choice/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/fft/schemes.h"
#include "tessera/fft/test_support.h"
#include "tessera/machine/load/shared_processors.h"
#include "tessera/machine/test_support.h"

namespace tessera::fft {
namespace {

using machine::test::torus;

/// Returns the s of forward and backward exchanges: the load of the busiest wire by all messages, without latencies.
double counted(const TransformPlan& plan, const machine::Wires& wires) {
  double seconds = 0;
  for (const auto& move : plan.forward()) {
    std::vector<double> busy(wires.wires().size());
    for (const auto& m : all_messages(plan.problem.grid, move))
      for (const int wire : wires.path(m.from, m.to))
        busy[static_cast<std::size_t>(wire)] += static_cast<double>(m.values * move.components * 8) /
                                                wires.wires()[static_cast<std::size_t>(wire)].bandwidth;
    seconds += 2 * *std::max_element(busy.begin(), busy.end());
  }
  return seconds;
}

TEST(FftChoose, ExchangesTakeAsLongAsTheBusiestLink) {
  const auto pencils = plan_transform("pencil", {{32, 32, 32}, TransformKind::real, {2, 1, 0}, 64});
  const auto known = torus({4, 4, 4}, 1, true);
  EXPECT_DOUBLE_EQ(predict(pencils, 8, known).exchanges, counted(pencils, known));

  // On a ring every host sends the same amount to each of the 63 others, 1, …, 32 links up or 1, …, 31 down. Each link
  // upwards therefore carries 1 + … + 32 = 528 such messages, and each port 63.
  const auto slabs = plan_transform("slab", {{64, 64, 64}, TransformKind::complex, {2, 1, 0}, 64});
  const auto ring = torus({64}, 1, true), ports = torus({64}, 1, false);
  EXPECT_DOUBLE_EQ(predict(slabs, 8, ports).exchanges, counted(slabs, ports));
  EXPECT_NEAR(predict(slabs, 8, ring).exchanges / predict(slabs, 8, ports).exchanges, 528.0 / 63, 1e-9);
}

TEST(FftChoose, APartOfManyRanksTellsWhatAllWould) {
  const auto wires = torus({8, 8, 8}, 32, true);
  for (const auto* scheme : {"2d_alltoall", "1d_alltoall"}) {
    const auto plan = plan_transform(scheme, {{256, 256, 256}, TransformKind::real, {2, 1, 0}, wires.n_ranks()});
    EXPECT_NEAR(predict(plan, 8, wires).exchanges / counted(plan, wires), 1, 0.05) << scheme;
  }
}

TEST(FftChoose, PassesTakeAsLongAsTheMapSaysThatARankCopies) {
  const auto slabs = plan_transform("slab", {{64, 64, 64}, TransformKind::complex, {2, 1, 0}, 2});
  machine::Host host{"n0", 2, machine::Link{1e-6, 2e10}};
  const std::vector<int> host_of_rank{0, 0};
  // There are two stages, forward and backward, each of half of the mesh, read and written: 16 bytes per point.
  const double bytes = 2 * 2 * 2 * (64 * 64 * 64 / 2) * 16.0;
  EXPECT_DOUBLE_EQ(predict(slabs, 8, {machine::one_switch({host}, {1e-6, 1e9}), host_of_rank}).passes, bytes / 2e10);
  host.inside.reset();
  EXPECT_DOUBLE_EQ(predict(slabs, 8, {machine::one_switch({host}, {1e-6, 1e9}), host_of_rank}).passes,
                   bytes / machine::Wires::unmeasured_inside.bandwidth);
}

/// Returns four racks of two hosts with four ranks each, of which nobody measured what the processors do.
machine::Network racks() {
  machine::Network network;
  network.subnets.push_back({-1, {1, 2, 3, 4}, {}, {5e-5, 1.2e7}, machine::Medium::fabric, std::nullopt});
  for (int rack = 0; rack < 4; ++rack) {
    network.subnets.push_back({0, {}, {2 * rack, 2 * rack + 1}, {5e-5, 1.2e8}, machine::Medium::fabric, 1.2e7});
    for (const char* name : {"a", "b"})
      network.hosts.push_back({name + std::to_string(rack), 4, machine::Wires::unmeasured_inside});
  }
  return network;
}

TEST(FftChoose, AMapWithoutProcessorsIsNoWorseThanNoMap) {
  const TransformProblem problem{{32, 32, 32}, TransformKind::real, {2, 1, 0}, 32};
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < problem.ranks; ++rank) host_of_rank.push_back(rank / 4);
  auto assumed = racks(), measured = racks();
  machine::add_shared_processors(assumed, host_of_rank, std::vector<std::string>(host_of_rank.size(), "one"));
  measured.processors = {{{0, 1, 2, 3, 4, 5, 6, 7}, {2.9e-5, 1.39e8}}};
  const machine::Wires wires(measured, host_of_rank);
  const auto chosen = rank_schemes(problem, 4, {assumed, host_of_rank}).front().plan;
  const auto without_map = rank_schemes(problem, 4, wires_of_one_host(problem.ranks)).front().plan;
  EXPECT_LE(predict(chosen, 4, wires).seconds(), predict(without_map, 4, wires).seconds()) << chosen.scheme;
}

}  // namespace
}  // namespace tessera::fft
