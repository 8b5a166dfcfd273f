#include "tessera/io/checked_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::io {
namespace {

constexpr std::int64_t bulk_bytes = 31 * piece_bytes / 2, rest_bytes = 1000;

std::byte content(std::int64_t at) { return static_cast<std::byte>(at * 2654435761 >> 13); }

/// A file of three regions, of which the second is a bulk array.
class CheckedFiles : public testing::Test {
 protected:
  CheckedFiles() {
    std::vector<Region> regions;
    std::vector<std::uint64_t> table;
    std::int64_t at = checked_header_bytes;
    const auto file = Descriptor::create(path);
    for (const auto& [bytes, is_bulk] : {std::pair(rest_bytes, false), {bulk_bytes, true}, {rest_bytes, false}}) {
      regions.push_back({at, at + bytes, is_bulk});
      std::vector<std::byte> data;
      for (; at < regions.back().end; ++at) data.push_back(content(at));
      file.write_at(data.data(), data.size(), regions.back().begin);
      for (std::int64_t i = 0; i < regions.back().n_pieces(); ++i) {
        const auto [begin, end] = regions.back().piece(i);
        const auto first = static_cast<std::size_t>(begin - regions.back().begin);
        table.push_back(piece_checksum(std::span(data).subspan(first, static_cast<std::size_t>(end - begin))));
      }
    }
    write_checksums(file, regions, at, table);
  }
  ~CheckedFiles() override { std::filesystem::remove(path); }

  void flip_bit(std::int64_t at) const {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const auto changed = static_cast<char>(file.get() ^ 4);
    file.seekp(at);
    file.put(changed);
  }

  /// Lets the system forget what it has of the file in memory, so that direct I/O reads it where there is a disk.
  void forget() const {
    Descriptor::open_to_change(path).synchronize();
    const int handle = ::open(path.c_str(), O_RDONLY);
    ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
    ::close(handle);
  }

  const std::string path = testing::TempDir() + "checked_" + std::to_string(getpid());
  const std::int64_t bulk_begin = checked_header_bytes + rest_bytes;
};

TEST_F(CheckedFiles, GivesTheBytesOfAnyPart) {
  ASSERT_TRUE(CheckedFile::is_one(path));
  const auto file = CheckedFile::open(path);
  file.check_all_but_bulk();
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    const auto first = std::uniform_int_distribution<std::int64_t>(0, bulk_bytes - 1)(random);
    const auto count = std::uniform_int_distribution<std::int64_t>(0, bulk_bytes - first)(random);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    if (i % 2 == 0) forget();
    file.read(bulk_begin + first, bytes);
    for (std::int64_t k = 0; k < count; k += 997)
      ASSERT_EQ(bytes[static_cast<std::size_t>(k)], content(bulk_begin + first + k));
  }
}

TEST_F(CheckedFiles, GivesRangesInTheirOrder) {
  const auto file = CheckedFile::open(path);
  const std::vector<CheckedFile::Range> ranges = {
      {bulk_begin + 7 * piece_bytes - 5, bulk_begin + bulk_bytes},
      {checked_header_bytes + 1, checked_header_bytes + 3},
      {bulk_begin, bulk_begin},
      {bulk_begin + 2, bulk_begin + 7 * piece_bytes},
      {bulk_begin + 7 * piece_bytes - 20, bulk_begin + 7 * piece_bytes - 10},  // in the piece before and this
      {bulk_begin + 7 * piece_bytes - 10, bulk_begin + 7 * piece_bytes + 10},
  };
  for (const bool is_cold : {false, true}) {
    if (is_cold) forget();
    std::vector<std::int64_t> found(ranges.size());
    std::size_t newest = 0;
    file.read(ranges, [&](std::size_t range, std::int64_t done, std::span<const std::byte> bytes) {
      ASSERT_GE(range, newest);
      newest = range;
      ASSERT_EQ(done, found[range]);
      found[range] += std::ssize(bytes);
      for (std::int64_t k = 0; k < std::ssize(bytes); k += bytes.size() < 100 ? 1 : 997)
        ASSERT_EQ(bytes[static_cast<std::size_t>(k)], content(ranges[range].begin + done + k));
    });
    for (std::size_t i = 0; i < ranges.size(); ++i) EXPECT_EQ(found[i], ranges[i].end - ranges[i].begin);
  }
  EXPECT_THROW(file.read(ranges, [](auto&&...) { throw RunError("no room"); }), RunError);
  flip_bit(bulk_begin + 10 * piece_bytes);
  std::int64_t last = 0;
  EXPECT_THROW(file.read(ranges, [&](auto, std::int64_t done, auto) { last = std::max(last, done); }), InputError);
  EXPECT_LT(last, 3 * piece_bytes + 5);
}

TEST_F(CheckedFiles, OfAFlippedBitSaysWhereItIsOnlyToThoseWhoReadThere) {
  flip_bit(bulk_begin + piece_bytes + 17);
  const auto file = CheckedFile::open(path);
  file.check_all_but_bulk();
  std::vector<std::byte> bytes(static_cast<std::size_t>(piece_bytes));
  file.read(bulk_begin, bytes);
  test::expect_says(test::message_of<InputError>([&] { file.read(bulk_begin + 1, bytes); }),
                    "bytes 787944 to 1574375 are not what was written");
}

TEST_F(CheckedFiles, RefusesAFlippedBitAnywhereElseAndAnyLength) {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  const auto reads = [&] {
    const auto file = CheckedFile::open(path);
    file.check_all_but_bulk();
    std::vector<std::byte> bytes(static_cast<std::size_t>(bulk_bytes));
    file.read(bulk_begin, bytes);
  };
  reads();
  forget();
  reads();
  for (const std::int64_t at :
       {std::int64_t{0}, std::int64_t{33}, std::int64_t{70}, std::int64_t{300}, std::int64_t{505},
        checked_header_bytes + 7, bulk_begin + bulk_bytes + 3, size - 40, size - 1}) {
    flip_bit(at);
    EXPECT_THROW(reads(), InputError) << at;
    forget();
    EXPECT_THROW(reads(), InputError) << at;
    flip_bit(at);
  }
  reads();
  for (const auto other : {size - 1, size + 1, std::int64_t{100}, std::int64_t{0}}) {
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(other));
    forget();
    EXPECT_THROW(reads(), InputError) << other;
  }
}

}  // namespace
}  // namespace tessera::io
