#include "tessera/machine/load/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/machine/wires.h"

namespace tessera::machine {
namespace {

/// Returns three switches of four hosts, a bus of three and one host alone, joined by a switch; the first two have
/// up-links that are slower than their ports together.
Network campus() {
  Network network;
  network.subnets.push_back({-1, {}, {}, {2e-4, 1e7}, Medium::fabric, std::nullopt});
  const auto add = [&](int n, double rate, Medium medium, std::optional<double> uplink) {
    network.subnets[0].subnets.push_back(static_cast<int>(network.subnets.size()));
    Subnet leaf{0, {}, {}, {1e-4, rate}, medium, uplink};
    for (int i = 0; i < n; ++i) {
      leaf.hosts.push_back(static_cast<int>(network.hosts.size()));
      network.hosts.push_back({"h" + std::to_string(network.hosts.size()), 1, std::nullopt});
    }
    network.subnets.push_back(leaf);
  };
  add(4, 1e7, Medium::fabric, 1e7);
  add(4, 1e7, Medium::fabric, 1e7);
  add(4, 1e7, Medium::fabric, std::nullopt);
  add(3, 1e6, Medium::bus, 1e6);
  add(1, 1e7, Medium::fabric, std::nullopt);
  network.check("campus");
  return network;
}

std::vector<int> all_hosts(const Network& network) {
  std::vector<int> hosts(network.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

/// Returns the time of each flow where there is this traffic, with up to so much scatter.
std::vector<std::vector<double>> times(Network network, const Traffic& traffic, const std::vector<TrafficProbe>& probes,
                                       double scatter) {
  network.traffic = traffic;
  const Wires wires(network, all_hosts(network));
  std::mt19937 random(1);
  std::vector<std::vector<double>> found;
  for (const auto& probe : probes) {
    auto& of_flows = found.emplace_back();
    for (const auto& [from, to] : probe.flows)
      of_flows.push_back(wires.time(from, to, static_cast<double>(probe.bytes)) *
                         std::uniform_real_distribution(1.0, 1 + scatter)(random));
  }
  return found;
}

Traffic none(const Network& network) {
  return {"now", std::vector<Traffic::Port>(network.hosts.size()), std::vector<Traffic::Lines>(network.subnets.size())};
}

TEST(TrafficProbes, PassEveryWireAndShareNone) {
  const auto network = campus();
  const auto probes = traffic_probes(network, all_hosts(network), 0.1);
  const Wires wires(network, all_hosts(network));
  // Ranks are no wires of the network, and a port has a wire for each level of it.
  const auto counts = [](const std::string& name) {
    return !name.starts_with("rank") && !name.ends_with("out 1") && !name.ends_with("in 1");
  };
  std::set<std::string> passed, all;
  for (const auto& wire : wires.wires())
    if (counts(wire.name)) all.insert(wire.name);
  for (const auto& probe : probes) {
    std::set<std::string> used;
    for (const auto& [from, to] : probe.flows) {
      EXPECT_NEAR(wires.time(from, to, static_cast<double>(probe.bytes)), 0.1, 1e-3);
      for (const int wire : wires.path(from, to))
        if (const auto& name = wires.wires()[static_cast<std::size_t>(wire)].name; counts(name)) {
          EXPECT_TRUE(used.insert(name).second) << name;
        }
    }
    passed.insert(used.begin(), used.end());
  }
  EXPECT_EQ(passed, all);
  EXPECT_LT(probes.size(), 30u);
}

TEST(TrafficProbes, AreAmongTheHostsOfTheJob) {
  const auto network = campus();
  const std::vector<int> job{0, 1, 5, 14};
  for (const auto& probe : traffic_probes(network, job, 0.1))
    for (const auto& [from, to] : probe.flows)
      for (const int host : {from, to}) EXPECT_TRUE(std::find(job.begin(), job.end(), host) != job.end());
  EXPECT_TRUE(traffic_probes(network, {3}, 0.1).empty());
}

TEST(TrafficProbes, AreFewAtOnceOnSharedProcessors) {
  auto network = campus();
  network.processors = {{all_hosts(network), {1e-4, 1e8}}};
  for (const auto& probe : traffic_probes(network, all_hosts(network), 0.1)) EXPECT_LE(probe.flows.size(), 4u);
}

TEST(TrafficOf, FindsWhatIsBusy) {
  const auto network = campus();
  const auto probes = traffic_probes(network, all_hosts(network), 0.1);
  const auto expect_found = [&](const Traffic& there) {
    const auto found = traffic_of(network, probes, times(network, there, probes, 0.05), "now");
    EXPECT_EQ(found.date, "now");
    for (std::size_t h = 0; h < network.hosts.size(); ++h) {
      EXPECT_NEAR(found.ports[h].out, there.ports[h].out, 0.05) << network.hosts[h].name;
      EXPECT_NEAR(found.ports[h].in, there.ports[h].in, 0.05) << network.hosts[h].name;
    }
    for (std::size_t s = 0; s < network.subnets.size(); ++s) {
      EXPECT_NEAR(found.subnets[s].bus, there.subnets[s].bus, 0.05) << s;
      EXPECT_NEAR(found.subnets[s].up, there.subnets[s].up, 0.05) << s;
      EXPECT_NEAR(found.subnets[s].down, there.subnets[s].down, 0.05) << s;
    }
  };
  auto there = none(network);
  expect_found(there);
  there.ports[2] = {0.6, 0};
  expect_found(there);
  there.ports[9] = {0.3, 0.8};
  expect_found(there);
  there.subnets[4].bus = 0.45;
  expect_found(there);
  there.subnets[2] = {0, 0.5, 0.25};
  expect_found(there);
}

TEST(SecondsForTraffic, AreANumber) {
  EXPECT_EQ(seconds_for_traffic(""), 0);
  EXPECT_EQ(seconds_for_traffic("2.5"), 2.5);
  for (const char* wrong : {"yes", "-1", "3s", "nan", "1e9"})
    EXPECT_EQ(tessera::test::message_of<InputError>([&] { (void)seconds_for_traffic(wrong); }),
              "TESSERA_TRAFFIC is \"" + std::string(wrong) + "\", expected seconds from 0 to 3600, as in 3");
}

}  // namespace
}  // namespace tessera::machine
