// Frames that ranks write one after the other: the same bytes by every method, and what is cut off is never read.
#include "tessera/io/write/frame_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/io/text/history.h"

namespace tessera::io::write {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t n_atoms = 17;

Frame frame(std::int64_t step) {
  Frame found;
  found.title = "a test";
  found.periodicity = 2;
  found.moment = {step, 0.001, 0.001 * static_cast<double>(step)};
  found.cell = {50, 0, 0, 0, 60, 0, 0, 0, 70};
  found.species = {{text::name_of("Na+"), 22.9898, 1}, {text::name_of("Cl-"), 35.453, -1}};
  return found;
}

/// Returns the atoms of a rank, consecutive ones: the first of four has none.
AtomRows atoms_of(int level, std::int64_t step, int rank, int n_ranks) {
  const auto bound = [&](int r) { return n_ranks == 4 ? (r <= 1 ? 0 : n_atoms * (r - 1) / 3) : n_atoms * r / n_ranks; };
  const auto first = bound(rank) + 1;
  AtomRows atoms(level, static_cast<std::size_t>(bound(rank + 1) + 1 - first));
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const auto id = first + static_cast<std::int64_t>(i);
    const auto x = static_cast<double>(step + id);
    atoms[i] = {id, id % 2, {x, -0.5 * x, 0.25}};
    for (int k = 1; k <= level; ++k)
      for (int d = 0; d < 3; ++d) atoms.values(i, k)[d] = x * k + d;
  }
  return atoms;
}

std::string expected(const Format& format, const std::vector<std::int64_t>& steps) {
  auto text = format.file_header(frame(0), n_atoms, std::ssize(steps));
  for (const auto step : steps) {
    text += format.frame_header(frame(step), n_atoms);
    const auto at = text.size();
    text.resize(at + static_cast<std::size_t>(format.n_records(n_atoms) * format.atom_bytes));
    const auto atoms = atoms_of(format.level, step, 0, 1);
    if (format.has_blocks)
      format.encode(frame(step), in_blocks(atoms, format.level, n_atoms), text.data() + at);
    else
      format.encode(frame(step), atoms, text.data() + at);
  }
  return text;
}

class Frames : public testing::Test {
 protected:
  // Puts files in memory, if there is such a folder, where bringing files to the disk takes no time.
  Frames()
      : path_(fs::path(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : testing::TempDir()) /
              ("tessera_frames_" + std::to_string(getpid()))) {}
  ~Frames() override { fs::remove(path_); }

  void write(const Format& format, const Method& method, int n_ranks, std::optional<std::int64_t> after,
             const std::vector<std::int64_t>& steps) const {
    WriteOptions options;
    options.order = format.has_numbers ? Order::owned : Order::sorted;
    options.batch = 3;
    options.buffer = 400;
    comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
      const auto n_own = static_cast<std::int64_t>(atoms_of(0, 0, comm.rank(), n_ranks).size());
      FrameFile file(comm, path_, frame(0), n_own, format, method, options, after);
      for (const auto step : steps) file.append(frame(step), atoms_of(format.level, step, comm.rank(), n_ranks));
      file.synchronize();
      EXPECT_TRUE(file.is_in_place());
      EXPECT_EQ(file.n_frames(), after.value_or(0) + std::ssize(steps));
    });
  }
  std::string bytes() const { return Descriptor::open_to_read(path_).read_all(); }

  std::string path_;
};

TEST_F(Frames, AreTheSameByEveryMethodOnAnyRanksAndGoOn) {
  for (const auto& format : formats()) {
    if (!format.holds_frames()) continue;
    for (const auto& method : methods()) {
      for (const int n_ranks : {1, 2, 3, 4, 5}) {
        fs::remove(path_);
        write(format, method, n_ranks, {}, {0, 10, 20});
        EXPECT_TRUE(bytes() == expected(format, {0, 10, 20})) << format.name << " " << method.name << " on " << n_ranks;
        if (!format.is_of) continue;
        write(format, method, n_ranks, 2, {20, 30});
        EXPECT_TRUE(bytes() == expected(format, {0, 10, 20, 30})) << method.name << " on " << n_ranks;
      }
    }
  }
  fs::remove(path_);
  write(history, pdaw, 2, {}, {0, 10, 20, 30});
  EXPECT_EQ(text::History(path_).frames().size(), 4U);
}

TEST_F(Frames, MayFindAtomsOnOtherRanks) {
  for (const auto& method : {pdaw, sdaw, mpiw_collective})
    for (const int writers : {0, 2}) {
      fs::remove(path_);
      WriteOptions options;
      options.order = Order::owned;
      options.writers = writers;
      options.batch = 3;
      comm::run_ranks(3, [&](const comm::Communicator& comm) {
        const auto some = atoms_of(0, 0, comm.rank(), 3);
        FrameFile file(comm, path_, frame(0), static_cast<std::int64_t>(some.size()), history, method, options, {});
        file.append(frame(0), some);
        file.append(frame(10), comm.rank() == 1 ? atoms_of(0, 10, 0, 1) : AtomRows(0));
        file.append(frame(20), atoms_of(0, 20, comm.rank(), 3));
      });
      EXPECT_TRUE(bytes() == expected(history, {0, 10, 20})) << method.name << ", writers " << writers;
    }
}

TEST_F(Frames, HaveVelocitiesBehindAllPositionsInBlocks) {
  write(netcdf_forces, pdaw, 3, {}, {0});
  const auto found = bytes();
  const auto block = static_cast<std::size_t>(12 * n_atoms);
  const auto number = [&](std::size_t k, std::size_t atom, std::size_t d) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i)
      word = word << 8 | static_cast<unsigned char>(found[found.size() - (3 - k) * block + 12 * atom + 4 * d + i]);
    return std::bit_cast<float>(word);
  };
  for (std::size_t atom = 0; atom < 17; ++atom) {
    const auto x = static_cast<float>(atom + 1);
    EXPECT_EQ(number(0, atom, 1), -0.5F * x);
    EXPECT_EQ(number(1, atom, 2), x + 2);
    EXPECT_EQ(number(2, atom, 0), 2 * x);
  }
}

TEST_F(Frames, HaveTheirLastByteWhenAllOthersAreThere) {
  const auto whole = expected(history, {0, 10});
  const auto one = static_cast<std::size_t>(std::ssize(expected(history, {0})));
  write(history, pdaw, 2, {}, {0, 10});
  for (const auto hole : {one + 300, whole.size() - 80}) {  // a rank that had not come to its rows
    auto torn = whole.substr(0, whole.size() - 1);
    torn.replace(hole, 73, std::string(73, '\0'));
    const auto file = Descriptor::open_to_change(path_);
    file.truncate(0);
    file.write_at(torn.data(), torn.size(), 0);
    const text::History found(path_);
    EXPECT_EQ(found.frames().size(), 1U);
    EXPECT_TRUE(found.is_cut());
  }
}

// A method whose file is removed when the header of a frame has been written, as others may do at any time.
TEST_F(Frames, AreLostWhereTheirFileIsRemovedMeanwhile) {
  WriteOptions options;
  options.order = Order::owned;
  for (const auto* like : {&pdaw, &sdaw, &mpiw_collective}) {
    fs::remove(path_);
    static const Method* inner = nullptr;
    inner = like;
    auto removing = *like;
    removing.write = [](WriteJob& job) {
      job.comm().barrier();
      if (job.comm().is_root() && job.frame().moment.step == 10) fs::remove(job.path());
      job.comm().barrier();
      inner->write(job);
    };
    comm::run_ranks(3, [&](const comm::Communicator& comm) {
      const auto own = [&](std::int64_t step) { return atoms_of(0, step, comm.rank(), 3); };
      FrameFile file(comm, path_, frame(0), static_cast<std::int64_t>(own(0).size()), history, removing, options, {});
      file.append(frame(0), own(0));
      EXPECT_TRUE(file.is_in_place());
      file.append(frame(10), own(10));
      EXPECT_FALSE(file.is_in_place());
      file.append(frame(20), own(20));
      EXPECT_EQ(file.n_frames(), 3);
    });
    EXPECT_FALSE(fs::exists(path_));
  }
}

TEST_F(Frames, AreNotMixedWithOthers) {
  const auto problem = [&](const Format& format, const Method& method, std::optional<std::int64_t> after) {
    return test::message_of<InputError>([&] { write(format, method, 2, after, {}); });
  };
  test::expect_says(problem(config, pdaw, {}), "holds one configuration");
  write(history, pdaw, 3, {}, {0, 10});
  test::expect_says(problem(history, pdaw, 3), "holds 2 whole frames, the checkpoint says 3");
  test::expect_says(problem(history_velocities, pdaw, 1), "is not the trajectory of this run");
  EXPECT_TRUE(bytes() == expected(history, {0, 10}));
}

}  // namespace
}  // namespace tessera::io::write
