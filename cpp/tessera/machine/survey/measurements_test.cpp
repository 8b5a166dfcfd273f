#include "tessera/machine/survey/measurements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/machine/test_support.h"

namespace tessera::machine {
namespace {

using tessera::test::message_of;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

Measurements of_hosts(const std::vector<std::string>& names, const std::vector<std::int64_t>& sizes) {
  std::vector<MeasuredHost> hosts;
  for (const auto& name : names) hosts.push_back({name, 2, {}, {}, -1});
  return Measurements::of(hosts, sizes);
}

template <class Break>
std::string refusal(Break&& damage) {
  auto measurements = of_hosts({"a", "b", "c"}, {1, 100});
  damage(measurements);
  return message_of<InputError>([&] { measurements.check("map.json"); });
}

TEST(Measurements, AreChecked) {
  EXPECT_EQ(refusal([](Measurements&) {}), "");
  EXPECT_EQ(refusal([](Measurements& m) { m.times[1].at(0, 2) = -1; }),
            "map.json: 100 bytes from a to c took -1 s, expected a time from 1e-15 to 1e15, or null");
  EXPECT_EQ(refusal([](Measurements& m) { m.times[0].at(2, 1) = std::numeric_limits<double>::infinity(); }),
            "map.json: 1 bytes from c to b took inf s, expected a time from 1e-15 to 1e15, or null");
  EXPECT_EQ(refusal([](Measurements& m) { m.inside[0][1] = 0; }),
            "map.json: 1 bytes inside b took 0 s, expected a time from 1e-15 to 1e15, or null");
  EXPECT_EQ(refusal([](Measurements& m) { m.times[1] = TimeMatrix(2); }),
            "map.json: the matrix of 100 bytes is 2 × 2 and 3 hosts were measured inside, expected 3");
  EXPECT_EQ(refusal([](Measurements& m) { m.hosts[2].name = "a"; }),
            "map.json: a host is listed twice among the 3 measured");
  EXPECT_EQ(refusal([](Measurements& m) {
              m.sizes = {100, 1};
            }),
            "map.json: message size 1 is 1, expected ascending sizes ≥ 0");
  EXPECT_EQ(refusal([](Measurements& m) {
              m.experiments = {{{{0, 3}}, 10, {}, {}, 0}};
            }),
            "map.json: experiment 0 has a flow from host 0 to 3, expected two of 0 to 2");
  EXPECT_EQ(refusal([](Measurements& m) {
              m.experiments = {{{{0, 1}, {1, 2}}, 10, {1.0}, {}}};
            }),
            "map.json: experiment 0 has 1 times for 2 flows");
  EXPECT_EQ(refusal([](Measurements& m) {
              m.experiments = {{{{0, 1}}, 10, {unknown}, {1.0}}};
            }),
            "map.json: experiment 0 took nan s, expected a time from 1e-15 to 1e15");
  EXPECT_EQ(refusal([](Measurements& m) { m.hosts.clear(); }),
            "map.json: no hosts were measured, expected one or more");
}

TEST(Measurements, MergeKeepsTheLeast) {
  auto first = of_hosts({"a", "b", "c"}, {1, 100});
  first.times[0].at(0, 1) = 3;
  first.times[0].at(1, 2) = 5;
  first.inside[1][0] = 1;
  first.experiments = {{{{0, 1}, {1, 2}}, 10, {2, 2}, {4, 4}}};
  auto second = of_hosts({"c", "a", "b"}, {1, 50});
  second.times[0].at(1, 2) = 2;  // a to b
  second.times[1].at(0, 1) = 7;  // c to a, 50 bytes
  second.inside[0][0] = 9;       // c
  second.experiments = {{{{1, 2}, {2, 0}}, 10, {3, 1}, {3, 5}, 0}, {{{0, 1}}, 20, {}, {}, 0}};
  const auto merged = merge(first, second);
  merged.check("merged");
  EXPECT_EQ(merged.sizes, (std::vector<std::int64_t>{1, 50, 100}));
  EXPECT_EQ(merged.times[0].at(0, 1), 2);
  EXPECT_EQ(merged.times[0].at(1, 2), 5);
  EXPECT_EQ(merged.times[1].at(2, 0), 7);
  EXPECT_TRUE(std::isnan(merged.times[1].at(0, 1)));
  EXPECT_EQ(merged.inside[2][0], 1);
  EXPECT_EQ(merged.inside[0][2], 9);
  ASSERT_EQ(merged.experiments.size(), 2U);
  EXPECT_EQ(merged.experiments[0], (Experiment{{{0, 1}, {1, 2}}, 10, {2, 1}, {3, 4}, 0}));
  EXPECT_EQ(merged.experiments[1].flows, (std::vector<Flow>{{2, 0}}));

  EXPECT_THROW(merge(first, of_hosts({"a", "b", "d"}, {1})), InputError);
  EXPECT_THROW(merge(first, of_hosts({"a", "b"}, {1})), InputError);
}

TEST(Measurements, KnowWhenTheyAreStale) {
  auto known = of_hosts({"a", "b", "c"}, {100});
  known.times[0].set_both(0, 1, 1e-3);
  const auto network = one_switch({{"a", 2, {}}, {"b", 2, {}}, {"c", 2, {}}}, {1e-3, 1e9});
  const std::vector<HostNow> hosts = {{"a", 2}, {"b", 1}};
  EXPECT_TRUE(what_is_stale(known, network, hosts, {{0, 1, 100, 1.2e-3}, {1, 2, 100, 0.8e-3}}).empty());
  EXPECT_EQ(what_is_stale(known, network, {{"a", 4}, {"d", 1}}, {{1, 0, 100, 9e-3}, {1, 2, 100, 1e-4}}),
            (std::vector<std::string>{"host a has 4 ranks, the map knows 2 slots", "host d is not in the map",
                                      "100 bytes from b to a take 9 ms, in the map 1 ms",
                                      "100 bytes from b to c take 0.1 ms, in the map 1 ms"}));
}

}  // namespace
}  // namespace tessera::machine
