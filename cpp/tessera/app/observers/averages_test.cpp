#include "tessera/app/observers/averages.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::app {
namespace {

constexpr std::int64_t degrees = 6000;
constexpr double kt = units::boltzmann * 300 * degrees;

/// Returns a sample of `drift` kT/ns/dof after a jump at the start that dies away within `settling` ps, each 0.02 ps.
Sample sample(int i, double drift, double jump, double settling) {
  Sample s;
  s.time = 0.02 * i;
  s.temperature = 300 + (i % 2 ? 1 : -1);
  s.pressure = i % 2 ? 100 : -100;
  s.kinetic = 0.5 * kt;
  s.potential = -9000 + drift * kt * s.time / 1000 + jump * (1 - std::exp(-s.time / settling));
  s.conserved = s.total();
  return s;
}

TEST(Averages, TheDriftLeavesOutTheJumpAtTheStart) {
  for (const int n : {40, 100, 333, 1000, 100000}) {
    Averages averages(degrees);
    for (int i = 0; i < n; ++i) averages.add(sample(i, -0.006, 4.0, 0.03));
    EXPECT_NEAR(averages.drift(), -0.006, 1e-5 + 20 * std::exp(-0.005 * n / 0.03)) << n;
  }
}

TEST(Averages, MeansAreOfTheLastThreeQuarters) {
  Averages averages(degrees);
  EXPECT_TRUE(std::isnan(averages.average(Averages::temperature).mean));
  for (int i = 0; i < 1000; ++i) {
    auto s = sample(i, 0, 0, 1);
    if (i < 230) s.temperature = 900;
    averages.add(s);
  }
  EXPECT_NEAR(averages.average(Averages::temperature).mean, 300, 1e-9);
  EXPECT_NEAR(averages.average(Averages::temperature).fluctuation, 1, 1e-6);
  EXPECT_NEAR(averages.average(Averages::pressure).fluctuation, 100, 1e-6);
  EXPECT_NEAR(averages.average(Averages::total).mean, -9000 + 0.5 * kt, 1e-6);
  EXPECT_NEAR(averages.average(Averages::total).fluctuation, 0, 1e-3);
}

TEST(Averages, FewSamples) {
  Averages averages(degrees);
  averages.add(sample(0, 0.5, 0, 1));
  EXPECT_EQ(averages.average(Averages::temperature).mean, 299);
  EXPECT_TRUE(std::isnan(averages.drift()));
  averages.add(sample(1, 0.5, 0, 1));
  EXPECT_TRUE(std::isnan(averages.drift()));  // the first is left out
  averages.add(sample(2, 0.5, 0, 1));
  EXPECT_NEAR(averages.drift(), 0.5, 0.01);
}

/// Returns in how many of 1000 series of n samples the interval holds the drift. The noise is half that of the sample
/// before.
int count_holding(int n, double drift, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise;
  int holding = 0;
  for (int series = 0; series < 1000; ++series) {
    Averages averages(degrees);
    double value = 0;
    for (int i = 0; i < n; ++i) {
      auto s = sample(i, drift, 0, 1);
      value = 0.5 * value + noise(random);
      s.conserved += value;
      averages.add(s);
    }
    holding += std::abs(averages.drift() - drift) <= averages.drift_half_width();
  }
  return holding;
}

TEST(Averages, TheIntervalOfTheDriftHoldsItAsOftenAsItSays) {
  // 950 ± 7 are expected; the weights of a last block that is not full yet, and the rest of the resemblance between
  // blocks of 32 samples, cost a few.
  for (const int n : {512, 500}) {
    const int holding = count_holding(n, 0.02, 7);
    EXPECT_GT(holding, 915) << n;
    EXPECT_LT(holding, 980) << n;
  }
}

TEST(Averages, TheIntervalOfTheDriftNeedsFiveBlocks) {
  Averages averages(degrees);
  for (int i = 0; i < 6; ++i) averages.add(sample(i, 0.5, 0, 1));
  EXPECT_TRUE(std::isnan(averages.drift_half_width()));  // two of them are left out
  averages.add(sample(6, 0.5, 0, 1));
  EXPECT_NEAR(averages.drift_half_width(), 0, 1e-9);  // all are on a line
}

TEST(Averages, ARestartGoesOnToTheBit) {
  for (const int stop : {0, 1, 15, 16, 17, 100, 777}) {
    Averages whole(degrees);
    std::mt19937_64 random(1);
    std::normal_distribution<double> noise;
    Averages parts(degrees);
    for (int i = 0; i < 1000; ++i) {
      auto s = sample(i, 0.1, 1, 1);
      s.potential += noise(random);
      whole.add(s);
      if (i == stop) parts = Averages(parts.state());
      parts.add(s);
    }
    EXPECT_EQ(parts.state(), whole.state()) << stop;
    EXPECT_EQ(parts.drift(), whole.drift());
  }
}

}  // namespace
}  // namespace tessera::app
