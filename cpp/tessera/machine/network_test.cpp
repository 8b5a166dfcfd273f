#include "tessera/machine/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

using tessera::test::expect_says, tessera::test::message_of;

/// Returns two racks of two hosts on 1 Gbit/s, joined by a 100 Mbit/s uplink.
Network two_racks() {
  Network network;
  for (const char* name : {"f0", "f1", "f2", "f3"}) network.hosts.push_back({name, 4, std::nullopt});
  const Link inside = {50e-6, 125e6};
  network.subnets = {
      {-1, {1, 2}, {}, {100e-6, 12.5e6}, Medium::fabric, std::nullopt},
      {0, {}, {0, 1}, inside, Medium::fabric, 12.5e6},
      {0, {}, {2, 3}, inside, Medium::fabric, 12.5e6},
  };
  return network;
}

std::vector<std::string> names(const Wires& wires, int from, int to) {
  std::vector<std::string> found;
  for (const int wire : wires.path(from, to)) found.push_back(wires.wires()[static_cast<std::size_t>(wire)].name);
  return found;
}

using Names = std::vector<std::string>;

TEST(Network, KnowsItsTree) {
  const auto network = two_racks();
  network.check("here");
  EXPECT_EQ(network.leaf_of(2), 2);
  EXPECT_EQ(network.leaf_of(7), -1);
  EXPECT_EQ(network.ancestors(1), (std::vector<int>{1, 0}));
  EXPECT_EQ(network.hosts_of(0), (std::vector<int>{0, 1, 2, 3}));
  const auto plain = one_switch(network.hosts, {1e-4, 1e8});
  plain.check("plain");
  EXPECT_EQ(plain.hosts_of(0), (std::vector<int>{0, 1, 2, 3}));
}

template <class Break>
std::string refusal(Break&& damage) {
  auto network = two_racks();
  damage(network);
  return message_of<InputError>([&] { network.check("map.json"); });
}

TEST(Network, RefusesWhatIsNotATree) {
  EXPECT_EQ(refusal([](Network& n) { n.subnets[1].hosts = {0}; }),
            "map.json: host f1 is in no subnet, expected one; measure the network again");
  EXPECT_EQ(refusal([](Network& n) {
              n.subnets[2].hosts = {1, 2, 3};
            }),
            "map.json: host f1 is in subnet 1 and in subnet 2, expected one of them");
  EXPECT_EQ(refusal([](Network& n) { n.subnets[1].parent = 2; }),
            "map.json: subnet 1 has the parent 2, expected one of 0 to 0; parents stand before their parts");
  EXPECT_EQ(refusal([](Network& n) { n.subnets[0].subnets = {1}; }),
            "map.json: subnet 2 has the parent 0, whose list of parts lacks it");
  EXPECT_EQ(refusal([](Network& n) {
              n.subnets[0].subnets = {0, 1, 2};
            }),
            "map.json: subnet 0 has the part 0, expected one of 1 to 2");
  EXPECT_EQ(refusal([](Network& n) {
              n.subnets[1].hosts = {0, 4};
            }),
            "map.json: subnet 1 holds host 4, expected one of 0 to 3");
  EXPECT_EQ(refusal([](Network& n) { n.hosts[1].name = "f0"; }),
            "map.json: hosts 0 and 1 are both called f0; list every host once");
  EXPECT_EQ(refusal([](Network& n) { n = {}; }), "map.json: the network has no hosts, expected one or more");
}

TEST(Network, RefusesImpossibleTimes) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal([](Network& n) { n.subnets[2].link.latency = -1; }),
            "map.json: the latency of subnet 2 is -1 s, expected a time from 0 to 1e6; measure the network again");
  expect_says(refusal([](Network& n) { n.subnets[2].link.bandwidth = nan; }), "bandwidth of subnet 2 is nan");
  // What is predicted with such numbers would overflow.
  expect_says(refusal([](Network& n) { n.subnets[2].link.bandwidth = 1e308; }), "bandwidth of subnet 2 is 1e+308");
  expect_says(refusal([](Network& n) { n.subnets[2].link.bandwidth = 1e-320; }), "bandwidth of subnet 2 is 1e-320");
  expect_says(refusal([](Network& n) { n.subnets[2].link.latency = 1e308; }), "latency of subnet 2 is 1e+308");
  expect_says(refusal([](Network& n) { n.subnets[0].link = {}; }), "bandwidth of subnet 0 is 0");
  expect_says(refusal([](Network& n) { n.subnets[1].uplink = 0; }), "uplink of subnet 1 is 0");
  expect_says(refusal([](Network& n) { n.hosts[3].inside = Link{1e-6, -5}; }), "inside host f3 is -5");
}

TEST(Wires, PathsCrossWhatLiesBetween) {
  const Wires wires(two_racks(), {0, 0, 1, 3});
  EXPECT_EQ(names(wires, 0, 1), (Names{"rank 0", "rank 1"}));
  EXPECT_EQ(names(wires, 1, 2), (Names{"rank 1", "f0 out", "f1 in", "rank 2"}));
  EXPECT_EQ(names(wires, 2, 3),
            (Names{"rank 2", "f1 out", "f1 out 1", "subnet 1 up", "subnet 2 down", "f3 in 1", "f3 in", "rank 3"}));
  EXPECT_EQ(wires.level(0, 1), 0);
  EXPECT_EQ(wires.level(0, 2), 1);
  EXPECT_EQ(wires.level(0, 3), 2);
  EXPECT_DOUBLE_EQ(wires.time(0, 1, 5e6), 1e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(wires.time(0, 2, 125e3), 50e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(wires.time(0, 3, 125e3), 100e-6 + 10e-3);
}

TEST(Wires, ABusIsOneWireForAll) {
  Network network;
  for (const char* name : {"a", "b", "c", "d"}) network.hosts.push_back({name, 1, Link{2e-6, 1e9}});
  const Link ethernet = {1e-3, 1.25e6};
  network.subnets = {{-1, {1, 2}, {}, {2e-3, 1.25e6}, Medium::bus, std::nullopt},
                     {0, {}, {0, 1, 2}, ethernet, Medium::bus, std::nullopt},
                     {0, {}, {3}, {}, Medium::unknown, std::nullopt}};
  const Wires wires(network, {0, 1, 3});
  EXPECT_EQ(names(wires, 0, 1), (Names{"rank 0", "a out", "subnet 1 bus", "b in", "rank 1"}));
  // d is alone in its subnet, whose link is unknown, so it has no port there.
  EXPECT_EQ(names(wires, 2, 0),
            (Names{"rank 2", "d out 1", "subnet 0 bus", "subnet 1 bus", "a in 1", "a in", "rank 0"}));
  EXPECT_DOUBLE_EQ(wires.latency(0, 2), 2e-3);
}

/// Returns the rates of wires by name, without those of ranks.
std::map<std::string, double> rates(const Wires& wires) {
  std::map<std::string, double> found;
  for (const auto& wire : wires.wires())
    if (!wire.name.starts_with("rank")) found[wire.name] = wire.bandwidth;
  return found;
}

TEST(Wires, TrafficTakesItsShare) {
  auto network = two_racks();
  network.traffic = Traffic{"2026-11-28T06:15:00Z", {{}, {0.6, 0.2}, {}, {}}, {{}, {0, 0.5, 0.25}, {}}};
  network.check("here");
  const auto idle = rates(Wires(two_racks(), {0, 1, 3})), left = rates(Wires(network, {0, 1, 3}));
  const std::map<std::string, double> shares{{"f1 out", 0.4},  {"f1 out 1", 0.4},    {"f1 in", 0.8},
                                             {"f1 in 1", 0.8}, {"subnet 1 up", 0.5}, {"subnet 1 down", 0.75}};
  for (const auto& [name, rate] : idle)
    EXPECT_DOUBLE_EQ(left.at(name), rate * (shares.contains(name) ? shares.at(name) : 1)) << name;

  const auto refused = [&](auto&& damage) {
    auto damaged = network;
    damage(*damaged.traffic);
    return message_of<InputError>([&] { damaged.check("map.json"); });
  };
  EXPECT_EQ(refused([](Traffic& t) { t.ports[2].in = 1; }),
            "map.json: traffic takes 1 of a wire, expected a share from 0 to 0.99; measure it again");
  expect_says(refused([](Traffic& t) { t.subnets[0].bus = -0.1; }), "traffic takes -0.1 of a wire");
  expect_says(refused([](Traffic& t) { t.ports.pop_back(); }), "traffic is of 3 hosts and 3 subnets, expected 4 and 3");
}

TEST(Wires, GroupsAtOnceShareWhatTheyUse) {
  const auto network = two_racks();
  const auto idle = rates(Wires(network, {0, 2}));
  // Two other groups cross the racks, one stays on a host, and one in the first rack.
  const std::vector<std::vector<int>> others{{1, 3}, {1, 2}, {3, 3}, {0, 1}};
  const auto shared = rates(Wires(network, {0, 2}, others));
  const std::map<std::string, int> users{
      {"f0 out", 1},        {"f0 in", 1},       {"f1 out", 3},       {"f1 in", 3},    {"f1 out 1", 2},
      {"f1 in 1", 2},       {"f2 out", 1},      {"f2 in", 1},        {"f2 out 1", 1}, {"f2 in 1", 1},
      {"f3 out", 1},        {"f3 in", 1},       {"f3 out 1", 1},     {"f3 in 1", 1},  {"subnet 1 up", 2},
      {"subnet 1 down", 2}, {"subnet 2 up", 2}, {"subnet 2 down", 2}};
  for (const auto& [name, rate] : idle)
    EXPECT_DOUBLE_EQ(shared.at(name), rate / (1 + (users.contains(name) ? users.at(name) : 0))) << name;
  EXPECT_EQ(Wires(network, {0, 2}).sharing(), 0u);
  EXPECT_EQ(Wires(network, {0, 2}, std::vector<std::vector<int>>{{1}, {3, 3}}).sharing(), 0u);
  EXPECT_NE(Wires(network, {0, 2}, others).sharing(), Wires(network, {0, 2}, std::span(others).first(1)).sharing());
}

TEST(Wires, GroupsAtOnceShareBusesAndProcessors) {
  auto network = two_racks();
  network.subnets[1].medium = Medium::bus;
  network.processors = {{{0, 1, 2}, {1e-4, 1e8}}};
  const auto of = [&](const std::vector<std::vector<int>>& others, const std::string& name) {
    const Wires wires(network, {0, 1}, others);
    const auto all = wires.wires();
    return *std::find_if(all.begin(), all.end(), [&](const Wire& wire) { return wire.name == name; });
  };
  EXPECT_DOUBLE_EQ(of({{0, 3}, {2, 3}}, "subnet 1 bus").bandwidth, 125e6 / 2);
  const auto processors = of({{0, 3, 0}, {2, 3}, {3, 3}}, "processors 0");
  EXPECT_DOUBLE_EQ(processors.bandwidth, 1e8 / 3);
  EXPECT_DOUBLE_EQ(processors.per_message, 3e-4);
  EXPECT_EQ(processors.n_other_ranks, 3);
}

TEST(Wires, RefusesRanksOnUnknownHosts) {
  EXPECT_THROW(Wires(two_racks(), {0, 4}), InputError);
  EXPECT_THROW(Wires(two_racks(), {0, 1}, std::vector<std::vector<int>>{{1, -1}}), InputError);
}

TEST(Wires, PathsStandInOnePlace) {
  // Predictions ask for millions of paths: none allocates memory of its own.
  const Wires wires(two_racks(), {0, 1, 2, 3});
  const auto* place = wires.path(0, 3).data();  // a longest one
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) EXPECT_EQ(wires.path(from, to).data(), place) << from << " to " << to;
}

}  // namespace
}  // namespace tessera::machine
