#include "tessera/md/accumulator.h"

#include <gtest/gtest.h>

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
  for (int turn = 0; turn < 3; ++turn) {  // what an earlier turn left is forgotten
    sparse.clear();
    const auto bytes_of_none = sparse.bytes();
    std::vector<std::int64_t> total(3 * slots, 7), expected(3 * slots, 7);
    Accumulator accumulator(total, nullptr, &sparse), alone(expected, nullptr);
    for (int i = 0; i < 50; ++i) {
      // The second block stays as it is.
      auto slot = static_cast<std::int32_t>(random() % slots);
      if (static_cast<std::size_t>(slot) / SparseForces::block_slots == 1) slot = slots - 1;
      const Vec3 f = {1.0 * i, -0.5 * turn, 0.25};
      accumulator.add_force(slot, f);
      alone.add_force(slot, f);
    }
    for (const auto value : total) ASSERT_EQ(value, 7) << "not before they are asked for";
    EXPECT_EQ(sparse.bytes() - bytes_of_none, 3 * SparseForces::block_slots * 3 * sizeof(std::int64_t));
    constexpr std::size_t cut = 300;  // in the second block
    for (std::size_t block = 0; block < blocks; ++block) {
      sparse.add_block_to(total, block, 0, cut);
      sparse.add_block_to(total, block, cut, total.size());
    }
    EXPECT_EQ(total, expected);
  }
}

}  // namespace
}  // namespace tessera::md
