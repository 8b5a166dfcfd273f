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

TEST(Cores, ThoseOfTheJobThatTheLauncherKeepsFromARank) {
  EXPECT_EQ(note_of_cores({{"a", {0, 1}, 1}, {"a", {2, 3}, 1}}, 4),
            "the job has 4 cores for each rank (--cpus-per-task), and 3 of them idle: -t 2 uses those on which the "
            "launcher lets a rank run");
  EXPECT_EQ(
      note_of_cores({{"a", {0, 1}, 2}, {"a", {2, 3}, 2}}, 4),
      "the job has 4 cores for each rank (--cpus-per-task), and the launcher lets a rank run on 2: let it bind to "
      "none (--cpu-bind=none, --bind-to none), then -t 4 uses all");
  EXPECT_EQ(note_of_cores({{"a", {0, 1, 2, 3}, 2}, {"a", {0, 1, 2, 3}, 2}}, 4), "");  // a host has no more
}

}  // namespace
}  // namespace tessera::app
