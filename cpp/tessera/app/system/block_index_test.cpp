#include "tessera/app/system/block_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::app {
namespace {

TEST(ShareOfBlocks, IsNearestToEqualNumbersOfRows) {
  const std::vector<std::int64_t> offset = {0, 3, 5, 9};
  const auto first_row = [&](std::int64_t block) { return offset.at(static_cast<std::size_t>(block)); };
  EXPECT_EQ(share_of_blocks(3, first_row, 0, 2), (std::pair<std::int64_t, std::int64_t>{0, 2}));
  EXPECT_EQ(share_of_blocks(3, first_row, 1, 2), (std::pair<std::int64_t, std::int64_t>{2, 3}));
}

TEST(ShareOfBlocks, OfMoreThanTwoToThe31RowsAsksForFewBlocks) {
  // 10¹⁰ atoms in blocks of 412 and 414; every 100th is empty.
  constexpr std::int64_t n_blocks = 24'455'556;
  std::int64_t n_asked = 0;
  const auto first_row = [&](std::int64_t block) {
    ++n_asked;
    const auto full = block - (block + 99) / 100;
    return 412 * full + 2 * (full / 2);
  };
  constexpr int size = 65536;
  std::int64_t end_before = 0;
  for (int rank = 0; rank < size; rank += rank < 100 ? 1 : 4096) {
    const auto [begin, end] = share_of_blocks(n_blocks, first_row, rank, size);
    if (rank <= 100) {
      EXPECT_EQ(begin, end_before);
    }
    EXPECT_NEAR(static_cast<double>(first_row(end) - first_row(begin)), 1.0e10 / size, 830);
    end_before = end;
  }
  EXPECT_EQ(share_of_blocks(n_blocks, first_row, size - 1, size).second, n_blocks);
  EXPECT_LT(n_asked, 120 * 2 * 40);
}

}  // namespace
}  // namespace tessera::app
