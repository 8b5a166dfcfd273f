#include "tessera/app/output/room.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::app {
namespace {

constexpr std::int64_t megabyte = 1'000'000;

TEST(Room, CheckpointsThatDoNotFitAreRefused) {
  const PlannedOutput planned{.checkpoint = 10 * megabyte};
  EXPECT_EQ(check_room(planned, {30 * megabyte}, 0, "output"), "");
  EXPECT_THROW(check_room(planned, {30 * megabyte - 1}, 0, "output"), RunError);
  // Those of a restart are replaced, but the next one is written before.
  EXPECT_EQ(check_room(planned, {10 * megabyte}, 20 * megabyte, "output"), "");
  EXPECT_THROW(check_room(planned, {10 * megabyte - 1}, 40 * megabyte, "output"), RunError);
  EXPECT_EQ(test::message_of<RunError>([&] { check_room(planned, {5 * megabyte}, 0, "output"); }),
            "the disk of output has 5.0 MB free, and checkpoints of this run need 30.0 MB (two generations and the "
            "next, 10.0 MB each): free some space or choose another output.folder");
}

TEST(Room, FramesThatDoNotFitAreNoted) {
  const PlannedOutput planned{.checkpoint = megabyte, .trajectories = {{"trajectory", 1000, 1000 * megabyte}}};
  EXPECT_EQ(check_room(planned, {1003 * megabyte}, 0, "output"), "");
  const auto note = check_room(planned, {1002 * megabyte}, 0, "output");
  test::expect_says(note, "has 1.0 GB free, and this run still writes about 1.0 GB: 1000 frames (1.0 GB)");
}

TEST(Room, WhatARestartHasLeftToWrite) {
  RunConfig config;
  config.dynamics.steps = 100;
  config.output.energy_every = 10;
  config.output.trajectory = no_trajectory;
  const auto planned = plan_output(config, {}, 45, megabyte);
  EXPECT_EQ(planned.rows, 6);  // 50, 60 … 100
  EXPECT_EQ(planned.frames(), 0);
  EXPECT_EQ(planned.checkpoint, megabyte);
  EXPECT_EQ(plan_output(config, {}, 120, megabyte).rows, 0);
  EXPECT_EQ(plan_output(config, {}, -1, megabyte).rows, 11);  // 0, 10 … 100
}

TEST(Room, TheDiskSaysWhatItHas) {
  ASSERT_TRUE(room_in("/").has_value());
  EXPECT_GT(room_in("/")->bytes, 0);
  EXPECT_FALSE(room_in("/no/such/folder").has_value());
}

TEST(Room, QuotasBoundIt) {
  EXPECT_FALSE(least_room(megabyte, {}).is_of_quota);
  EXPECT_FALSE(least_room(megabyte, {{3 * megabyte, megabyte}}).is_of_quota);
  const auto room = least_room(megabyte, {{3 * megabyte, megabyte}, {2 * megabyte, megabyte + megabyte / 2}});
  EXPECT_EQ(room.text("run"), "the quota on the disk of run leaves 0.5 MB");
  EXPECT_EQ(least_room(megabyte, {{megabyte, 2 * megabyte}}).bytes, 0);  // beyond a limit that was lowered
}

}  // namespace
}  // namespace tessera::app
