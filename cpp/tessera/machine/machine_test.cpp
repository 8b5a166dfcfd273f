#include "tessera/machine/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

namespace tessera::machine {
namespace {

TEST(Machine, DescribesThisHost) {
  const Machine machine = describe_this_host();
  EXPECT_FALSE(machine.name.empty());
  EXPECT_TRUE(machine.simd.has_value());
  EXPECT_LE(machine.usable_threads.value_or(0), machine.threads.value_or(1 << 20));
  EXPECT_NE(machine.summary().find(machine.name), std::string::npos);
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

TEST(Machine, RefusesOtherFiles) {
  EXPECT_THROW(machine_from_json(nlohmann::json::array(), "a"), InputError);
  auto json = to_json(Machine{});
  json["version"] = 2;
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
