#include "tessera/machine/load/shared_processors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::machine {
namespace {

Network four_hosts() { return one_switch({{"a", 2, {}}, {"b", 2, {}}, {"c", 2, {}}, {"d", 2, {}}}, {5e-5, 1.2e8}); }

TEST(SharedProcessors, AreOfHostsOfOneOperatingSystem) {
  auto network = four_hosts();
  add_shared_processors(network, std::vector{0, 0, 1, 3, 2}, std::vector<std::string>{"x", "x", "y", "x", ""});
  ASSERT_EQ(network.processors.size(), 1U) << "a host alone, and one of which nothing is known, share none";
  EXPECT_EQ(network.processors[0], (Processors{{0, 3}, unmeasured_work}));
  network.check("network");
}

TEST(SharedProcessors, OfTheMapStay) {
  auto network = four_hosts();
  const Processors measured{{0, 1}, {1e-5, 1e9}};
  network.processors = {measured};
  add_shared_processors(network, std::vector{0, 1, 2, 3}, std::vector<std::string>(4, "x"));
  EXPECT_EQ(network.processors, (std::vector{measured, Processors{{2, 3}, unmeasured_work}}));
  network.check("network");
}

}  // namespace
}  // namespace tessera::machine
