// Checks that every collective operation has the same results with plans and without.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/collectives/registry.h"
#include "tessera/comm/check_operations.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/machine/network.h"

namespace tessera::comm {
namespace {

/// Returns two racks of two hosts with a thin link between them.
std::shared_ptr<const machine::Network> two_racks() {
  machine::Network network;
  network.subnets = {{-1, {1, 2}, {}, {1e-4, 1e7}, machine::Medium::fabric, {}},
                     {0, {}, {0, 1}, {1e-5, 1e9}, machine::Medium::fabric, 1e7},
                     {0, {}, {2, 3}, {1e-5, 1e9}, machine::Medium::fabric, 1e7}};
  for (const auto* name : {"a", "b", "c", "d"}) network.hosts.push_back({name, 2, machine::Link{1e-6, 1e10}});
  return std::make_shared<const machine::Network>(network);
}

std::vector<std::string> hosts_of(int n_ranks) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < n_ranks; ++rank) hosts.push_back(std::vector{"a", "c", "b", "d"}[rank * 4 / n_ranks]);
  return hosts;
}

class Follow : public testing::TestWithParam<int> {};

TEST_P(Follow, OperationsAreRightByEveryPlan) {
  std::vector<std::optional<std::string>> entries{std::nullopt, "native"};
  for (const auto& entry : collectives::entries()) entries.emplace_back(entry.name);
  std::mutex mutex;
  run_ranks(hosts_of(GetParam()), [&](const Communicator&) {
    auto comm = Communicator::world();
    const auto check = [&](const std::string& by) {
      const auto wrong = wrong_operations(comm);
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(wrong.empty()) << fmt::format("by {} on rank {}: {}", by, comm.rank(), wrong);
    };
    check("no network");
    for (const auto& entry : entries) {
      ASSERT_EQ(comm.follow(two_racks(), {.entry = entry}), "");
      check(entry.value_or("the choice"));
    }
    comm.follow(nullptr);
    check("no network again");
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Follow, testing::Values(1, 2, 3, 4, 6, 8));

TEST(Follow, SaysWhyANetworkIsOfNoUse) {
  run_ranks({"a", "elsewhere"}, [&](const Communicator&) {
    auto comm = Communicator::world();
    EXPECT_NE(comm.follow(two_racks()).find("elsewhere"), std::string::npos);
    EXPECT_TRUE(wrong_operations(comm).empty());
    EXPECT_THROW(comm.follow(two_racks(), {.entry = "rign"}), InputError);
  });
}

}  // namespace
}  // namespace tessera::comm
