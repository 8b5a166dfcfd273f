#include "tessera/app/cores.h"

#include <gtest/gtest.h>

namespace tessera::app {
namespace {

TEST(Cores, ThreadsThatShareThem) {
  const std::vector<int> both = {0, 1};
  EXPECT_EQ(note_of_cores({{"a", both, 2}}, 0), "");
  EXPECT_EQ(note_of_cores({{"a", both, 1}, {"a", both, 1}}, 0), "");
  EXPECT_EQ(note_of_cores({{"a", both, 2}, {"a", both, 2}}, 0),
            "2 ranks × 2 threads share 2 cores of a and wait for each other: choose fewer ranks (-n) or threads (-t)");
  EXPECT_EQ(note_of_cores({{"a", both, 2}, {"b", both, 2}}, 0), "");
  EXPECT_EQ(note_of_cores({{"a", both, 1}, {"b", both, 1}, {"b", both, 1}, {"b", both, 1}}, 0),
            "3 ranks share 2 cores of b and wait for each other: choose fewer ranks (-n) or threads (-t)");
  EXPECT_EQ(note_of_cores({{"a", {}, 9}}, 0), "");  // not known
}

TEST(Cores, ARankThatIsBoundToFewerThanItsThreads) {
  EXPECT_EQ(note_of_cores({{"a", {0}, 2}, {"a", {1, 2, 3}, 2}}, 0),
            "2 threads share 1 core of a and wait for each other: choose fewer ranks (-n) or threads (-t), or let the "
            "launcher give a rank more cores (--bind-to none, --cpus-per-task)");
}

TEST(Cores, ThoseOfTheJobThatIdle) {
  const std::vector<int> four = {0, 1, 2, 3};
  EXPECT_EQ(note_of_cores({{"a", four, 1}, {"b", four, 1}}, 4),
            "the job has 4 cores for each rank (--cpus-per-task), and 3 of them idle: -t 4 uses all");
  EXPECT_EQ(note_of_cores({{"a", four, 4}, {"b", four, 4}}, 4), "");
}

}  // namespace
}  // namespace tessera::app
