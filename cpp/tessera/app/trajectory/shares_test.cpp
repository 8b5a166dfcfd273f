#include "tessera/app/trajectory/shares.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace tessera::app {
namespace {

/// Two kinds of molecules, of three atoms and of one, in runs of 10, 7 and 5 instances: 30 + 7 + 15 atoms.
model::System system_of_two_kinds() {
  model::System system;
  system.templates.resize(2);
  system.templates[0].type.assign(3, 0);
  system.templates[1].type.assign(1, 0);
  system.set_instances({{0, 10}, {1, 7}, {0, 5}});
  return system;
}

/// The ids that a share needs, by index, as its molecules tell.
std::vector<std::int64_t> ids_of(const FrameShares& shares, const model::System& system, int share) {
  std::vector<std::int64_t> ids;
  for (const auto& run : shares.molecules(share)) {
    const auto size = system.templates[static_cast<std::size_t>(run.molecule)].n_atoms();
    for (std::int64_t i = 0; i < run.count * size; ++i) ids.push_back(run.first_id + i);
  }
  return ids;
}

TEST(FrameShares, EveryAtomHasOnePlaceInWholeMolecules) {
  const auto system = system_of_two_kinds();
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<model::AtomSet::Range> ranges;
    for (auto n = random() % 6 + 1; n > 0; --n) {
      const auto first = static_cast<std::int64_t>(random() % 52);
      ranges.push_back({first, std::min<std::int64_t>(51, first + static_cast<std::int64_t>(random() % 9))});
    }
    const model::AtomSet atoms(ranges);
    const auto n_shares = static_cast<int>(random() % 9 + 1);
    const FrameShares shares(system, atoms, true, n_shares);
    ASSERT_GE(shares.n_shares(), 1);
    ASSERT_LE(shares.n_shares(), n_shares);
    std::set<std::int64_t> needed;
    std::int64_t rows = 0;
    for (int share = 0; share < shares.n_shares(); ++share) {
      EXPECT_GT(shares.n_needed(share), 0);
      EXPECT_EQ(shares.first_row(share), rows);
      rows += shares.n_rows(share);
      const auto ids = ids_of(shares, system, share);
      ASSERT_EQ(static_cast<std::int64_t>(ids.size()), shares.n_needed(share));
      std::int64_t of_frame = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto place = shares.find(ids[i]);
        EXPECT_EQ(place.share, share);
        EXPECT_EQ(place.index, i);
        needed.insert(ids[i]);
        of_frame += atoms.contains(ids[i]) ? 1 : 0;
      }
      EXPECT_EQ(of_frame, shares.n_rows(share));
    }
    EXPECT_EQ(rows, atoms.size());
    for (std::int64_t id = 0; id < 52; ++id) {
      EXPECT_EQ(shares.find(id).share >= 0, needed.contains(id));
      if (atoms.contains(id)) {
        EXPECT_TRUE(needed.contains(id));
      }
    }
  }
}

TEST(FrameShares, AtomsByThemselvesAreDividedAnywhere) {
  const auto system = system_of_two_kinds();
  const model::AtomSet atoms({{1, 4}, {40, 45}});
  const FrameShares shares(system, atoms, false, 4);
  std::int64_t rows = 0;
  for (int share = 0; share < 4; ++share) {
    EXPECT_EQ(shares.n_rows(share), shares.n_needed(share));
    EXPECT_GE(shares.n_rows(share), 2);
    EXPECT_LE(shares.n_rows(share), 3);
    rows += shares.n_rows(share);
  }
  EXPECT_EQ(rows, 10);
  EXPECT_EQ(shares.find(0).share, -1);
  EXPECT_EQ(shares.find(1).share, 0);
  EXPECT_EQ(shares.find(5).share, -1);
  EXPECT_EQ(shares.find(45).share, 3);
  EXPECT_EQ(shares.find(46).share, -1);
}

TEST(FrameShares, ABillionWatersOnManyRanks) {
  model::System system;
  system.templates.resize(1);
  system.templates[0].type.assign(3, 0);
  system.set_instances({{0, 1'000'000'000}});
  const model::AtomSet atoms({{0, system.n_atoms() - 1}});
  const FrameShares shares(system, atoms, true, 1024);
  EXPECT_EQ(shares.first_row(1023) + shares.n_rows(1023), 3'000'000'000);
  const auto last = shares.find(2'999'999'999);
  EXPECT_EQ(last.share, 1023);
  EXPECT_EQ(last.index, shares.n_needed(1023) - 1);
}

}  // namespace
}  // namespace tessera::app
