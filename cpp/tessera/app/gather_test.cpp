#include "tessera/app/gather.h"

#include <gtest/gtest.h>

namespace tessera::app {
namespace {

TEST(IdRanges, CoverAllAtomsInOrder) {
  for (const std::int64_t n : {0L, 1L, 4096L, 4097L, 1'000'003L, 5'000'000'000L}) {
    std::int64_t next = 0, ranges = 0;
    for_id_ranges(n, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin, next);
      EXPECT_LT(begin, end);
      EXPECT_LE(end - begin, 1 << 20) << "the root holds so many at once";
      next = end;
      ++ranges;
    });
    EXPECT_EQ(next, n);
    EXPECT_LE(ranges, std::max<std::int64_t>(64, n >> 19));
    if (n > 4096) {
      EXPECT_GT(ranges, 1) << "else all atoms stand on the root at once";
    }
  }
}

}  // namespace
}  // namespace tessera::app
