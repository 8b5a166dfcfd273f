#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/io/checksum.h"
#include "tessera/io/dcd.h"
#include "tessera/io/h5md.h"
#include "tessera/io/hdf5.h"
#include "tessera/io/write_behind.h"
#include "tessera/io/xtc.h"

namespace {
/// The number of memory pages that this process may still write before it ends, or before its disk is full; a negative
/// number means no limit.
long pages_left = -1;
bool is_disk_limited = false;
}  // namespace

/// Replaces HDF5's writes and writes page by page like a kernel: SIGKILL can come between any two pages.
extern "C" ssize_t pwrite(int file, const void* data, std::size_t size, off_t offset) {
  const long page = sysconf(_SC_PAGESIZE);
  std::size_t done = 0;
  while (done < size) {
    if (pages_left == 0 && is_disk_limited) {
      errno = ENOSPC;
      return done > 0 ? static_cast<ssize_t>(done) : -1;
    }
    if (pages_left == 0) _exit(0);
    if (pages_left > 0) --pages_left;
    const auto at = offset + static_cast<off_t>(done);
    const auto part = std::min(size - done, static_cast<std::size_t>(page - at % page));
    const ssize_t n = syscall(SYS_pwrite64, file, static_cast<const char*>(data) + done, part, at);
    if (n <= 0) return n;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(size);
}

namespace tessera::io {
namespace {

using test::expect_says, test::message_of;

class Files : public testing::Test {
 protected:
  Files() : folder_(testing::TempDir() + "tessera_io_" + std::to_string(getpid())) { make_folder(folder_); }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::string folder_;
};

const Box box({30, 0, 0}, {5, 28, 0}, {3, -4, 25});

std::vector<float> frame(int n_atoms, int number) {
  std::vector<float> values(static_cast<std::size_t>(3 * n_atoms));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(number) + 0.25F * static_cast<float>(i);
  return values;
}

H5mdHeader header_of(int n_atoms) { return {n_atoms, true, true, "me", "tessera", "0", ""}; }

TEST_F(Files, Hdf5RoundTrip) {
  {
    auto file = Hdf5File::create(path("a.h5"));
    const std::vector<double> reals = {1.5, -2, 1e300, 4, 5, 6};
    file.write<double>("/group/reals", reals, {3, 2});
    file.write<std::int64_t>("/group/wide", std::vector<std::int64_t>{1LL << 40}, {1});
    file.write<std::int32_t>("/group/empty", {}, {0, 3});
    file.write_text("/text", {"OH2", "", "α-carbon"});
    file.write_text_attribute("/group", "name", "Wasser");
    file.write_attribute<double>("/group", "settle", std::vector<double>{0.9572, 1.5139});
  }
  const auto file = Hdf5File::open(path("a.h5"));
  EXPECT_EQ(file.shape("/group/reals"), (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(file.read<double>("/group/reals").at(2), 1e300);
  EXPECT_EQ(file.read_rows<double>("/group/reals", 1, 2), (std::vector<double>{1e300, 4, 5, 6}));
  EXPECT_EQ(file.read<std::int64_t>("/group/wide").at(0), 1LL << 40);
  EXPECT_EQ(file.read<double>("/group/wide").at(0), 1099511627776.0);
  EXPECT_TRUE(file.read<std::int32_t>("/group/empty").empty());
  EXPECT_EQ(file.read_text("/text"), (std::vector<std::string>{"OH2", "", "α-carbon"}));
  EXPECT_EQ(file.text_attribute("/group", "name"), "Wasser");
  EXPECT_EQ(file.attribute<double>("/group", "settle").at(1), 1.5139);
  EXPECT_TRUE(file.has("/group/wide"));
  EXPECT_FALSE(file.has("/nothing/wide"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"/group", "/group/empty", "/group/reals", "/group/wide", "/text"}));

  expect_says(message_of([&] { file.read<std::int32_t>("/group/wide"); }), "holds int64, expected int32");
  expect_says(message_of([&] { file.read<std::int32_t>("/group/reals"); }), "holds float64, expected int32");
  expect_says(message_of([&] { file.read<double>("/text"); }), "holds text, expected float64");
  expect_says(message_of([&] { file.read<double>("/none"); }), path("a.h5") + ": there is no dataset /none");
  expect_says(message_of([&] { file.read_rows<double>("/group/reals", 2, 2); }), "has 3 rows, expected rows 2 to 4");
  expect_says(message_of([&] { file.attribute<double>("/group", "none"); }), "no attribute none");
}

TEST_F(Files, Hdf5GrowsAndShrinks) {
  auto file = Hdf5File::create(path("b.h5"));
  file.make_extendible<std::int32_t>("/rows", {2}, 3);
  for (std::int32_t i = 0; i < 10; ++i) file.append<std::int32_t>("/rows", std::vector<std::int32_t>{i, -i});
  file.truncate("/rows", 4);
  file.append<std::int32_t>("/rows", std::vector<std::int32_t>{7, 7, 8, 8});
  EXPECT_EQ(file.read<std::int32_t>("/rows"), (std::vector<std::int32_t>{0, 0, 1, -1, 2, -2, 3, -3, 7, 7, 8, 8}));
  expect_says(message_of([&] { Hdf5File::create("/no/such/folder/a.h5"); }), "can't be made");
}

TEST(Checksum, KnownAnswers) {  // FIPS 180-4, examples
  EXPECT_EQ(Checksum().finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string abc = "abc";
  const auto bytes = std::as_bytes(std::span(abc));
  EXPECT_EQ(Checksum().add(bytes).finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Checksum().add(bytes.first(1)).add(bytes.subspan(1)).finish(), Checksum().add(bytes).finish());
}

/// Returns waters with jumps between them, which an XTC packs in several ways: small and large steps, both signs.
std::vector<float> waters(int n_atoms, int number, float extent) {
  std::vector<float> values;
  std::uint32_t random = 12345u + static_cast<std::uint32_t>(number);
  const auto next = [&] {
    random = random * 1664525u + 1013904223u;
    return static_cast<float>(random >> 8) / 16777216.0F - 0.5F;
  };
  float centre[3] = {};
  for (int i = 0; i < n_atoms; ++i) {
    const float step = i % 3 != 0 ? 2.0F : i % 90 < 45 ? 6.0F : extent;
    for (float& component : centre) {
      component = i % 3 != 0 ? component + step * next() : std::fmod(component + step * next(), extent);
      values.push_back(component);
    }
  }
  return values;
}

TEST_F(Files, XtcIsTheSameAfterRestart) {
  for (const int n_atoms : {3, 9, 10, 500}) {
    const auto write = [&](XtcWriter& writer, int begin, int end) {
      for (int f = begin; f < end; ++f) writer.append(10 * f, 0.02 * f, box, waters(n_atoms, f, 40));
    };
    const auto whole = fmt::format("whole{}.xtc", n_atoms), parts = fmt::format("parts{}.xtc", n_atoms);
    {
      auto writer = XtcWriter::create(path(whole), n_atoms);
      write(writer, 0, 6);
    }
    {
      auto writer = XtcWriter::create(path(parts), n_atoms);
      write(writer, 0, 5);
    }
    std::ofstream(path(parts), std::ios::app | std::ios::binary) << "half a frame";
    {
      auto writer = XtcWriter::continue_after(path(parts), 3, n_atoms);
      EXPECT_EQ(writer.n_frames(), 3);
      write(writer, 3, 6);
    }
    EXPECT_EQ(content(parts), content(whole));
    expect_says(message_of([&] { XtcWriter::continue_after(path(parts), 7, n_atoms); }), "holds 6 whole frames");
    expect_says(message_of([&] { XtcWriter::continue_after(path(parts), 3, n_atoms + 1); }), "holds 0 whole frames");
  }
  auto writer = XtcWriter::create(path("far.xtc"), 10);
  auto far = waters(10, 0, 40);
  far[4] = 1e9F;
  expect_says(message_of([&] { writer.append(0, 0, box, far); }), "atom 2 is at 1000000000 Å, too far for an XTC file");
  far[4] = std::numeric_limits<float>::quiet_NaN();
  expect_says(message_of([&] { writer.append(0, 0, box, far); }), "atom 2 is at nan Å");
  EXPECT_EQ(writer.n_frames(), 0);
}

TEST_F(Files, DcdIsTheSameAfterRestart) {
  const DcdHeader header{7, 100, 50, 0.002, "restart"};
  const auto write = [&](DcdWriter& writer, int begin, int end) {
    for (int f = begin; f < end; ++f) writer.append(box, frame(7, f));
  };
  {
    auto writer = DcdWriter::create(path("whole.dcd"), header);
    write(writer, 0, 6);
  }
  {
    auto writer = DcdWriter::create(path("parts.dcd"), header);
    write(writer, 0, 5);
  }
  std::ofstream(path("parts.dcd"), std::ios::app | std::ios::binary) << "half a frame";
  {
    auto writer = DcdWriter::continue_after(path("parts.dcd"), 3, header);
    EXPECT_EQ(writer.n_frames(), 3);
    write(writer, 3, 6);
  }
  EXPECT_EQ(content("parts.dcd"), content("whole.dcd"));
  expect_says(message_of([&] { DcdWriter::continue_after(path("parts.dcd"), 7, header); }), "holds 6 whole frames");
  const DcdHeader other{8, 100, 50, 0.002, "restart"};
  expect_says(message_of([&] { DcdWriter::continue_after(path("parts.dcd"), 3, other); }),
              "not the trajectory of this run");
  expect_says(message_of([&] {
                DcdWriter::create(path("big"), {1LL << 31, 0, 1, 0.001, ""});
              }),
              "at most 536870911 atoms");
}

TEST_F(Files, DcdOfSeveralWritersIsThatOfOne) {
  const DcdHeader header{10, 100, 50, 0.002, "shared"};
  std::vector<std::size_t> sizes;  // after each frame
  {
    auto alone = DcdWriter::create(path("alone.dcd"), header);
    for (int f = 0; f < 4; ++f) {
      alone.append(box, frame(10, f));
      sizes.push_back(content("alone.dcd").size());
    }
  }
  auto first = DcdWriter::create(path("shared.dcd"), header);
  first.append(box, frame(10, 0));
  auto second = DcdWriter::open_beside(path("shared.dcd"), 1, header);
  for (std::size_t f = 1; f < 4; ++f) {
    const auto rows = frame(10, static_cast<int>(f));
    // Without its last bytes a frame is none, whoever has written the others, and a restart cuts it off.
    second.put_rows(3, std::span(rows).subspan(9));
    EXPECT_LT(content("shared.dcd").size(), sizes[f]);
    const auto n_frames = static_cast<std::int64_t>(f);
    EXPECT_EQ(DcdWriter::continue_after(path("shared.dcd"), n_frames, header).n_frames(), n_frames);
    EXPECT_EQ(content("shared.dcd").size(), sizes[f - 1]);
    second.put_rows(3, std::span(rows).subspan(9));
    first.put_rows(0, std::span(rows).first(9));
    first.finish_frame(box);
    second.skip_frame();
  }
  EXPECT_EQ(content("shared.dcd"), content("alone.dcd"));
}

TEST_F(Files, H5mdGoesOnAfterRestart) {
  const auto header = header_of(5);
  const auto write = [&](H5mdWriter& writer, int begin, int end) {
    for (int f = begin; f < end; ++f) writer.append(10 * f, 0.02 * f, box, frame(5, f), frame(5, -f));
  };
  {
    auto writer = H5mdWriter::create(path("t.h5md"), header);
    write(writer, 0, 5);
  }
  {
    auto writer = H5mdWriter::continue_after(path("t.h5md"), 3, header);
    write(writer, 3, 6);
  }
  {
    const auto file = Hdf5File::open(path("t.h5md"));
    EXPECT_EQ(file.read<std::int64_t>("/particles/all/velocity/step"),
              (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50}));
    EXPECT_EQ(file.read_rows<float>("/coordinates", 5, 1), frame(5, 5));
    EXPECT_EQ(file.read_rows<float>("/particles/all/velocity/value", 4, 1), frame(5, -4));
    EXPECT_EQ(file.text_attribute("/particles/all/position/value", "unit"), "Angstrom");
    EXPECT_DOUBLE_EQ(file.read<double>("/time").at(5), 0.1);
  }
  expect_says(message_of([&] { H5mdWriter::continue_after(path("t.h5md"), 9, header); }), "holds 6 frames");
  const auto other = header_of(6);
  expect_says(message_of([&] { H5mdWriter::continue_after(path("t.h5md"), 2, other); }),
              "not the trajectory of this run");
}

/// Writes trajectories for tests/traj/test_trajectories.py, which opens them with third-party readers.
TEST(Samples, Trajectories) {
  const char* folder = std::getenv("TESSERA_SAMPLES");
  if (!folder) GTEST_SKIP() << "TESSERA_SAMPLES names no folder";
  const std::string root = folder;
  const std::vector<std::pair<std::string, Box>> boxes = {{"triclinic", box},
                                                          {"cuboid", {{30, 0, 0}, {0, 28, 0}, {0, 0, 25}}}};
  for (const auto& [name, edges] : boxes) {
    auto dcd = DcdWriter::create(root + "/" + name + ".dcd", {50, 1000, 250, 0.002, "a sample of tessera"});
    auto h5md = H5mdWriter::create(root + "/" + name + ".h5", {50, true, true, "a test", "tessera", "0", ""});
    auto xtc = XtcWriter::create(root + "/" + name + ".xtc", 50);
    for (int f = 0; f < 40; ++f) {
      dcd.append(edges, frame(50, f));
      h5md.append(1000 + 250 * f, 2 + 0.5 * f, edges, frame(50, f), frame(50, -f));
      xtc.append(1000 + 250 * f, 2 + 0.5 * f, edges, frame(50, f));
    }
  }
  // Frames of several sizes in two formats: an XTC packs them by their number of atoms and their extent.
  for (const int n_atoms : {1, 9, 10, 11, 1000})
    for (const float extent : {10.0F, 60.0F, 3.0e5F}) {
      const auto name = fmt::format("{}/waters-{}-{}", root, n_atoms, extent);
      auto dcd = DcdWriter::create(name + ".dcd", {n_atoms, 0, 1, 0.002, "waters"});
      auto xtc = XtcWriter::create(name + ".xtc", n_atoms);
      for (int f = 0; f < 5; ++f) {
        dcd.append(box, waters(n_atoms, f, extent));
        xtc.append(f, 0.002 * f, box, waters(n_atoms, f, extent));
      }
    }
}

TEST_F(Files, H5mdOfSeveralWritersHoldsTheirRows) {
  const std::int32_t n_atoms = 2000;  // frames share chunks
  auto first = H5mdWriter::create(path("shared.h5md"), header_of(n_atoms));
  const auto second = H5mdRows::open(path("shared.h5md"));
  const auto begin = [&](int f) {
    const auto places = first.begin_frame();
    const auto rows = frame(n_atoms, f), velocities = frame(n_atoms, -f);
    second.put(places, 0, std::span(rows).first(900), std::span(velocities).first(900));
    second.put(places, 300, std::span(rows).subspan(900), std::span(velocities).subspan(900));
  };
  const auto n_frames = [&] { return Hdf5File::open(path("shared.h5md")).shape("/time").at(0); };
  for (int f = 0; f < 10; ++f) {
    begin(f);
    EXPECT_EQ(n_frames(), f);  // until it is finished, nobody sees it
    first.finish_frame(f, 0.001 * f, box);
  }
  EXPECT_EQ(n_frames(), 10);
  const auto file = Hdf5File::open(path("shared.h5md"));
  for (int f = 0; f < 10; ++f) {
    EXPECT_EQ(file.read_rows<float>("/coordinates", f, 1), frame(n_atoms, f));
    EXPECT_EQ(file.read_rows<float>("/velocities", f, 1), frame(n_atoms, -f));
  }
}

/// A task that fails is told once it was run, and no other is run behind it.
TEST(WriteBehind, TellsOfWhatFailed) {
  int n_run = 0;
  WriteBehind helper(1);
  for (int k = 0; k < 3; ++k) helper.hand_over(1, [&] { ++n_run; });
  helper.wait();
  EXPECT_TRUE(helper.is_idle());
  EXPECT_EQ(n_run, 3);
  helper.hand_over(1, [] { throw RunError("the disk is full"); });
  EXPECT_THROW(helper.wait(), RunError);
  EXPECT_THROW(helper.hand_over(1, [&] { ++n_run; }), RunError);
  EXPECT_THROW(helper.is_idle(), RunError);
  EXPECT_EQ(n_run, 3);
}

void append_frames(H5mdWriter& writer, int n_atoms, int begin, int end) {
  for (int f = begin; f < end; ++f) writer.append(f, 0.001 * f, box, frame(n_atoms, f), frame(n_atoms, -f));
}

void write_frames(const std::string& path, int n_atoms, int n) {
  std::filesystem::remove(path);
  auto writer = H5mdWriter::create(path, header_of(n_atoms));
  append_frames(writer, n_atoms, 0, n);
}

/// Ends a process between any two pages that it writes after its first frames; none of those frames may be lost.
TEST_F(Files, FramesSurviveAnEndBetweenAnyTwoPages) {
  const int before = 20, after = 2;
  for (const std::int32_t n_atoms : {7, 500, 6000}) {
    const auto header = header_of(n_atoms);
    write_frames(path("start.h5md"), n_atoms, before);
    for (long pages = 1, is_whole = 0; !is_whole; pages += n_atoms == 6000 ? 5 : 1) {
      std::filesystem::copy_file(path("start.h5md"), path("ended.h5md"),
                                 std::filesystem::copy_options::overwrite_existing);
      const pid_t child = fork();
      if (child == 0) {
        auto writer = H5mdWriter::continue_after(path("ended.h5md"), before, header);
        pages_left = pages;
        append_frames(writer, n_atoms, before, before + after);
        _exit(1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      is_whole = WEXITSTATUS(status);
      ASSERT_GE(Hdf5File::open(path("ended.h5md")).shape("/particles/all/position/step").at(0), before) << pages;
      auto writer = H5mdWriter::continue_after(path("ended.h5md"), before, header);
      append_frames(writer, n_atoms, before, before + 2);
      const auto file = Hdf5File::open(path("ended.h5md"));
      for (int f = 0; f < before + 2; f += f < before - 3 ? 13 : 1)
        ASSERT_EQ(file.read_rows<float>("/velocities", f, 1), frame(n_atoms, -f)) << pages << " pages, frame " << f;
    }
  }
}

/// Simulates a disk that fills up at any page: the writer must report it without a crash, and earlier frames must be
/// whole.
TEST_F(Files, FramesSurviveAFullDisk) {
  const int before = 20, after = 2;
  for (const std::int32_t n_atoms : {7, 6000}) {
    const auto header = header_of(n_atoms);
    write_frames(path("start.h5md"), n_atoms, before);
    bool is_whole = false;
    for (long pages = 0; !is_whole; pages += n_atoms == 6000 ? 5 : 1) {
      std::filesystem::copy_file(path("start.h5md"), path("full.h5md"),
                                 std::filesystem::copy_options::overwrite_existing);
      const pid_t child = fork();
      if (child == 0) {
        int status = 1;
        std::string message;
        {
          auto writer = H5mdWriter::continue_after(path("full.h5md"), before, header);
          pages_left = pages;
          is_disk_limited = true;
          try {
            append_frames(writer, n_atoms, before, before + after);
          } catch (const RunError& error) {
            message = error.what();
            status = message.find("the disk is full") == std::string::npos ? 2 : 0;
          }
        }
        std::exit(status);
      }
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFEXITED(status)) << pages << " pages, signal " << WTERMSIG(status);
      ASSERT_LT(WEXITSTATUS(status), 2) << pages;
      is_whole = WEXITSTATUS(status) == 1;
      const auto file = Hdf5File::open(path("full.h5md"));
      ASSERT_GE(file.shape("/particles/all/position/step").at(0), before) << pages;
      for (int f = 0; f < before; ++f)
        ASSERT_EQ(file.read_rows<float>("/velocities", f, 1), frame(n_atoms, -f)) << pages << " pages, frame " << f;
    }
  }
}

/// Writes blocks of zeros, as a failed disk returns them: the trajectory must be refused or continued, and quickly.
TEST_F(Files, AZeroedBlockIsNotWaitedFor) {
  const auto header = header_of(50);
  {
    auto writer = H5mdWriter::create(path("start.h5md"), header);
    for (int f = 0; f < 3000; ++f) writer.append(f, 0.001 * f, box, frame(50, 1), frame(50, 2));
  }
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path("start.h5md")));
  int refused = 0;
  for (std::int64_t block = 0; block < size / 4096; block += 1 + block / 12) {
    std::filesystem::copy_file(path("start.h5md"), path("zeroed.h5md"),
                               std::filesystem::copy_options::overwrite_existing);
    const std::vector<char> zeros(4096);
    Descriptor::open_to_change(path("zeroed.h5md")).write_at(zeros.data(), zeros.size(), block * 4096);
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      try {
        auto writer = H5mdWriter::continue_after(path("zeroed.h5md"), 2990, header);
        for (int f = 2990; f < 3000; ++f) writer.append(f, 0.001 * f, box, frame(50, 1), frame(50, 2));
      } catch (const std::runtime_error&) {
        std::exit(1);
      }
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "block " << block << ", signal " << WTERMSIG(status);
    refused += WEXITSTATUS(status);
  }
  EXPECT_GT(refused, 0);
}

/// Kills a process that writes frames as fast as it can; every frame that it announced as written must be readable.
TEST_F(Files, TrajectoriesSurviveKills) {
  const H5mdHeader header{200, false, true, "me", "tessera", "0", ""};
  const DcdHeader dcd{200, 0, 1, 0.001, "killed"};
  for (int round = 0; round < 15; ++round) {
    for (const char* name : {"killed.h5md", "killed.dcd"}) std::filesystem::remove(path(name));
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto h5md_writer = H5mdWriter::create(path("killed.h5md"), header);
      auto dcd_writer = DcdWriter::create(path("killed.dcd"), dcd);
      for (int f = 0;; ++f) {
        h5md_writer.append(f, 0.001 * f, box, frame(200, f));
        dcd_writer.append(box, frame(200, f));
        if (write(pipe_ends[1], "x", 1) != 1) _exit(1);
      }
    }
    close(pipe_ends[1]);
    char buffer[4096];
    std::int64_t announced = read(pipe_ends[0], buffer, 1);  // waits for the first frame
    EXPECT_EQ(announced, 1);
    std::this_thread::sleep_for(std::chrono::microseconds(1237 * round));  // any moment is right
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) announced += n;
    close(pipe_ends[0]);

    {
      const auto file = Hdf5File::open(path("killed.h5md"));
      const auto n_frames = file.shape("/particles/all/position/step").at(0);
      EXPECT_GE(n_frames, announced);
      EXPECT_LE(n_frames, announced + 1);
      for (std::int64_t f = 0; f < announced; ++f)
        ASSERT_EQ(file.read_rows<float>("/coordinates", f, 1), frame(200, static_cast<int>(f))) << "round " << round;
    }
    EXPECT_EQ(DcdWriter::continue_after(path("killed.dcd"), announced, dcd).n_frames(), announced);
    auto writer = H5mdWriter::continue_after(path("killed.h5md"), announced, header);
    writer.append(announced, 1.0, box, frame(200, 1));
  }
}

}  // namespace
}  // namespace tessera::io
