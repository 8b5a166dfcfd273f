#include "tessera/machine/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::machine {
namespace {

using tessera::test::expect_says, tessera::test::message_of;

TEST(Machine, DescribesThisHost) {
  const Machine machine = describe_this_host();
  EXPECT_FALSE(machine.name.empty());
  EXPECT_TRUE(machine.simd.has_value());
  EXPECT_LE(machine.usable_threads.value_or(0), machine.threads.value_or(1 << 20));
  expect_says(machine.summary(), machine.name);
  EXPECT_EQ(machine_from_json(to_json(machine), "itself"), machine);
}

TEST(Machine, UnknownStaysUnknown) {
  const Machine nothing;
  EXPECT_EQ(nothing.summary(), "unknown host: nothing known");
  EXPECT_EQ(machine_from_json(to_json(nothing), "nothing"), nothing);
  Machine torus;
  torus.name = "torus";
  torus.nodes = 6144;
  torus.cores = 48;
  torus.caches = {{2, 8LL << 20, 12, 4}};
  EXPECT_EQ(torus.summary(), "torus: 6144 nodes, 48 cores, L2 8.0 MiB");
  EXPECT_EQ(machine_from_json(to_json(torus), "torus"), torus);
}

TEST(Machine, KeepsItsNetwork) {
  Machine machine;
  machine.network = Network{{{"a", 2, Link{1e-6, 5e9}}, {"b", 1, std::nullopt}, {"c", 1, std::nullopt}},
                            {{-1, {1, 2}, {}, {1e-4, 1.25e6}, Medium::bus, std::nullopt},
                             {0, {}, {2, 0}, {5e-5, 1.17e6}, Medium::fabric, 1e6},
                             {0, {}, {1}, {}, Medium::unknown, std::nullopt}}};
  machine.network->traffic =
      Traffic{"2026-11-28T06:15:00Z", {{0.6, 0.1}, {}, {0, 0.3}}, {{0.2, 0, 0}, {0, 0.5, 0.125}, {}}};
  const auto json = to_json(machine);
  EXPECT_EQ(machine_from_json(nlohmann::json::parse(json.dump()), "itself"), machine);

  const auto refusal = [&](const char* path, const nlohmann::json& value) -> std::string {
    auto damaged = json;
    damaged[nlohmann::json::json_pointer(path)] = value;
    return message_of<InputError>([&] { machine_from_json(damaged, "map.json"); });
  };
  EXPECT_EQ(refusal("/network/subnets/1/hosts/0", "d"),
            "map.json: network.subnets[1].hosts has d, which is not one of network.hosts");
  EXPECT_EQ(refusal("/network/subnets/1/medium", "wire"),
            "map.json: network.subnets[1].medium is wire, expected bus, fabric or unknown");
  EXPECT_EQ(refusal("/network/subnets/0/link/latency", "soon"),
            "map.json: network.subnets[0].link.latency is \"soon\", expected a number");
  EXPECT_EQ(refusal("/network/subnets/0/link/bandwidth", -1),
            "map.json: network: the bandwidth of subnet 0 is -1 bytes/s, expected a rate from 1e-6 to 1e18; measure "
            "the network "
            "again");
  EXPECT_EQ(refusal("/network/subnets/0/parts/1", 7),
            "map.json: network: subnet 0 has the part 7, expected one of 1 to 2");
  EXPECT_EQ(refusal("/network/traffic/ports/0/host", "d"),
            "map.json: network.traffic.ports[0].host is d, which is not one of network.hosts");
  EXPECT_EQ(refusal("/network/traffic/lines/1/subnet", 3),
            "map.json: network.traffic.lines[1].subnet is 3, expected one of 0 to 2");
  EXPECT_EQ(refusal("/network/hosts", 5), "map.json: network.hosts is not a list");
  EXPECT_EQ(refusal("/network", 5), "map.json: network is 5, expected an object");
}

TEST(Machine, RefusesOtherFiles) {
  EXPECT_THROW(machine_from_json(nlohmann::json::array(), "a"), InputError);
  auto json = to_json(Machine{});
  json["version"] = 4;
  EXPECT_THROW(machine_from_json(json, "a"), InputError);
  json = to_json(Machine{});
  json["cores"] = "many";
  EXPECT_THROW(machine_from_json(json, "a"), InputError);
  json["cores"] = -1;
  EXPECT_THROW(machine_from_json(json, "a"), InputError);
  json = to_json(Machine{});
  json["caches"] = {{{"bytes", 5}}};
  EXPECT_THROW(machine_from_json(json, "a"), InputError);
}

}  // namespace
}  // namespace tessera::machine
