#include "tessera/machine/orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tessera/base/error.h"
#include "tessera/machine/test_support.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

/// Returns subnets with these numbers of hosts, each host with `slots`, under one root.
Network racks(const std::vector<int>& sizes, int slots) {
  Network network;
  network.subnets.push_back({-1, {}, {}, {1e-4, 1e7}, Medium::fabric, std::nullopt});
  for (const int size : sizes) {
    network.subnets[0].subnets.push_back(static_cast<int>(network.subnets.size()));
    network.subnets.push_back({0, {}, {}, {5e-5, 1e8}, Medium::fabric, std::nullopt});
    for (int i = 0; i < size; ++i) {
      const int host = static_cast<int>(network.hosts.size());
      network.hosts.push_back({"n" + std::to_string(host), slots, Link{1e-6, 1e9}});
      network.subnets.back().hosts.push_back(host);
    }
  }
  network.check("racks");
  return network;
}

int n_slots(const Network& network) {
  int n = 0;
  for (const auto& host : network.hosts) n += host.slots;
  return n;
}

std::vector<int> all_slots(const Network& network) { return fill_slots(network, n_slots(network)); }

void expect_uses_slots(const RankOrder& order, const std::vector<int>& ranks_on_host) {
  auto left = ranks_on_host;
  for (const int host : order) --left.at(static_cast<std::size_t>(host));
  EXPECT_TRUE(std::all_of(left.begin(), left.end(), [](int n) { return n == 0; }));
}

/// Checks the table as it is printed: line i of 2^d goes to computer ⌊reverse_bits(i) / processors⌋. The paper's loop
/// ends one line too late, and its "12 (1010 in binary)" is the number 10.
TEST(Orders, Table1OfTheHypercubePaper) {
  struct Row {
    int computers, processors;
    std::vector<int> hosts;  // as printed: numbered from 1, one round only
  };
  const std::vector<Row> rows = {
      {1, 2, {1}},
      {2, 2, {1, 2}},
      {4, 2, {1, 3, 2, 4}},
      {8, 2, {1, 5, 3, 7, 2, 6, 4, 8}},
      {16, 2, {1, 9, 5, 13, 3, 11, 7, 15, 2, 10, 6, 14, 4, 12, 8, 16}},
      {2, 4, {1, 2}},
      {4, 4, {1, 3, 2, 4}},
      {8, 4, {1, 5, 3, 7, 2, 6, 4, 8}},
  };
  for (const auto& row : rows) {
    RankOrder printed;
    for (int round = 0; round < row.processors; ++round)
      for (const int host : row.hosts) printed.push_back(host - 1);
    const auto network = racks({row.computers}, row.processors);
    EXPECT_EQ(hypercube_order(network, all_slots(network)), printed) << row.computers << " x " << row.processors;
  }
}

/// Uses CROW8's published network, in which pairs of hosts are on the second fastest links.
TEST(Orders, HypercubeFollowsTheTree) {
  auto network = racks({2, 2, 2, 2, 2, 2, 2, 2}, 2);
  const auto flat = racks({16}, 2);
  EXPECT_EQ(hypercube_order(network, all_slots(network)), hypercube_order(flat, all_slots(flat)));
  // The list has the hosts in another order, but the tree decides.
  std::vector<int> moved(16);
  std::iota(moved.begin(), moved.end(), 0);
  std::mt19937 random(1);
  std::shuffle(moved.begin(), moved.end(), random);
  for (std::size_t s = 1; s < network.subnets.size(); ++s)
    for (auto& host : network.subnets[s].hosts) host = moved[static_cast<std::size_t>(host)];
  const auto ranks_on_host = all_slots(network);
  const Wires wires(network, hypercube_order(network, ranks_on_host));
  for (int rank = 0; rank < 32; ++rank) {
    EXPECT_EQ(wires.level(rank, rank ^ 16), 0);
    EXPECT_EQ(wires.level(rank, rank ^ 8), 1);
    EXPECT_EQ(wires.level(rank, rank ^ 4), 2);
  }
}

TEST(Orders, HypercubeOfAnyNumbers) {
  for (const auto& [sizes, slots] : std::vector<std::pair<std::vector<int>, int>>{
           {{3}, 2}, {{3, 5}, 4}, {{1, 1, 6}, 3}, {{7}, 1}, {{2, 3, 2}, 6}, {{5, 3}, 1}}) {
    auto network = racks(sizes, slots);
    const auto ranks_on_host = all_slots(network);
    const auto order = hypercube_order(network, ranks_on_host);
    expect_uses_slots(order, ranks_on_host);
    EXPECT_EQ(order[0], network.hosts_of(0)[0]);
    if (slots % 2 != 0) continue;
    const int half = static_cast<int>(order.size()) / 2;
    for (int rank = 0; rank < half; ++rank)
      EXPECT_EQ(order[static_cast<std::size_t>(rank)], order[static_cast<std::size_t>(rank + half)]);
  }
  auto uneven = racks({2, 1}, 2);
  uneven.hosts[2].slots = 4;
  EXPECT_EQ(hypercube_order(uneven, all_slots(uneven)), (RankOrder{0, 2, 1, 2, 0, 2, 1, 2}));
  const auto three = racks({3}, 2);
  EXPECT_EQ(hypercube_order(three, all_slots(three)), (RankOrder{0, 1, 2, 0, 1, 2}));
}

double ring_cost(const Network& network, const RankOrder& order) {
  const Wires wires(network, order);
  double total = 0;
  for (int rank = 0; rank < wires.n_ranks(); ++rank) total += wires.time(rank, (rank + 1) % wires.n_ranks(), 1e5);
  return total;
}

TEST(Orders, RingsCostLeast) {
  std::mt19937 random(2);
  for (const auto& sizes : std::vector<std::vector<int>>{{4, 4}, {3, 3, 2}, {1, 5, 2}}) {
    const auto network = racks(sizes, 2);
    auto order = ring_order(network, all_slots(network));
    expect_uses_slots(order, all_slots(network));
    const double cost = ring_cost(network, order);
    for (int trial = 0; trial < 200; ++trial) {
      std::shuffle(order.begin(), order.end(), random);
      EXPECT_LE(cost, ring_cost(network, order));
    }
  }
}

struct Cuts {
  int hosts = 0, subnets = 0;  // edges of the grid that leave a host, a subnet
};

Cuts count_cuts(const Network& network, const RankOrder& order, const std::vector<int>& dims) {
  Cuts cuts;
  const Wires wires(network, order);
  for (int rank = 0; rank < wires.n_ranks(); ++rank) {
    int stride = 1;
    for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
      if (rank / stride % dims[d] + 1 == dims[d]) continue;
      cuts.hosts += wires.level(rank, rank + stride) > 0 ? 1 : 0;
      cuts.subnets += wires.level(rank, rank + stride) > 1 ? 1 : 0;
    }
  }
  return cuts;
}

TEST(Orders, CartesianBlocksCutFewEdges) {
  struct Case {
    std::vector<int> sizes;
    int slots;
    std::vector<int> dims;
    Cuts most;  // derived by hand where blocks fit, else as found
  };
  const std::vector<Case> cases = {
      {{2, 2}, 4, {4, 4}, {8, 4}},         // 2 × 2 blocks: 8 edges between them, 4 between halves
      {{4, 4}, 8, {4, 4, 4}, {48, 16}},    // 2 × 2 × 2 blocks: three cut planes of 16
      {{4}, 4, {16}, {3, 0}},              // a chain
      {{2, 2, 2, 2}, 2, {4, 4}, {16, 8}},  // 2 × 2 blocks for subnets, dominoes for hosts
  };
  for (const auto& [sizes, slots, dims, most] : cases) {
    const auto network = racks(sizes, slots);
    const auto order = cartesian_order(network, all_slots(network), dims);
    expect_uses_slots(order, all_slots(network));
    const auto cuts = count_cuts(network, order, dims);
    EXPECT_LE(cuts.hosts, most.hosts);
    EXPECT_LE(cuts.subnets, most.subnets);
  }
}

TEST(Orders, CartesianIsNoWorseThanRowByRow) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> n(1, 6);
  int better = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<int> sizes = {n(random), n(random), n(random)};
    const int n_hosts = sizes[0] + sizes[1] + sizes[2];
    const int slots = n(random);
    const std::vector<int> dims = {slots, n_hosts};
    const auto network = racks(sizes, slots);
    const auto ranks = all_slots(network);
    const auto ours = count_cuts(network, cartesian_order(network, ranks, dims), dims);
    const auto theirs = count_cuts(network, ring_order(network, ranks), dims);
    EXPECT_LE(ours.subnets, theirs.subnets) << slots << " x " << n_hosts;
    EXPECT_LE(ours.hosts + ours.subnets, theirs.hosts + theirs.subnets) << slots << " x " << n_hosts;
    better += ours.hosts < theirs.hosts ? 1 : 0;
  }
  EXPECT_GT(better, 100);
}

TEST(Orders, CartesianLiesAlongATorus) {
  struct Case {
    std::vector<int> torus;
    int slots;
    std::vector<int> dims;
  };
  // The torus in another sequence than the grid, with blocks of a host along any directions, and of a direction less.
  for (const auto& [shape, slots, dims] : std::vector<Case>{{{4, 4, 4}, 4, {8, 8, 4}},
                                                            {{4, 4, 8}, 1, {8, 4, 4}},
                                                            {{8, 4, 4}, 4, {8, 8, 8}},
                                                            {{4, 8, 16}, 2, {32, 8, 4}},
                                                            {{4, 4}, 6, {6, 4, 4}}}) {
    const auto wires = test::torus(shape, slots, true);
    const auto order = cartesian_order(wires.network(), all_slots(wires.network()), dims);
    expect_uses_slots(order, all_slots(wires.network()));
    const auto link_apart = [&](int a, int b) {  // at most
      int steps = 0;
      for (std::size_t d = shape.size(); d-- > 0; a /= shape[d], b /= shape[d]) {
        const int along = std::abs(a % shape[d] - b % shape[d]);
        steps += std::min(along, shape[d] - along);
      }
      return steps <= 1;
    };
    for (int cell = 0; cell < static_cast<int>(order.size()); ++cell) {
      int stride = 1;
      for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
        const int next = cell / stride % dims[d] + 1 < dims[d] ? cell + stride : cell - (dims[d] - 1) * stride;
        ASSERT_TRUE(link_apart(order[static_cast<std::size_t>(cell)], order[static_cast<std::size_t>(next)]))
            << cell << " and " << next;
      }
    }
  }
  // A grid that no torus of these hosts is a part of is divided as on any network.
  const auto wires = test::torus({4, 4, 4}, 1, true);
  expect_uses_slots(cartesian_order(wires.network(), all_slots(wires.network()), {32, 2, 1}),
                    all_slots(wires.network()));
}

TEST(Orders, RefuseWhatDoesNotFit) {
  const auto network = racks({2, 2}, 2);
  EXPECT_EQ(fill_slots(network, 5), (std::vector<int>{2, 2, 1, 0}));
  EXPECT_THROW(fill_slots(network, 9), InputError);
  EXPECT_THROW(cartesian_order(network, all_slots(network), {3, 3}), InputError);
  EXPECT_THROW(hypercube_order(network, {1, 2}), InputError);
}

TEST(Orders, PlacedRanksTakeTheirPlaces) {
  EXPECT_EQ(ranks_in_order({0, 0, 1, 1}, {0, 1, 0, 1}), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_THROW(ranks_in_order({0, 0, 1, 1}, {0, 1, 1, 1}), InputError);
  EXPECT_THROW(ranks_in_order({0, 0}, {0}), InputError);
}

TEST(Orders, AJobFillsHostsInTurn) {
  const auto wires = wires_of_job(network_of({"a", "a", "b", "b"}), 3);
  EXPECT_EQ(wires.n_ranks(), 3);
  EXPECT_EQ(wires.host_of(1), 0);
  EXPECT_EQ(wires.host_of(2), 1);
  EXPECT_THROW(wires_of_job(network_of({"a", "b"}), 3), InputError);
}

TEST(Orders, PlacementsAreNamedByTheHostsOfTheirRanks) {
  const auto network = racks({2, 2}, 2);
  EXPECT_EQ(placement_of(Wires(network, {0, 0, 1, 1, 2})), "");  // as slots are filled
  std::set<std::string> names;
  for (const auto& hosts : {std::vector{0, 1, 0, 1}, {1, 1, 0, 0}, {0, 1, 2, 3}, {0, 0, 0}, {2, 2, 3, 3}})
    names.insert(placement_of(Wires(network, hosts)));
  EXPECT_EQ(names.size(), 5U);
  for (const auto& name : names) EXPECT_EQ(name.size(), 16U);
  EXPECT_EQ(placement_of(Wires(network_of({"a", "b"}), {1, 0})), "e29f019b41a1da9a");  // is kept in files
}

TEST(Orders, RanksOfOneNameAreOnOneHost) {
  const auto network = network_of({"a", "b", "a", "a"});
  ASSERT_EQ(network.hosts.size(), 2U);
  EXPECT_EQ(network.hosts[0].slots, 3);
  EXPECT_EQ(find_hosts({"a", "b", "a", "a"}, network), (std::vector<int>{0, 1, 0, 0}));
  EXPECT_EQ(network.subnets[0].link, unmeasured_between);
}

TEST(Orders, ShortNamesServeWhereTheyAreUnique) {
  const auto network = network_of({"n1.cluster", "n2.cluster", "n3.one", "n3.two"});
  EXPECT_EQ(find_hosts({"n2", "n1.elsewhere"}, network), (std::vector<int>{1, 0}));
  EXPECT_THROW(find_hosts({"n3"}, network), InputError);
}

}  // namespace
}  // namespace tessera::machine
