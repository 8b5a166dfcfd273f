#include "tessera/comm/rank_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/machine/orders.h"

namespace tessera::comm {
namespace {

TEST(RankLine, HostsOfASubnetStandTogether) {
  machine::Network network;
  network.subnets = {{-1, {1, 2}, {}, {1e-5, 1e9}, machine::Medium::fabric, {}},
                     {0, {}, {0, 2}, {2e-6, 1e10}, machine::Medium::fabric, 2e9},
                     {0, {}, {1, 3}, {2e-6, 1e10}, machine::Medium::fabric, 2e9}};
  for (const auto* name : {"a", "b", "c", "d"}) network.hosts.push_back({name, 2, machine::Link{1e-6, 1e10}});
  const auto line = RankLine::along({network, {0, 1, 2, 3, 0, 1, 2, 3}});
  EXPECT_EQ(line.rank, (std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(line.level, (std::vector<int>{0, 0, 1, 0, 2, 0, 1, 0}));
  EXPECT_EQ(line.host_of_rank(), (std::vector<int>{0, 2, 1, 3, 0, 2, 1, 3}));
}

TEST(RankLine, AsNumberedIsOneHost) {
  const auto line = RankLine::as_numbered(3);
  EXPECT_EQ(line.rank, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(line.host_of_rank(), (std::vector<int>{0, 0, 0}));
}

TEST(RankLine, AllRanksAgreeByNamesOfHostsAlone) {
  std::vector<AgreedLine> found(5);
  run_ranks({"x", "y", "x", "y", "z"},
            [&](const Communicator& comm) { found[static_cast<std::size_t>(comm.rank())] = agree_on_line(comm, ""); });
  for (const auto& other : found) {
    EXPECT_EQ(other.line.rank, (std::vector<int>{0, 2, 1, 3, 4}));
    EXPECT_EQ(other.line.level, (std::vector<int>{0, 0, 1, 0, 1}));
    EXPECT_EQ(other.source, "3 hosts of a network that was not measured");
  }
}

TEST(RankLine, AMapThatCannotBeReadIsRefusedOnAllRanks) {
  for (const auto& hosts : {std::vector<std::string>{"x", "y", "x"}, {"x"}}) {
    std::vector<std::string> said(hosts.size());
    run_ranks(hosts, [&](const Communicator& comm) {
      try {
        agree_on_line(comm, "/nowhere/map.json");
      } catch (const InputError& error) {
        said[static_cast<std::size_t>(comm.rank())] = error.what();
      }
    });
    for (const auto& message : said) EXPECT_NE(message.find("/nowhere/map.json"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tessera::comm
