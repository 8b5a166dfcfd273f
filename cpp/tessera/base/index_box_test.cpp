#include "tessera/base/index_box.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(IndexBox, CountsAndNumbersItsTriples) {
  const IndexBox box = {{2, -1, 5}, {4, 2, 9}};
  EXPECT_EQ(box.size(), 2 * 3 * 4);
  EXPECT_FALSE(box.is_empty());
  std::int64_t next = 0;  // flat order: z fastest
  for (std::int64_t x = 2; x < 4; ++x)
    for (std::int64_t y = -1; y < 2; ++y)
      for (std::int64_t z = 5; z < 9; ++z) {
        EXPECT_TRUE(box.contains({x, y, z}));
        EXPECT_EQ(box.flat({x, y, z}), next++);
      }
  for (const Index3& outside : {Index3{1, 0, 5}, {4, 0, 5}, {2, -2, 5}, {2, 2, 5}, {2, 0, 4}, {2, 0, 9}})
    EXPECT_FALSE(box.contains(outside));
}

TEST(IndexBox, BoxesTurnedInsideOutAreEmpty) {
  const IndexBox box = {{5, 0, 0}, {3, 4, 4}};
  EXPECT_EQ(box.extent(0), 0);
  EXPECT_EQ(box.size(), 0);
  EXPECT_TRUE(box.is_empty());
  EXPECT_FALSE(box.contains({4, 1, 1}));
}

TEST(IndexBox, SizesPastThirtyTwoBits) {
  const IndexBox box = {{0, 0, 0}, {1 << 20, 1 << 20, 1 << 20}};
  EXPECT_EQ(box.size(), std::int64_t{1} << 60);
  EXPECT_EQ(box.flat({(1 << 20) - 1, (1 << 20) - 1, (1 << 20) - 1}), (std::int64_t{1} << 60) - 1);
}

TEST(IndexBox, IntersectionIsWhatBothContain) {
  const IndexBox a = {{0, 0, 0}, {4, 5, 6}}, b = {{2, -3, 5}, {9, 2, 7}};
  EXPECT_EQ(intersection(a, b), (IndexBox{{2, 0, 5}, {4, 2, 6}}));
  EXPECT_EQ(intersection(a, b), intersection(b, a));
  const IndexBox apart = {{7, 0, 0}, {9, 5, 6}};
  EXPECT_TRUE(intersection(a, apart).is_empty());
  for (int d = 0; d < 3; ++d)
    EXPECT_GE(intersection(a, apart).upper[static_cast<std::size_t>(d)],
              intersection(a, apart).lower[static_cast<std::size_t>(d)]);
}

}  // namespace
}  // namespace tessera
