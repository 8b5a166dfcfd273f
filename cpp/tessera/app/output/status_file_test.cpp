#include "tessera/app/output/status_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera::app {
namespace {

namespace fs = std::filesystem;

class StatusFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  const std::string folder_ = testing::TempDir() + "tessera_status_" + std::to_string(getpid());
  const std::string path_ = folder_ + "/status.json";

  nlohmann::json content() const {
    std::ifstream file(path_);
    return nlohmann::json::parse(file);
  }
};

nlohmann::json at_step(int step) { return {{"step", step}, {"steps_per_second", 0.1}}; }

TEST_F(StatusFileTest, SaysHowFarARunIsAndHowItEnds) {
  StatusFile status(folder_, true);
  status.end("failed", 2, "before step 1");
  EXPECT_FALSE(fs::exists(path_));  // there may be one of an earlier run, which is left

  status.set("stages", {"a", "b"});
  ASSERT_TRUE(status.is_due());
  status.update([] { return at_step(1); });
  EXPECT_FALSE(status.is_due());  // within a second
  auto found = content();
  EXPECT_EQ(found["state"], "running");
  EXPECT_EQ(found["step"], 1);
  EXPECT_EQ(found["stages"], nlohmann::json({"a", "b"}));
  EXPECT_EQ(found["process"]["id"], getpid());
  EXPECT_EQ(found["end"], nullptr);
  EXPECT_EQ(found["interval_seconds"], 10);  // of a step
  EXPECT_EQ(found["time"].get<std::string>().size(), std::string("2026-11-28T06:15:00.123Z").size());

  status.end("stopped", 143, "by a signal");
  found = content();
  EXPECT_EQ(found["state"], "stopped");
  EXPECT_EQ(found["step"], 1);
  EXPECT_EQ(found["end"], nlohmann::json({{"exit_status", 143}, {"message", "by a signal"}}));
  status.end("failed", 70, "after the end");
  EXPECT_EQ(content()["state"], "stopped");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // no temporary is left
}

TEST_F(StatusFileTest, OnlyTheRootWritesAndNoRunEndsForWantOfIt) {
  StatusFile elsewhere(folder_, false);
  EXPECT_FALSE(elsewhere.is_due());
  elsewhere.update([] { return at_step(1); });
  elsewhere.end("finished", 0, "");
  EXPECT_FALSE(fs::exists(path_));

  fs::create_directory(path_);
  StatusFile status(folder_, true);
  status.update([] { return at_step(1); });
  EXPECT_TRUE(fs::is_directory(path_));
  StatusFile nowhere(folder_ + "/none", true);
  nowhere.update([] { return at_step(1); });
  nowhere.end("finished", 0, "");
}

}  // namespace
}  // namespace tessera::app
