#include "tessera/fiber/step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/fiber/draws.h"

namespace tessera::fiber {
namespace {

TEST(Step, EnergyIsThatOfTheParametersThatLeadFromOneFrameToTheOther) {
  const Springs springs = {30, 0.1, 0.3, 16, 24};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draws draws(seed, 0);
    const std::array<double, 6> p = {draws.within(5), draws.within(5), 30 + draws.within(5),
                                     draws.within(1), draws.within(1), draws.within(2)};
    const Frame first = {{draws.within(9), 2, 3}, turn(draws.direction(), draws.within(3))};
    const StepEnergy energy = step_energy(first, first * step_frame(p), springs);
    EXPECT_NEAR(energy.across, 0.1 * (p[0] * p[0] + p[1] * p[1]) / 2, 1e-10);
    EXPECT_NEAR(energy.along, 0.3 * (p[2] - 30) * (p[2] - 30) / 2, 1e-10);
    EXPECT_NEAR(energy.bend, 16 * (p[3] * p[3] + p[4] * p[4]) / 2, 1e-10);
    EXPECT_NEAR(energy.twist, 24 * p[5] * p[5] / 2, 1e-10);
    EXPECT_DOUBLE_EQ(energy.total(), energy.across + energy.along + energy.bend + energy.twist);
  }
}

TEST(Step, FoldedBackHasNoEnergyThatIsFinite) {
  const Frame first, back = {{0, 0, 30}, turn({1, 0, 0}, 3.14159265358979324)};
  EXPECT_EQ(step_energy(first, back, {30, 1, 1, 1, 1}).total(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tessera::fiber
