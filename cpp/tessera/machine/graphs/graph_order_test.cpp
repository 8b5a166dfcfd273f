#include "tessera/machine/graphs/graph_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "tessera/base/error.h"
#include "tessera/machine/graphs/bisection.h"
#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

/// Returns ranks that are scattered over all slots of racks of hosts.
Wires scatter(const std::vector<int>& racks, int slots, std::mt19937& random) {
  const auto network = test::tree_of_racks(racks, {5e-5, 1e8}, {1e-4, 1e7});
  std::vector<int> hosts;
  for (int host = 0; host < static_cast<int>(network.hosts.size()); ++host)
    hosts.insert(hosts.end(), static_cast<std::size_t>(slots), host);
  std::shuffle(hosts.begin(), hosts.end(), random);
  return {network, hosts};
}

std::vector<int> count_up(int n) {
  std::vector<int> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Returns a message from each place of a periodic grid to the next one along both directions; places[i] is the vertex
/// at the grid's place i.
std::vector<Edge> torus(int rows, int columns, const std::vector<int>& places) {
  std::vector<Edge> edges;
  const auto vertex = [&](int row, int column) {
    return places[static_cast<std::size_t>(row % rows * columns + column % columns)];
  };
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      for (const int next : {vertex(row + 1, column), vertex(row, column + 1)})
        edges.push_back({vertex(row, column), next});
  return edges;
}

std::vector<Edge> random_edges(int n_vertices, int n_edges, std::mt19937& random) {
  std::uniform_int_distribution<int> vertex(0, n_vertices - 1), weight(0, 9);
  std::vector<Edge> edges;
  for (int i = 0; i < n_edges; ++i) edges.push_back({vertex(random), vertex(random), weight(random)});
  return edges;
}

/// Cuts a star and a graph without edges, of many sizes.
TEST(Bisection, HasTheSizesAskedFor) {
  for (const int n : {1, 2, 7, 64, 65, 200, 501})
    for (const int n_first : {0, 1, n / 3, n / 2, n - 1, n}) {
      Graph star, none;
      for (int v = 0; v < n; ++v) {
        if (v > 0) star.ends.push_back({0, 1});
        for (int leaf = 1; v == 0 && leaf < n; ++leaf) star.ends.push_back({leaf, 1});
        star.first.push_back(star.ends.size());
        none.first.push_back(0);
        star.sizes.push_back(1), none.sizes.push_back(1);
      }
      for (const auto* graph : {&star, &none}) {
        const auto is_second = bisect(*graph, n_first);
        EXPECT_EQ(std::count(is_second.begin(), is_second.end(), false), n_first) << "of " << n;
      }
    }
}

TEST(GraphOrder, UsesSlotsAndCostsNoMoreThanRanksAsNumbered) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> n_hosts(1, 5), n_slots(1, 4), degree(0, 5);
  int n_better = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const auto wires = scatter({n_hosts(random), n_hosts(random), n_hosts(random)}, n_slots(random), random);
    const auto edges = random_edges(wires.n_ranks(), degree(random) * wires.n_ranks(), random);
    const auto ranks = ranks_in_graph(wires, wires.n_ranks(), edges);
    auto sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    const auto as_numbered = count_up(wires.n_ranks());
    ASSERT_EQ(sorted, as_numbered);
    const double cost = graph_cost(wires, ranks, edges), before = graph_cost(wires, as_numbered, edges);
    EXPECT_LE(cost, before);
    n_better += cost < before ? 1 : 0;
    EXPECT_EQ(ranks_in_graph(wires, wires.n_ranks(), edges), ranks);
  }
  EXPECT_GT(n_better, 60);
}

/// Compares with all 90 ways in which six vertices take three hosts of two slots.
TEST(GraphOrder, IsNearTheBestOfAll) {
  std::mt19937 random(2);
  double sum = 0, least_sum = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const auto wires = scatter({2, 1}, 2, random);
    const auto edges = random_edges(6, 12, random);
    double least = std::numeric_limits<double>::infinity();
    auto ranks = count_up(6);
    do least = std::min(least, graph_cost(wires, ranks, edges));
    while (std::next_permutation(ranks.begin(), ranks.end()));
    const double cost = graph_cost(wires, ranks_in_graph(wires, wires.n_ranks(), edges), edges);
    sum += cost;
    least_sum += least;
  }
  EXPECT_LE(sum, 1.02 * least_sum);
}

/// Numbers the places of a torus at random on ranks that are scattered, and compares with the order for a grid, which
/// knows the dimensions.
TEST(GraphOrder, FindsATorusAgain) {
  struct Case {
    std::vector<int> racks;
    int slots, rows, columns;
  };
  std::mt19937 random(3);
  for (const auto& [racks, slots, rows, columns] : std::vector<Case>{{std::vector<int>(8, 2), 2, 8, 4},
                                                                     {std::vector<int>(4, 4), 4, 8, 8},
                                                                     {std::vector<int>(7, 3), 5, 15, 7},
                                                                     {std::vector<int>(16, 8), 8, 32, 32}}) {
    const auto wires = scatter(racks, slots, random);
    auto places = count_up(wires.n_ranks());
    const auto as_grid = ranks_in_grid(wires, {rows, columns, 1});
    const double least = graph_cost(wires, as_grid, torus(rows, columns, places));
    std::shuffle(places.begin(), places.end(), random);
    const auto edges = torus(rows, columns, places);
    const double cost = graph_cost(wires, ranks_in_graph(wires, wires.n_ranks(), edges), edges);
    EXPECT_LE(cost, 1.15 * least) << rows << " x " << columns;
    EXPECT_LE(2 * (cost - least), graph_cost(wires, count_up(wires.n_ranks()), edges) - least);
  }
}

/// Places a ring of four on one of two hosts with four slots, and the ranks without a vertex on the other.
TEST(GraphOrder, HoldsASmallGraphOnHostsNearEachOther) {
  const Wires wires(test::tree_of_racks({2}, {5e-5, 1e8}, {}), {0, 1, 0, 1, 0, 1, 0, 1});
  const auto ranks = ranks_in_graph(wires, 4, torus(1, 4, count_up(4)));
  EXPECT_EQ(ranks, (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(GraphOrder, RefusesWhatIsNoGraph) {
  std::mt19937 random(4);
  const auto wires = scatter({2, 2}, 1, random);
  for (const auto& edge : {Edge{0, 4}, Edge{-1, 0}, Edge{0, 1, -1}})
    EXPECT_THROW(ranks_in_graph(wires, 4, std::vector{edge}), InputError);
}

}  // namespace
}  // namespace tessera::machine
