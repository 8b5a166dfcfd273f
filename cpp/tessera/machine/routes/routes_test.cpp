#include "tessera/machine/routes/routes.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/base/error.h"

namespace tessera::machine {
namespace {

std::vector<int> links(const Routes& routes, int n_hosts, int from, int to) {
  std::vector<int> found;
  routes.add_links(n_hosts, from, to, found);
  return found;
}

TEST(Routes, GoDirectionAfterDirectionRoundATorus) {
  const Routes torus{Routes::Kind::torus, {2, 4}, 1};
  EXPECT_EQ(torus.n_links(8), 2 * 2 * 8);
  // The message goes from (0, 0) up to (1, 0), then up over (1, 1) to (1, 2).
  EXPECT_EQ(links(torus, 8, 0, 6), (std::vector{0, 16 + 4, 16 + 5}));
  // The message goes from (0, 0) down to (0, 3), and the next from (0, 3) up to (0, 0).
  EXPECT_EQ(links(torus, 8, 0, 3), (std::vector{16 + 8}));
  EXPECT_EQ(links(torus, 8, 3, 0), (std::vector{16 + 3}));
  EXPECT_TRUE(links(torus, 8, 5, 5).empty());
}

TEST(Routes, GoUpATreeByTheReceiversNumber) {
  const Routes tree{Routes::Kind::tree, {2, 2}, 1};  // 8 hosts: leaves of 2, groups of 4
  EXPECT_EQ(tree.n_links(8), 2 * (4 * 2) + 2 * (2 * 4));
  EXPECT_TRUE(links(tree, 8, 0, 1).empty());
  // The message goes from leaf 0 by port 1 to leaf 1, as 3 is odd.
  EXPECT_EQ(links(tree, 8, 0, 3), (std::vector{1, 8 + 2 + 1}));
  // Host 6 is in leaf 3; the message goes by port 0, then by port 1 of two.
  EXPECT_EQ(links(tree, 8, 0, 6), (std::vector{0, 8 + 6, 16 + 1, 24 + 4 + 1}));
  // All messages to one host share a port, and those of a shift share none.
  EXPECT_EQ(links(tree, 8, 0, 6)[0], links(tree, 8, 1, 6)[0]);
  std::multiset<int> used;
  for (int host = 0; host < 8; ++host)
    for (const int link : links(tree, 8, host, (host + 4) % 8)) used.insert(link);
  for (const int link : used) EXPECT_EQ(used.count(link), 1u);
}

TEST(Routes, AreChecked) {
  EXPECT_NO_THROW((Routes{Routes::Kind::torus, {2, 4}, 1}.check(8, "map")));
  EXPECT_THROW((Routes{Routes::Kind::torus, {2, 4}, 1}.check(9, "map")), InputError);
  EXPECT_THROW((Routes{Routes::Kind::torus, {-2, -4}, 1}.check(8, "map")), InputError);
  EXPECT_THROW((Routes{Routes::Kind::tree, {4}, 1}.check(8, "map")), InputError);
  EXPECT_THROW((Routes{Routes::Kind::tree, {4, 4}, 0}.check(8, "map")), InputError);
}

}  // namespace
}  // namespace tessera::machine
