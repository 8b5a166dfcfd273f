#include "tessera/app/trajectory/shares.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace tessera::app {
namespace {

/// Returns two kinds of molecules, of three atoms and of one, in runs of 10, 7 and 5 instances: 30 + 7 + 15 atoms.
model::System system_of_two_kinds() {
  model::System system;
  system.templates.resize(2);
  system.templates[0].type.assign(3, 0);
  system.templates[1].type.assign(1, 0);
  system.set_instances({{0, 10}, {1, 7}, {0, 5}});
  return system;
}

/// Returns the ids that a share needs, by index, as its molecules tell.
std::vector<std::int64_t> ids_of(const FrameShares& shares, int share) {
  std::vector<std::int64_t> ids;
  for (const auto& run : shares.molecules(share)) {
    for (std::int64_t i = 0; i < run.count * run.n_atoms; ++i) ids.push_back(run.first_id + i);
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
      const auto ids = ids_of(shares, share);
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

/// Returns two waters of three atoms, a chain of 100 units of two atoms, and a water.
model::System system_of_a_chain(bool is_strung) {
  model::System system;
  system.templates.resize(2);
  system.templates[0].type.assign(3, 0);
  system.templates[0].group.assign(3, 0);
  system.templates[1].type.assign(2, 0);
  system.templates[1].group.assign(2, 0);
  auto last = system.templates[1];
  if (is_strung) system.templates[1].terms[model::bond] = {{{0, 2}}, {0}};
  system.templates.push_back(last);
  system.set_instances({{0, 2}, {1, 99}, {2, 1}, {0, 1}});
  system.set_chains({{1, 2}});
  return system;
}

TEST(FrameShares, ChainsAreCutBetweenUnits) {
  const auto system = system_of_a_chain(true);
  for (const auto& atoms : {model::AtomSet({{0, 208}}), model::AtomSet({{4, 5}, {21, 21}, {150, 190}, {208, 208}})})
    for (int n_shares = 1; n_shares < 9; ++n_shares) {
      const FrameShares shares(system, atoms, true, n_shares);
      EXPECT_LE(shares.n_shares(), n_shares);
      EXPECT_EQ(shares.cuts_chains(), shares.n_shares() > 1);
      std::int64_t needed = 0, rows = 0;
      for (int share = 0; share < shares.n_shares(); ++share) {
        const auto ids = ids_of(shares, share);
        ASSERT_EQ(std::ssize(ids), shares.n_needed(share));
        EXPECT_GT(shares.n_rows(share), 0);
        EXPECT_EQ(shares.first_row(share), rows);
        rows += shares.n_rows(share);
        needed += shares.n_needed(share);
        EXPECT_EQ(shares.begins_in_chain(share), ids.front() > 6 && ids.front() < 206);
        EXPECT_TRUE(ids.front() <= 6 || ids.front() >= 206 || ids.front() % 2 == 0);
        for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(shares.find(ids[i]).index, i);
      }
      EXPECT_EQ(rows, atoms.size());
      EXPECT_EQ(needed, atoms.size() == 209 ? 209 : 206);
    }
}

TEST(FrameShares, AChainThatNoBondsJoinStaysWhole) {
  const auto system = system_of_a_chain(false);
  const model::AtomSet atoms({{0, 208}});
  const FrameShares shares(system, atoms, true, 8);
  EXPECT_FALSE(shares.cuts_chains());
  EXPECT_LE(shares.n_shares(), 3);
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
