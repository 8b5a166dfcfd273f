#include "tessera/base/atomic_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

#include "tessera/base/descriptor.h"
#include "tessera/base/error.h"

namespace tessera {
namespace {

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, part, message);
}

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
  EXPECT_THROW(write_atomically(file,
                                [&](const std::string& temporary) {
                                  std::ofstream(temporary) << "half";
                                  throw RunError("broken");
                                }),
               RunError);
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
  expect_says(message_of([&] { write_atomically("/no/such/folder/c", "x"); }), "check the path");
  expect_says(message_of([&] { make_folder("/proc/self/new"); }), "can't make the folder");
  if (std::filesystem::exists("/dev/full")) {
    const auto full = [] { Descriptor::open_to_change("/dev/full").write_at("x", 1, 0); };
    expect_says(message_of(full), "the disk is full");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera
