// A real system whose box changes in every step; tests/bits/test_bitwise.py names the system file.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tessera/app/config/read_config.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/start/coordinates.h"
#include "tessera/app/system/system_file.h"
#include "tessera/md/test_support/barostat.h"

namespace tessera::app {
namespace {

TEST(Box, OfARealSystemMayChangeInEveryStep) {
  const char* path = std::getenv("TESSERA_TEST_SYSTEM");
  if (path == nullptr) GTEST_SKIP() << "TESSERA_TEST_SYSTEM names no system file";
  const auto system = read_system(std::string(path));
  const auto settings = plan_settings(config_of_system(path), system);
  const auto start = make_start(system, read_coordinates(std::string(path), 0, 1));
  constexpr int n_steps = 200;
  const auto begin = [](md::Engine& engine) {
    engine.constrain_start();
    engine.generate_velocities(300, 1);
  };
  const auto run = [&](int ranks) {
    return md::test::run_with_barostat(system, settings, start, 1, ranks, n_steps, begin);
  };
  const auto alone = run(1);
  EXPECT_FALSE(alone.end.box == system.box);
  for (const int ranks : {1, 3, 4}) {
    const auto fresh = md::test::run_with_barostat(system, settings, alone.end, 1, ranks, 0);
    EXPECT_EQ(fresh.energies.term, alone.energies.term) << ranks << " ranks";
    EXPECT_EQ(fresh.energies.kinetic, alone.energies.kinetic) << ranks << " ranks";
    if (ranks == 1) continue;
    const auto many = run(ranks);
    EXPECT_TRUE(many.end.box == alone.end.box) << ranks << " ranks";
    EXPECT_EQ(many.energies.term, alone.energies.term) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace tessera::app
