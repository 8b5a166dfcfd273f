#include "tessera/app/output/folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::app {
namespace {

namespace fs = std::filesystem;
using Start = OutputFolder::Start;

class Folder : public testing::Test {
 protected:
  Folder() : path_(testing::TempDir() + "tessera_folder_" + std::to_string(getpid())) {}
  ~Folder() override { fs::remove_all(path_); }
  void put(const std::string& name) const { std::ofstream(path_ + "/" + name) << name; }
  bool has(const std::string& name) const { return fs::exists(path_ + "/" + name); }
  std::string message(Start start) const {
    return test::message_of<InputError>([&] { const OutputFolder folder(path_, start); });
  }

  std::string path_;
};

TEST_F(Folder, NoFileOfAnEarlierRunIsLost) {
  EXPECT_EQ(message(Start::new_run), "");
  put("notes.txt");
  EXPECT_EQ(message(Start::new_run), "");
  for (const auto name : files_of_a_run) {
    put(std::string(name));
    const bool is_a_run = name != "settings.toml" && name != black_box_folder;
    EXPECT_EQ(!message(Start::new_run).empty(), is_a_run) << name;
    fs::remove(path_ + "/" + std::string(name));
  }
  for (const std::string round : {"1", "2"}) {
    for (const auto name : files_of_a_run) put(std::string(name));
    const OutputFolder folder(path_, Start::overwrite);
    for (const auto name : files_of_a_run) EXPECT_TRUE(has(std::string(name)));
    folder.move_earlier_run_away();
    for (const auto name : files_of_a_run) {
      EXPECT_FALSE(has(std::string(name)));
      EXPECT_TRUE(has("previous-" + round + "/" + std::string(name)));
    }
    folder.move_earlier_run_away();
  }
  EXPECT_TRUE(has("notes.txt"));
  EXPECT_FALSE(has("previous-3"));
  EXPECT_FALSE(has(".lock"));
}

TEST_F(Folder, OneRunAtATime) {
  {
    const OutputFolder folder(path_, Start::new_run);
    const auto refusal = message(Start::overwrite);
    test::expect_says(refusal, "another run writes into");
    test::expect_says(refusal, "process " + std::to_string(getpid()));
  }
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const OutputFolder folder(path_, Start::new_run);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_NE(message(Start::new_run), "");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(message(Start::new_run), "");  // a killed run holds nothing
  // A restart waits for the end of the run before it.
  std::optional<OutputFolder> before(std::in_place, path_, Start::new_run);
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    before.reset();
  });
  EXPECT_EQ(message(Start::restart), "");
  end.join();
}

TEST_F(Folder, NamesThatCannotBeFolders) {
  std::ofstream(testing::TempDir() + "tessera_file") << "x";
  for (const std::string& name : {testing::TempDir() + "tessera_file", testing::TempDir() + std::string(300, 'x')})
    EXPECT_THROW(OutputFolder(name, Start::new_run), InputError);
  fs::remove(testing::TempDir() + "tessera_file");
}

}  // namespace
}  // namespace tessera::app
