#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/io/checked_file.h"
#include "tessera/io/segments/manifest.h"
#include "tessera/io/segments/part_writer.h"

namespace tessera::io::segments {
namespace {

namespace fs = std::filesystem;

class Segments : public testing::Test {
 protected:
  Segments() : folder_(testing::TempDir() + "tessera_segments_" + std::to_string(getpid())) {
    fs::create_directories(folder_);
  }
  ~Segments() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  /// Writes a segment of one part with frames of these steps.
  void write(int number, std::int64_t after_step, const std::vector<std::int64_t>& steps) const {
    PartWriter part(at(part_name(number, 0)), {Encoding{}}, 1 << 20);
    for (const auto step : steps) part.append({std::vector<float>(6, static_cast<float>(step))});
    part.synchronize();
    auto manifest = ManifestWriter::create(at(manifest_name(number)), header(number, after_step));
    auto payloads = part.take_written();
    for (std::size_t i = 0; i < steps.size(); ++i)
      manifest.append({.step = steps[i], .time = 0, .box = {}, .payloads = {payloads[i]}});
  }
  static Header header(int number, std::int64_t after_step) {
    return {.n_atoms = 2,
            .system_atoms = 2,
            .ids = {{0, 2, 2, 1}},
            .quantities = {"positions"},
            .encodings = {Encoding{}},
            .parts = {{part_name(number, 0), 0, 2}},
            .after_step = after_step,
            .every = 10,
            .timestep = 0.002,
            .program = "tessera"};
  }

  std::string folder_;
};

TEST_F(Segments, LegsAreJoined) {
  write(0, -1, {0, 10, 20, 30, 40});
  write(1, 20, {30, 40, 50});
  write(2, 40, {50, 60});
  const auto found = read_folder(folder_);
  EXPECT_EQ(found.next_number, 3);
  EXPECT_TRUE(found.problems.empty());
  EXPECT_EQ(found.steps, (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(read_folder(at("nothing")).next_number, 0);
}

TEST_F(Segments, FramesThatAreNotWholeDoNotCount) {
  write(0, -1, {0, 10, 20, 30});
  fs::resize_file(at(part_name(0, 0)), 24 * 3 + 5);
  EXPECT_EQ(read_folder(folder_).steps, (std::vector<std::int64_t>{0, 10, 20}));
  const auto manifest = at(manifest_name(0));
  fs::resize_file(manifest, fs::file_size(manifest) - 2 * 128 - 1);
  EXPECT_EQ(read_folder(folder_).steps, (std::vector<std::int64_t>{0}));
  {
    const auto file = Descriptor::open_to_change(manifest);
    file.write_at("x", 1, 100);
  }
  const auto found = read_folder(folder_);
  EXPECT_TRUE(found.steps.empty());
  ASSERT_EQ(found.problems.size(), 1U);
  test::expect_says(found.problems[0], "is not what was written");
  EXPECT_EQ(found.next_number, 1);
}

TEST_F(Segments, APartHoldsWhatWasHandedOver) {
  const std::vector<Encoding> encodings = {{}, {EncodingKind::lossless, 0}, {EncodingKind::packed, 0.01}};
  std::vector<Payload> payloads;
  {
    PartWriter part(at("part"), encodings, 1);  // one frame is held at a time
    for (int frame = 0; frame < 5; ++frame) {
      std::vector<float> values(300);
      std::iota(values.begin(), values.end(), static_cast<float>(frame));
      part.append({values, values, values});
    }
    part.synchronize();
    payloads = part.take_written();
    EXPECT_TRUE(part.take_written().empty());
  }
  ASSERT_EQ(payloads.size(), 15U);
  const auto file = Descriptor::open_to_read(at("part"));
  std::int64_t end = 0;
  for (const auto& payload : payloads) {
    EXPECT_EQ(payload.offset, end);
    end += payload.bytes;
    std::vector<std::byte> bytes(static_cast<std::size_t>(payload.bytes));
    ASSERT_EQ(file.read_at(bytes.data(), bytes.size(), payload.offset), bytes.size());
    EXPECT_EQ(piece_checksum(bytes), payload.checksum);
  }
  EXPECT_EQ(file.size(), end);
  EXPECT_EQ(payloads[0].bytes, 1200);
  EXPECT_LT(payloads[1].bytes, 1200);
  EXPECT_LT(payloads[2].bytes, 600);
}

TEST_F(Segments, NumbersThatCanNotBeRoundedAreRefused) {
  PartWriter part(at("part"), {{EncodingKind::packed, 1e-6}}, 1 << 20);
  part.append({{1, 2, 3e9F}});
  EXPECT_THROW(part.synchronize(), RunError);
  EXPECT_THROW(part.append({{1, 2, 3}}), RunError);
}

TEST_F(Segments, AFullDiskIsAnErrorOfTheNextCall) {
  // A limit on the size of files stands for a full disk.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  PartWriter part(at("part"), {{}}, 1 << 20);
  setrlimit(RLIMIT_FSIZE, &small);
  part.append({std::vector<float>(3000)});
  EXPECT_THROW(part.synchronize(), RunError);
  EXPECT_TRUE(part.take_written().empty());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace tessera::io::segments
