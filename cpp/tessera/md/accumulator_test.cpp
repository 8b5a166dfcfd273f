#include "tessera/md/accumulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::md {
namespace {

TEST(SparseForces, AddUpToThoseOfAllSlots) {
  constexpr std::size_t slots = 3 * SparseForces::block_slots + 5;
  SparseForces sparse;
  sparse.resize(slots);
  const auto blocks = sparse.n_blocks();
  EXPECT_EQ(blocks, 4u);
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 3; ++turn) {  // results of an earlier turn are cleared
    sparse.clear();
    const auto bytes_of_none = sparse.bytes();
    std::vector<std::int64_t> total(3 * slots, 7), expected(3 * slots, 7);
    Accumulator accumulator(total, nullptr, &sparse), alone(expected, nullptr);
    for (int i = 0; i < 50; ++i) {
      // The second block stays empty.
      auto slot = static_cast<std::int32_t>(random() % slots);
      if (static_cast<std::size_t>(slot) / SparseForces::block_slots == 1) slot = slots - 1;
      const Vec3 f = {1.0 * i, -0.5 * turn, 0.25};
      accumulator.add_force(slot, f);
      alone.add_force(slot, f);
    }
    for (const auto value : total) ASSERT_EQ(value, 7) << "not before they are asked for";
    EXPECT_EQ(sparse.bytes() - bytes_of_none, 3 * SparseForces::block_slots * 3 * sizeof(std::int64_t));
    constexpr std::size_t cut = 300;  // inside the second block
    for (std::size_t block = 0; block < blocks; ++block) {
      sparse.add_block_to(total, block, 0, cut);
      sparse.add_block_to(total, block, cut, total.size());
    }
    EXPECT_EQ(total, expected);
  }
}

TEST(EnergyVirial, ClashesDoNotWrapAndOrderMakesNoDifference) {
  std::vector<double> values = {5e15, 5e15, -3e14, 4e10, 3e10, 1e6, -0.25, 1048576, -1048576.5, 17.125, 1e30, NAN};
  EnergyVirial expected;
  for (const double value : values) expected.add(Term::lj, value);
  EXPECT_DOUBLE_EQ(expected[Term::lj], 1e16 - 3e14 + 7e10 + 1e6 - 0.75 + 17.125 + 2 * energy_limit);
  EXPECT_TRUE(expected.clashes.is_energy_limited);
  std::mt19937_64 random(5);
  for (int turn = 0; turn < 20; ++turn) {
    std::shuffle(values.begin(), values.end(), random);
    std::array<EnergyVirial, 2> parts;
    for (std::size_t i = 0; i < values.size(); ++i) parts[i % 2].add(Term::lj, values[i]);
    parts[0].merge(parts[1]);
    EXPECT_EQ(parts[0].energy, expected.energy);
    EXPECT_EQ(parts[0].energy_of_clashes, expected.energy_of_clashes);
  }
}

TEST(Accumulator, ManyClashesOnOneAtomPushTheirWay) {
  std::vector<std::int64_t> force(3);
  Accumulator accumulator(force, nullptr);
  for (int i = 0; i < 500; ++i) accumulator.add_force(0, {1e12, -INFINITY, -7});
  EXPECT_EQ(from_fixed(force[0], force_unit), 500 * force_limit);
  EXPECT_EQ(from_fixed(force[1], force_unit), -500 * force_limit);
  EXPECT_EQ(from_fixed(force[2], force_unit), -3500);
}

TEST(Clashes, TheNearestAreKeptWhateverTheOrder) {
  std::vector<ClashingAtoms> all;
  for (int i = 0; i < 12; ++i) all.push_back({0.01 * (i % 6), i, i + 20});
  auto nearest = all;
  std::sort(nearest.begin(), nearest.end());
  nearest.resize(Clashes::most_named);
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 10; ++turn) {
    std::shuffle(all.begin(), all.end(), random);
    Clashes one, other;
    for (std::size_t i = 0; i < all.size(); ++i) (i % 3 == 0 ? one : other).add(all[i]);
    one.merge(other);
    EXPECT_EQ(one.nearest, nearest);
    EXPECT_EQ(one.count, 12);
  }
}

}  // namespace
}  // namespace tessera::md
