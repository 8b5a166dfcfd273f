#include "tessera/machine/hosts.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/machine/orders.h"

namespace tessera::machine {
namespace {

TEST(Hosts, RanksOfOneNameAreOnOneHost) {
  const auto network = network_of({"a", "b", "a", "a"});
  ASSERT_EQ(network.hosts.size(), 2U);
  EXPECT_EQ(network.hosts[0].slots, 3);
  EXPECT_EQ(find_hosts({"a", "b", "a", "a"}, network), (std::vector<int>{0, 1, 0, 0}));
  EXPECT_EQ(network.subnets[0].link, unmeasured_between);
}

TEST(Hosts, ShortNamesServeWhereTheyAreUnique) {
  const auto network = network_of({"n1.cluster", "n2.cluster", "n3.one", "n3.two"});
  EXPECT_EQ(find_hosts({"n2", "n1.elsewhere"}, network), (std::vector<int>{1, 0}));
  EXPECT_THROW(find_hosts({"n3"}, network), InputError);
}

TEST(Hosts, AJobFillsHostsInTurn) {
  const auto wires = wires_of_job(network_of({"a", "a", "b", "b"}), 3);
  EXPECT_EQ(wires.n_ranks(), 3);
  EXPECT_EQ(wires.host_of(1), 0);
  EXPECT_EQ(wires.host_of(2), 1);
  EXPECT_THROW(wires_of_job(network_of({"a", "b"}), 3), InputError);
}

}  // namespace
}  // namespace tessera::machine
