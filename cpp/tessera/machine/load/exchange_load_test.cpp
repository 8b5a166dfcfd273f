#include "tessera/machine/load/exchange_load.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

constexpr Link inside = {1e-5, 1e9}, between = {2e-5, 1e9};

TEST(ExchangeLoad, IsThatOfTheBusiestWireAndRank) {
  const auto network = test::tree_of_racks({2, 2}, inside, between);
  const auto wires = test::one_rank_a_host(network);
  ExchangeLoad none(wires);
  EXPECT_EQ(none.seconds(), 0);

  ExchangeLoad one(wires);
  one.add(0, 1, 1e6);
  EXPECT_DOUBLE_EQ(one.seconds(), 0.5 * inside.latency + 1e-3);

  // Two messages of rank 0 share its port; one of other hosts goes along with them.
  ExchangeLoad several(wires);
  several.add(0, 1, 1e6);
  several.add(0, 1, 1e6);
  several.add(2, 3, 1e6);
  EXPECT_DOUBLE_EQ(several.seconds(), 2 * 0.5 * inside.latency + 2e-3);
  EXPECT_DOUBLE_EQ(several.seconds(), 2 * 0.5 * inside.latency + 2e-3) << "asking again changes nothing";
}

TEST(ExchangeLoad, ASampleOfAnEvenExchangeGivesItsTime) {
  auto network = test::tree_of_racks({4, 4, 4, 4}, inside, between);
  for (auto& subnet : network.subnets)
    if (subnet.parent == 0) subnet.uplink = 1e8;
  const auto wires = test::one_rank_a_host(network);
  const auto seconds = [&](int n_senders, double share) {
    ExchangeLoad load(wires);
    for (int from = 0; from < n_senders; ++from)
      for (int to = 0; to < wires.n_ranks(); ++to)
        if (to != from) load.add(from, to, 1e5);
    return load.seconds(share);
  };
  EXPECT_NEAR(seconds(4, 0.25), seconds(16, 1), 0.3 * seconds(16, 1));
}

TEST(ExchangeLoad, SamplesWholeHosts) {
  auto network = test::tree_of_racks({40, 40}, inside, between);
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < 320; ++rank) host_of_rank.push_back(rank / 4);
  const Wires wires(network, host_of_rank);
  const auto ranks = ranks_of_some_hosts(wires, 30, 1024);
  EXPECT_EQ(ranks.size(), 32U);
  std::set<int> hosts;
  for (const int rank : ranks) hosts.insert(wires.host_of(rank));
  EXPECT_EQ(hosts.size(), 8U);
}

}  // namespace
}  // namespace tessera::machine
