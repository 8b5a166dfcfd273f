#include "tessera/base/files/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/base/test_support/messages.h"

namespace tessera {
namespace {

using test::expect_says, test::message_of;

TEST(AtomicFile, IsReplacedAsAWhole) {
  const std::string folder = testing::TempDir() + "tessera_base_" + std::to_string(getpid());
  const std::string file = folder + "/c";
  const auto content = [&] {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  };
  make_folder(folder);
  write_atomically(file, "first");
  write_atomically(file, "second");
  EXPECT_EQ(content(), "second");
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); };
  {
    AtomicFile dropped(file);
    dropped.append(bytes("third"));
  }
  EXPECT_EQ(content(), "second");
  {
    AtomicFile pieces(file);
    pieces.append(bytes("fo"));
    pieces.append(bytes("urth"));
    EXPECT_EQ(content(), "second");
    pieces.commit();
  }
  EXPECT_EQ(content(), "fourth");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);  // nothing is left behind
  expect_says(message_of([&] { write_atomically("/no/such/folder/c", "x"); }), "there is no folder /no/such/folder");
  expect_says(message_of([&] { make_folder("/proc/self/new"); }), "can't make the folder");
  if (std::filesystem::exists("/dev/full")) {
    const auto full = [] { Descriptor::open_to_change("/dev/full").write_at("x", 1, 0); };
    expect_says(message_of(full), "the disk is full");
  }
  std::filesystem::remove_all(folder);
}

class Place : public testing::Test {
 protected:
  Place() : folder_(testing::TempDir() + "tessera_place_" + std::to_string(getpid())) { make_folder(folder_); }
  ~Place() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string content(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

  std::string folder_;
};

TEST_F(Place, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& [name, word] : {std::pair(path("pipe"), "no regular file"), std::pair(folder_, "is a folder"),
                                   std::pair(std::string("/dev/null"), "no regular file"),
                                   std::pair(path(std::string(300, 'x')), "choose a shorter name")}) {
    expect_says(message_of([&] { write_atomically(name, "x"); }), word);
    EXPECT_THROW(check_place_of_file(name), InputError) << name;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

/// The user does not know the temporary, and it is gone when the message is read.
TEST_F(Place, MessagesNameTheFile) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{16, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto message = message_of([&] { write_atomically(path("file"), std::string(100, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(message.find(path("file") + ": can't write: "), 0U) << message;
  EXPECT_EQ(message.find(".part"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Place, LinksStay) {
  std::filesystem::create_directory(path("away"));
  write_atomically(path("away/file"), "old");
  std::filesystem::create_symlink("away/file", path("link"));
  std::filesystem::create_symlink("away/none", path("to_none"));
  write_atomically(path("link"), "new");
  write_atomically(path("to_none"), "made");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(content(path("away/file")), "new");
  EXPECT_EQ(content(path("away/none")), "made");
  std::filesystem::create_symlink("circle", path("circle"));
  expect_says(message_of([&] { write_atomically(path("circle"), "x"); }), "circle");
  std::filesystem::create_symlink("none", path("planted"));
  EXPECT_THROW(Descriptor::create(path("planted")), RunError);
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(Place, AbandonedTemporariesGo) {
  const pid_t dead = fork();
  if (dead == 0) {
    AtomicFile file(path("a"));
    _exit(0);
  }
  waitpid(dead, nullptr, 0);
  const AtomicFile alive(path("b"));
  const auto others = {".tessera.elsewhere." + std::to_string(dead) + ".0.part", std::string("a.1.part"),
                       ".tessera." + host_name() + "." + std::to_string(dead) + ".x.part"};
  for (const auto& name : others) std::ofstream(path(name)) << "x";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 5);
  remove_abandoned_temporaries(folder_);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 4);
  for (const auto& name : others) EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
}

TEST_F(Place, FoldersThatCannotBe) {
  std::ofstream(path("file")) << "x";
  std::filesystem::create_symlink("circle", path("circle"));
  for (const auto& name : {path("file"), path("file/x"), path("circle"), path("circle/x"), path(std::string(300, 'x'))})
    EXPECT_THROW(make_folder(name), InputError) << name;
}

TEST_F(Place, AFileKnowsWhetherItIsInPlace) {
  const auto file = Descriptor::create(path("a"));
  EXPECT_TRUE(file.is_in_place());
  std::ofstream(path("b")) << "x";
  std::filesystem::rename(path("b"), path("a"));
  EXPECT_FALSE(file.is_in_place());
  std::filesystem::remove(path("a"));
  EXPECT_FALSE(file.is_in_place());
}

}  // namespace
}  // namespace tessera
