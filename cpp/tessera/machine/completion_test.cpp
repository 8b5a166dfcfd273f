#include "tessera/machine/completion.h"

#include <gtest/gtest.h>

#include <limits>

#include "tessera/base/error.h"

namespace tessera::machine {
namespace {

/// Returns the network of Figure 1 of Lowekamp and Beguelin (1995). The text gives its completion times, not its costs.
/// Among all pairings of a–f and all small whole costs, these reproduce all four entries of Table 1 for any order in
/// which a host sends to its children. They are also plausible: three subnets in a line, 1 inside a subnet and 2 more
/// for each of the two bridges crossed.
TimeMatrix figure_1() {
  constexpr int subnet[] = {0, 1, 2, 1, 0, 2};  // for a to f
  TimeMatrix times(6);
  for (int a = 0; a < 6; ++a)
    for (int b = a + 1; b < 6; ++b) times.set_both(a, b, 1 + 2 * std::abs(subnet[a] - subnet[b]));
  return times;
}

TEST(Completion, Table1) {
  const auto times = figure_1();
  constexpr int a = 0;
  constexpr int d = 3;
  EXPECT_EQ(completion_time(minimal_spanning_tree(times, a), times), 7);
  EXPECT_EQ(completion_time(binary_tree(6, a), times), 9);
  EXPECT_EQ(completion_time(minimal_spanning_tree(times, d), times), 8);
  EXPECT_EQ(completion_time(binary_tree(6, d), times), 7);
}

TEST(Completion, BinaryTreeWrapsAround) {
  const auto tree = binary_tree(6, 3);
  EXPECT_EQ(tree.children[3], (std::vector<int>{4, 5}));
  EXPECT_EQ(tree.children[4], (std::vector<int>{0, 1}));
  EXPECT_EQ(tree.children[5], (std::vector<int>{2}));
}

TEST(Completion, SpanningTreeNeedsKnownTimes) {
  TimeMatrix times(3);
  times.at(1, 0) = 2;
  EXPECT_THROW(minimal_spanning_tree(times, 0), InputError);
  times.at(1, 2) = 3;
  EXPECT_EQ(completion_time(minimal_spanning_tree(times, 0), times), 5);
  EXPECT_EQ(completion_time(minimal_spanning_tree(TimeMatrix(1), 0), TimeMatrix(1)), 0);
}

}  // namespace
}  // namespace tessera::machine
