#include "tessera/md/memory/room.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::md {
namespace {

using tessera::test::expect_says, tessera::test::message_of;

domain::CellGrid grid_of(std::int64_t n) {
  domain::CellGrid grid;
  grid.n = {n, n, n};
  return grid;
}

std::string refusal(const domain::CellGrid& grid, int ranks) {
  return message_of<InputError>([&] { check_room_for_cells(grid, ranks); });
}

TEST(Room, IsThatOfTheMachine) {
  EXPECT_EQ(refusal(grid_of(100), 1), "");
  const auto text = refusal(grid_of(100'000), 10);
  expect_says(text, "the box is cut into 100000 × 100000 × 100000 cells");
  expect_says(text, "left by this machine's memory");
  auto vacuum = grid_of(100'000);
  vacuum.is_periodic = false;
  EXPECT_EQ(refusal(vacuum, 1), "");
}

TEST(Room, IsWhatALimitLeaves) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(pages) * 4096 + 200'000'000;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const auto few = refusal(grid_of(100), 1), many = refusal(grid_of(200), 1), shared = refusal(grid_of(200), 8);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(few, "");
  expect_says(many, "GB are left by ulimit -v");
  EXPECT_EQ(shared, "");
}

}  // namespace
}  // namespace tessera::md
