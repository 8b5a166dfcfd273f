// Checks properties of transform plans for any number of ranks; no MPI is needed.
#include "tessera/fft/schemes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tessera/base/error.h"
#include "tessera/fft/choice/choose.h"
#include "tessera/fft/test_support.h"

namespace tessera::fft {
namespace {

void expect_exact_cover(const std::vector<IndexBox>& boxes, const Index3& grid) {
  std::vector<int> owners(static_cast<std::size_t>(grid[0] * grid[1] * grid[2]));
  const IndexBox whole{{0, 0, 0}, grid};
  for (const auto& box : boxes)
    for (auto x = box.lower[0]; x < box.upper[0]; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y)
        for (auto z = box.lower[2]; z < box.upper[2]; ++z) {
          ASSERT_TRUE(whole.contains({x, y, z}));
          ++owners[static_cast<std::size_t>(whole.flat({x, y, z}))];
        }
  EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), static_cast<std::ptrdiff_t>(owners.size()));
}

/// Checks that every point of every target box comes from exactly one piece, and that both sides list the same pieces.
void expect_matching(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to) {
  const int ranks = static_cast<int>(from.size());
  std::vector<Exchange> exchanges;
  for (int rank = 0; rank < ranks; ++rank) exchanges.push_back(plan_exchange(grid, from, to, rank));
  const auto between = [](const std::vector<MovedBox>& pieces, int peer) {
    std::vector<MovedBox> mine;
    for (const auto& piece : pieces)
      if (piece.peer == peer) mine.push_back(piece);
    return mine;
  };
  for (int a = 0; a < ranks; ++a) {
    for (const auto& piece : exchanges[static_cast<std::size_t>(a)].send) {
      const auto out = between(exchanges[static_cast<std::size_t>(a)].send, piece.peer);
      const auto in = between(exchanges[static_cast<std::size_t>(piece.peer)].receive, a);
      ASSERT_EQ(out.size(), in.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i].box, in[i].box);
        EXPECT_EQ(out[i].shift, in[i].shift);
      }
    }
    const auto& target = to[static_cast<std::size_t>(a)];
    std::vector<int> filled(static_cast<std::size_t>(target.size()));
    for (const auto& piece : exchanges[static_cast<std::size_t>(a)].receive)
      for (auto x = piece.box.lower[0]; x < piece.box.upper[0]; ++x)
        for (auto y = piece.box.lower[1]; y < piece.box.upper[1]; ++y)
          for (auto z = piece.box.lower[2]; z < piece.box.upper[2]; ++z) {
            const Index3 arrival = {x + piece.shift[0], y + piece.shift[1], z + piece.shift[2]};
            ASSERT_TRUE(target.contains(arrival));
            ++filled[static_cast<std::size_t>(target.flat(arrival))];
          }
    EXPECT_EQ(std::count(filled.begin(), filled.end(), 1), static_cast<std::ptrdiff_t>(filled.size()));
  }
}

const std::array<int, 3> forwards{0, 1, 2}, backwards{2, 1, 0};

/// Checks that the largest box of each stage has no more than a few times its fair share of points.
void expect_balance(const TransformPlan& plan, double most) {
  for (const auto& stage : plan.stages) {
    std::int64_t all = 0, largest = 0;
    for (const auto& box : stage.swept) all += box.size(), largest = std::max(largest, box.size());
    EXPECT_LT(static_cast<double>(largest) * plan.ranks(), most * static_cast<double>(all)) << plan.summary();
  }
}

TEST(FftPlan, EveryPointHasOneOwnerAndMessagesMatch) {
  std::mt19937 random(7);
  int turn = 0;
  for (const Index3 grid : {Index3{8, 6, 10}, Index3{5, 7, 3}, Index3{14, 9, 15}, Index3{1, 2, 12}})
    for (const auto& scheme : schemes())
      for (int ranks = 1; ranks <= 64; ranks += ranks < 12 ? 1 : 13) {
        TransformProblem problem{grid, ++turn % 2 == 0 ? TransformKind::real : TransformKind::complex,
                                 turn % 3 == 0 ? backwards : forwards, ranks};
        if (turn % 5 < 3) {
          problem.input = random_bricks(grid, ranks, random);
          problem.output = padded(problem.input, 2);
        }
        const auto plan = plan_transform(scheme.name, problem);
        SCOPED_TRACE(plan.summary());
        expect_exact_cover(plan.problem.input, grid);
        std::vector<int> sweeps;
        for (const auto& stage : plan.stages) {
          expect_exact_cover(stage.boxes, sweeps.empty() ? grid : problem.spectrum_grid());
          sweeps.insert(sweeps.end(), stage.sweeps.begin(), stage.sweeps.end());
          expect_exact_cover(stage.swept, sweeps.empty() ? grid : problem.spectrum_grid());
          for (const int d : stage.sweeps)
            for (const auto& box : stage.boxes)
              EXPECT_TRUE(box.is_empty() || box.extent(d) >= problem.spectrum_grid()[static_cast<std::size_t>(d)]);
        }
        EXPECT_TRUE(std::equal(sweeps.begin(), sweeps.end(), problem.order.begin(), problem.order.end()));
        for (const auto& list : {plan.forward(), plan.backward()}) {
          ASSERT_EQ(list.size(), plan.stages.size());
          for (const auto& move : list) expect_matching(grid, move.from, move.to);
        }
      }
}

TEST(FftPlan, MessagesAreThoseOfEveryRank) {
  std::mt19937 random(8);
  for (const Index3 grid : {Index3{8, 6, 10}, Index3{14, 9, 15}})
    for (const auto& scheme : schemes())
      for (const int ranks : {1, 2, 7, 24}) {
        const auto bricks = random_bricks(grid, ranks, random);
        const auto plan =
            plan_transform(scheme.name, {grid, TransformKind::real, forwards, ranks, bricks, padded(bricks, 3)});
        for (const auto& list : {plan.forward(), plan.backward()})
          for (const auto& move : list) {
            std::vector<RedistributionMessage> expected;
            for (int rank = 0; rank < ranks; ++rank)
              for (const auto& piece : plan_exchange(grid, move.from, move.to, rank).receive) {
                if (piece.peer == rank) continue;
                if (expected.empty() || expected.back().from != piece.peer || expected.back().to != rank)
                  expected.push_back({piece.peer, rank, 0});
                expected.back().values += piece.box.size();
              }
            EXPECT_EQ(all_messages(grid, move), expected) << plan.summary();
          }
      }
}

// Exchanges and partners in each are as many as the schemes' names promise (Jung et al. 2019, appendix A).
TEST(FftPlan, SchemesHaveTheirNumberOfExchanges) {
  const Index3 grid{64, 64, 64};
  for (const auto kind : {TransformKind::real, TransformKind::complex})
    for (const auto& [name, exchanges, partners] : {std::tuple<const char*, int, int>{"slab", 1, 63},
                                                    {"pencil", 2, 7},
                                                    {"2d_alltoall", 3, 15},
                                                    {"1d_alltoall", 5, 3}}) {
      const auto plan = plan_transform(name, {grid, kind, forwards, 64});
      SCOPED_TRACE(plan.summary());
      expect_balance(plan, 1.5);
      int moving = 0;
      for (const auto& move : plan.forward()) {
        std::vector<int> sent(64);
        for (const auto& message : all_messages(grid, move)) ++sent[static_cast<std::size_t>(message.from)];
        const int most = *std::max_element(sent.begin(), sent.end());
        EXPECT_LE(most, partners);
        moving += most > 0;
      }
      EXPECT_EQ(moving, exchanges);
    }
}

TEST(FftPlan, BricksInRowsAreKept) {
  const Index3 grid{30, 20, 24};
  std::vector<IndexBox> bricks;  // 2 × 3 × 1 uneven bricks, x counting fastest
  for (const auto& [y, y_end] : {std::pair{0, 5}, {5, 14}, {14, 20}})
    for (const auto& [x, x_end] : {std::pair{0, 11}, {11, 30}}) bricks.push_back({{x, y, 0}, {x_end, y_end, 24}});
  for (const auto& name : {"1d_alltoall", "2d_alltoall"}) {
    const auto plan = plan_transform(name, {grid, TransformKind::real, forwards, 6, bricks, padded(bricks, 2)});
    EXPECT_EQ(plan.processes, (Index3{2, 3, 1}));
    for (const auto& message : all_messages(grid, plan.forward().front()))
      EXPECT_EQ(message.from / 2, message.to / 2);  // along x only
  }
}

TEST(FftPlan, AnyNumberOfRanksIsBalanced) {
  for (const auto& scheme : schemes())
    for (int ranks = 1; ranks <= 100; ++ranks) {
      if (scheme.name == "slab" && ranks > 50) continue;  // slabs are whole layers, so some rank has at least two
      expect_balance(plan_transform(scheme.name, {{100, 108, 96}, TransformKind::real, backwards, ranks}), 2.01);
    }
}

TEST(FftPlan, SixtyFiveThousandRanksPlanOnOneCore) {
  const Index3 grid{2048, 2048, 2048};
  for (const auto& scheme : schemes()) {
    const auto plan = plan_transform(scheme.name, {grid, TransformKind::real, forwards, 65536});
    if (scheme.name == "slab") continue;
    expect_balance(plan, 1.6);
    std::int64_t most = 0;
    for (const auto& move : plan.forward())
      most = std::max<std::int64_t>(
          most, static_cast<std::int64_t>(plan_exchange(grid, move.from, move.to, 12345).send.size()));
    EXPECT_LE(most, scheme.name == "1d_alltoall" ? 70 : 1100) << plan.summary();
  }
}

TEST(FftPlan, MessagesOfFourThousandRanks) {
  const Index3 grid{512, 512, 512};
  const auto plan = plan_transform("1d_alltoall", {grid, TransformKind::complex, forwards, 4096});
  std::int64_t n = 0;
  for (const auto& move : plan.forward()) n += static_cast<std::int64_t>(all_messages(grid, move).size());
  EXPECT_EQ(n, 5 * 4096 * 15);
}

TEST(FftPlan, MessagesByReceiver) {
  const Index3 grid{12, 10, 9};
  const auto plan = plan_transform("2d_alltoall", {grid, TransformKind::real, forwards, 17});
  for (const auto& move : plan.forward()) {
    std::vector<RedistributionMessage> found;
    for (const std::vector<int>& receivers :
         {std::vector{0, 1, 2, 3, 4}, {5}, {6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}})
      for_messages(grid, move, receivers, [&](const RedistributionMessage& message) {
        EXPECT_TRUE(receivers.front() <= message.to && message.to <= receivers.back());
        found.push_back(message);
      });
    EXPECT_EQ(found, all_messages(grid, move));
  }
}

TEST(FftPlan, WhatRanksSendIsWhatTheyWouldReceiveTheOtherWay) {
  // Padded boxes leave the mesh at both ends, and one spans it more than once.
  const Index3 grid{12, 10, 9};
  auto problem = TransformProblem{grid, TransformKind::real, forwards, 6};
  problem.input = plan_transform("1d_alltoall", problem).problem.input;
  problem.output = problem.input;
  for (auto& box : problem.output)
    for (std::size_t d = 0; d < 3; ++d) box.lower[d] -= 2, box.upper[d] += 3;
  const auto plan = plan_transform("pencil", problem);
  for (const auto& move : plan.backward()) {
    auto sent = all_messages(grid, {move.to, move.from, move.components});
    for (auto& message : sent) std::swap(message.from, message.to);
    std::sort(sent.begin(), sent.end(), [](const RedistributionMessage& a, const RedistributionMessage& b) {
      return std::pair(a.to, a.from) < std::pair(b.to, b.from);
    });
    EXPECT_EQ(sent, all_messages(grid, move));
  }
}

TEST(FftPlan, OfManyRanksTheMessagesOfSomeAreCounted) {
  // There are 2,048 ranks, just above the limit, on 64 hosts of 8 subnets with thin uplinks. The estimate must be
  // within a tenth of the load by all messages.
  machine::Network network;
  network.subnets.resize(9);
  for (int host = 0; host < 64; ++host) {
    machine::Host h;
    h.name = "n" + std::to_string(host);
    h.slots = 32;
    h.inside = machine::Link{1e-6, 5e9};
    network.hosts.push_back(h);
    network.subnets[static_cast<std::size_t>(1 + host / 8)].hosts.push_back(host);
  }
  for (std::size_t s = 0; s < 9; ++s) {
    network.subnets[s].link = {2e-6, 10e9};
    network.subnets[s].parent = s == 0 ? -1 : 0;
    if (s == 0) continue;
    network.subnets[s].uplink = 1e9;
    network.subnets[0].subnets.push_back(static_cast<int>(s));
  }
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < 2048; ++rank) host_of_rank.push_back(rank / 32);
  const machine::Wires wires(network, host_of_rank);
  const TransformProblem problem{{256, 256, 256}, TransformKind::complex, forwards, 2048};
  for (const auto& scheme : {"pencil", "2d_alltoall", "1d_alltoall"}) {
    const auto plan = plan_transform(scheme, problem);
    double expected = 0;
    for (const auto& move : plan.forward()) {
      std::vector<double> busy(wires.wires().size()), starts(2 * 2048);
      for (const auto& m : all_messages(problem.grid, move)) {
        starts[static_cast<std::size_t>(2 * m.from)] += wires.latency(m.from, m.to);
        starts[static_cast<std::size_t>(2 * m.to + 1)] += wires.latency(m.from, m.to);
        for (const int wire : wires.path(m.from, m.to))
          busy[static_cast<std::size_t>(wire)] +=
              static_cast<double>(m.values * 16) / wires.wires()[static_cast<std::size_t>(wire)].bandwidth;
      }
      expected += 2 * (*std::max_element(busy.begin(), busy.end()) + *std::max_element(starts.begin(), starts.end()));
    }
    EXPECT_NEAR(predict(plan, 8, wires).exchanges, expected, 0.1 * expected) << scheme;
  }
}

TEST(FftPlan, SixtyFiveThousandRanksChooseOnOneCore) {
  const TransformProblem problem{{2048, 2048, 2048}, TransformKind::real, forwards, 65536};
  machine::Network network;
  network.subnets.resize(1);
  network.subnets[0].link = {2e-6, 10e9};
  std::vector<int> host_of_rank;
  for (int host = 0; host < 2048; ++host) {
    machine::Host h;
    h.name = "n" + std::to_string(host);
    h.slots = 32;
    network.hosts.push_back(h);
    network.subnets[0].hosts.push_back(host);
    host_of_rank.insert(host_of_rank.end(), 32, host);
  }
  EXPECT_EQ(rank_schemes(problem, 8, machine::Wires(network, host_of_rank)).size(), 3u);
}

TEST(FftPlan, TheQuickestIsChosen) {
  // One host favours few exchanges; hosts with a high cost of starting messages favour few partners; for one rank all
  // schemes are equal.
  const TransformProblem few{{64, 64, 64}, TransformKind::real, forwards, 4};
  EXPECT_EQ(rank_schemes(few, 8, wires_of_one_host(few.ranks)).front().plan.scheme, "slab");
  const TransformProblem many{{64, 64, 64}, TransformKind::real, forwards, 512};
  EXPECT_NE(rank_schemes(many, 8, wires_of_one_host(many.ranks)).front().plan.scheme, "slab");
  std::vector<machine::Host> hosts(512);
  std::vector<int> host_of_rank;
  for (int i = 0; i < 512; ++i) {
    hosts[static_cast<std::size_t>(i)].name = "n" + std::to_string(i);
    host_of_rank.push_back(i);
  }
  const machine::Wires slow_start(machine::one_switch(hosts, {1e-3, 1e10}), host_of_rank);
  const auto ranked = rank_schemes(many, 8, slow_start);
  ASSERT_EQ(ranked.size(), 3u);
  EXPECT_EQ(ranked.front().plan.scheme, "1d_alltoall");
  for (std::size_t i = 1; i < ranked.size(); ++i)
    EXPECT_LE(ranked[i - 1].predicted.seconds(), ranked[i].predicted.seconds());
}

/// Returns two racks of hosts behind thin uplinks.
machine::Wires two_racks(int hosts, int ranks, std::vector<int> host_of_rank) {
  machine::Network network;
  network.subnets.push_back({-1, {1, 2}, {}, {1e-5, 1e9}, machine::Medium::fabric, {}});
  for (int rack = 0; rack < 2; ++rack) {
    network.subnets.push_back({0, {}, {}, {2e-6, 1e10}, machine::Medium::fabric, 2e9});
    for (int i = 0; i < hosts / 2; ++i) {
      network.subnets.back().hosts.push_back(static_cast<int>(network.hosts.size()));
      network.hosts.push_back({"n" + std::to_string(network.hosts.size()), ranks / hosts, machine::Link{1e-6, 1e10}});
    }
  }
  return {network, std::move(host_of_rank)};
}

TEST(FftPlan, RanksTakePlacesAsAsked) {
  std::mt19937 random(9);
  const Index3 grid{14, 9, 15};
  for (const auto& scheme : schemes())
    for (const int ranks : {2, 7, 24})
      for (const bool has_input : {false, true}) {
        TransformProblem problem{grid, TransformKind::real, backwards, ranks};
        if (has_input) problem.input = random_bricks(grid, ranks, random);
        const auto plain = plan_transform(scheme.name, problem);
        for (int i = 0; i < ranks; ++i) problem.places.push_back((i + 1) % ranks);
        const auto plan = plan_transform(scheme.name, problem);
        for (int rank = 0; rank < ranks; ++rank) {
          const auto r = static_cast<std::size_t>(rank), place = static_cast<std::size_t>((rank + 1) % ranks);
          for (std::size_t s = 0; s < plan.stages.size(); ++s) {
            EXPECT_EQ(plan.stages[s].boxes[r], plain.stages[s].boxes[place]);
            EXPECT_EQ(plan.stages[s].swept[r], plain.stages[s].swept[place]);
          }
          EXPECT_EQ(plan.problem.input[r], plain.problem.input[has_input ? r : place]);
        }
        for (const auto& move : plan.forward()) expect_matching(grid, move.from, move.to);
      }
}

TEST(FftPlan, OrdersFollowTheNetwork) {
  const TransformProblem problem{{64, 64, 64}, TransformKind::complex, forwards, 32};
  // Ranks take their places along the network, whatever their hosts.
  std::vector<int> shuffled;
  for (int rank = 0; rank < 32; ++rank) shuffled.push_back(rank / 4);
  const auto filled = two_racks(8, 32, shuffled);
  std::mt19937 random(10);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  const auto mixed = two_racks(8, 32, shuffled);
  for (const auto& scheme : schemes()) {
    const auto a = rank_schemes(problem, 8, filled, scheme.name), b = rank_schemes(problem, 8, mixed, scheme.name);
    ASSERT_EQ(b.size(), 1U);
    EXPECT_EQ(b[0].plan.scheme, scheme.name);
    EXPECT_NEAR(b[0].predicted.seconds(), a[0].predicted.seconds(), 1e-9) << scheme.name;
    const auto own = predict(plan_transform(scheme.name, problem), 8, mixed);
    EXPECT_LE(b[0].predicted.exchanges, own.exchanges * (1 + 1e-9)) << scheme.name;
    if (scheme.name != "slab") {  // an exchange of all with all has no better order
      EXPECT_LT(b[0].predicted.exchanges, 0.9 * own.exchanges) << scheme.name;
      EXPECT_NE(b[0].order, "as numbered");
    }
  }
}

TEST(FftPlan, ProcessorsThatHostsShareCount) {
  auto network = machine::one_switch({{"a", 1, {}}, {"b", 1, {}}}, {1e-5, 1e9});
  const TransformProblem problem{{64, 64, 64}, TransformKind::real, forwards, 2};
  const auto plan = plan_transform("slab", problem);
  const auto apart = predict(plan, 8, {network, {0, 1}});
  network.processors.push_back({{0, 1}, {1e-4, 1e7}});
  const auto shared = predict(plan, 8, {network, {0, 1}});
  EXPECT_EQ(apart.passes, shared.passes);
  EXPECT_GT(shared.exchanges, 10 * apart.exchanges);
}

TEST(FftPlan, UnknownSchemeAndEmptyMeshAreInputErrors) {
  EXPECT_THROW(plan_transform("pencils", {{4, 4, 4}}), InputError);
  EXPECT_THROW(plan_transform("pencil", {{4, 0, 4}}), InputError);
  EXPECT_THROW(plan_transform("pencil", {{4, 4, 4}, TransformKind::real, forwards, 0}), InputError);
}

}  // namespace
}  // namespace tessera::fft
