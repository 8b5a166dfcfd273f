// Tests plans of exchanges by carrying them out on bytes without MPI.
#include "tessera/collectives/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tessera/collectives/predict.h"
#include "tessera/collectives/test_networks.h"

namespace tessera::collectives {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Returns blocks of any sizes for about two of three pairs of ranks, side by side in no order.
std::vector<ExchangeBlock> random_blocks(int ranks, std::mt19937& random) {
  std::vector<ExchangeBlock> blocks;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to && random() % 3 > 0) blocks.push_back({from, to, 0, 0, static_cast<std::int64_t>(random() % 50)});
  std::shuffle(blocks.begin(), blocks.end(), random);
  std::vector<std::int64_t> out(static_cast<std::size_t>(ranks)), in(static_cast<std::size_t>(ranks));
  for (auto& block : blocks) {
    block.begin = out[static_cast<std::size_t>(block.from)];
    block.at = in[static_cast<std::size_t>(block.to)];
    out[static_cast<std::size_t>(block.from)] += block.size;
    in[static_cast<std::size_t>(block.to)] += block.size;
  }
  return blocks;
}

/// Carries out the messages one by one; every byte of every block must arrive at its destination.
void expect_delivery(const MessagePlan& plan, const std::vector<ExchangeBlock>& blocks, int ranks,
                     std::mt19937& random) {
  const std::size_t most = 50u * static_cast<std::size_t>(ranks);
  std::vector<std::vector<Bytes>> memory(static_cast<std::size_t>(ranks),
                                         {Bytes(most), Bytes(most), Bytes(static_cast<std::size_t>(plan.scratch))});
  for (auto& of_rank : memory)
    for (auto& byte : of_rank[0]) byte = static_cast<std::uint8_t>(random());
  for (const auto& message : plan.messages) {
    ASSERT_EQ(message.effect, Effect::replace);
    ASSERT_GT(message.length, 0);
    const auto& source = memory[static_cast<std::size_t>(message.from)][static_cast<std::size_t>(message.source)];
    auto& target = memory[static_cast<std::size_t>(message.to)][static_cast<std::size_t>(message.target)];
    ASSERT_LE(message.begin + message.length, static_cast<std::int64_t>(source.size()));
    ASSERT_LE(message.at + message.length, static_cast<std::int64_t>(target.size()));
    std::copy_n(source.begin() + message.begin, message.length, target.begin() + message.at);
  }
  for (const auto& block : blocks)
    EXPECT_TRUE(std::equal(memory[static_cast<std::size_t>(block.from)][0].begin() + block.begin,
                           memory[static_cast<std::size_t>(block.from)][0].begin() + block.begin + block.size,
                           memory[static_cast<std::size_t>(block.to)][1].begin() + block.at));
}

TEST(Exchange, EveryBlockArrives) {
  std::mt19937 random(14);
  for (const auto& network : {test::quads(), test::pairs(), test::one_slow_switch(), test::two_racks()}) {
    const auto wires = test::wires_of(network);
    for (int turn = 0; turn < 3; ++turn) {
      const auto blocks = random_blocks(wires.n_ranks(), random);
      expect_delivery(plan_direct_exchange(blocks, wires), blocks, wires.n_ranks(), random);
      expect_delivery(plan_gathered_exchange(blocks, wires), blocks, wires.n_ranks(), random);
    }
  }
}

TEST(Exchange, HostsSendEachOtherOneMessage) {
  std::mt19937 random(15);
  const auto wires = test::wires_of(test::quads());
  const auto blocks = random_blocks(wires.n_ranks(), random);
  std::set<std::pair<int, int>> wanted, found;
  const auto hosts_of = [&](const auto& one) { return std::pair(wires.host_of(one.from), wires.host_of(one.to)); };
  for (const auto& block : blocks)
    if (block.size > 0 && wires.host_of(block.from) != wires.host_of(block.to)) wanted.insert(hosts_of(block));
  for (const auto& message : plan_gathered_exchange(blocks, wires).messages) {
    const auto hosts = hosts_of(message);
    if (hosts.first != hosts.second) {
      EXPECT_TRUE(found.insert(hosts).second);
    }
  }
  EXPECT_EQ(found, wanted);
}

TEST(Exchange, GatheringPaysForSmallBlocksAlone) {
  const auto wires = test::wires_of(test::quads());
  CollectiveProblem problem;
  problem.n_ranks = wires.n_ranks();
  const auto gain = [&](std::int64_t size) {
    std::vector<ExchangeBlock> blocks;
    for (int from = 0; from < wires.n_ranks(); ++from)
      for (int to = 0; to < wires.n_ranks(); ++to)
        if (from != to) blocks.push_back({from, to, to * size, from * size, size});
    return predict(plan_direct_exchange(blocks, wires), problem, wires).seconds /
           predict(plan_gathered_exchange(blocks, wires), problem, wires).seconds;
  };
  EXPECT_GT(gain(8), 1);
  EXPECT_LT(gain(1 << 20), 1);
}

}  // namespace
}  // namespace tessera::collectives
