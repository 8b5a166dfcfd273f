#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include "tessera/base/threads.h"
#include "tessera/md/domain/slot_map.h"
#include "tessera/md/domain/sort_cell.h"

namespace tessera::md::domain {
namespace {

std::vector<CellAtom> cloud(std::size_t n, int reach, std::mt19937& random) {
  std::uniform_int_distribution<int> offset(-reach, reach);  // integers, so that there are ties
  const auto place = [&] { return static_cast<float>(offset(random)); };
  std::vector<CellAtom> atoms;
  for (std::size_t i = 0; i < n; ++i)
    atoms.push_back({{place(), place(), place()}, static_cast<std::int32_t>(i), static_cast<std::int64_t>(7 * i + 3)});
  return atoms;
}

std::vector<std::int64_t> ids(const std::vector<CellAtom>& atoms) {
  std::vector<std::int64_t> all;
  for (const auto& a : atoms) all.push_back(a.id);
  return all;
}

TEST(SortCell, AnyOrderOfTheInputGivesTheSameOutput) {
  std::mt19937 random(1);
  for (const std::size_t n : {0, 1, 3, 4, 5, 8, 9, 17, 63, 64, 150})
    for (const int reach : {0, 1, 10000}) {  // 0 and 1 give ties everywhere, which ids resolve
      auto atoms = cloud(n, reach, random);
      auto sorted = atoms;
      sort_cell(sorted);
      for (int trial = 0; trial < 20; ++trial) {
        std::shuffle(atoms.begin(), atoms.end(), random);
        auto again = atoms;
        sort_cell(again);
        ASSERT_EQ(ids(again), ids(sorted)) << n << " atoms within " << reach;
      }
      auto all = ids(sorted);
      std::sort(all.begin(), all.end());
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(7 * i + 3));
    }
}

// The first cut is along the widest extent and leaves whole clusters on the left.
TEST(SortCell, CutsBetweenWholeClustersAlongTheWidestExtent) {
  std::mt19937 random(2);
  for (const std::size_t n : {5, 8, 11, 12, 13, 40, 77}) {
    auto atoms = cloud(n, 100, random);
    for (auto& a : atoms) a.place[1] *= 100;
    sort_cell(atoms);
    const std::size_t clusters = (n + 3) / 4, left = clusters / 2 * 4;
    ASSERT_EQ(left % 4, 0u);
    float greatest = std::numeric_limits<float>::lowest(), lowest_after = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < n; ++i) {
      if (i < left)
        greatest = std::max(greatest, atoms[i].place[1]);
      else
        lowest_after = std::min(lowest_after, atoms[i].place[1]);
    }
    EXPECT_LE(greatest, lowest_after) << n;
  }
}

// Two groups of four are slightly apart along x, and each is long in x; a cut along the widest extent would cut both.
TEST(SortCell, TheLastCutIsWhereItLeavesTheSmallestClusters) {
  std::vector<CellAtom> atoms;
  for (int i = 0; i < 8; ++i)
    atoms.push_back({{static_cast<float>(i % 4) * 3, static_cast<float>(i / 4) * 8, 0}, i, i});
  std::mt19937 random(6);
  std::shuffle(atoms.begin(), atoms.end(), random);
  sort_cell(atoms);
  EXPECT_EQ(ids(atoms), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SortCell, ClustersAreCompact) {
  std::mt19937 random(3);
  auto atoms = cloud(256, 1 << 20, random);
  const auto mean_extent = [&] {
    double sum = 0;
    for (std::size_t c = 0; c < 64; ++c)
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < i; ++j) {
          double r2 = 0;
          for (std::size_t d = 0; d < 3; ++d) {
            const double x = atoms[4 * c + i].place[d] - atoms[4 * c + j].place[d];
            r2 += x * x;
          }
          sum += std::sqrt(r2) / (64 * 6);
        }
    return sum;
  };
  const double before = mean_extent();
  sort_cell(atoms);
  EXPECT_LT(mean_extent(), 0.4 * before);
}

TEST(SlotMap, FindsWhatWasInserted) {
  SlotMap map;
  EXPECT_EQ(map.find(0, [](std::int32_t) { return 0; }), -1);
  std::mt19937_64 random(5);
  for (const std::size_t n : {0, 1, 7, 8, 9, 1000, 30000}) {
    for (const std::int64_t stride : {1, 3, 1 << 20}) {
      map.reset(n);
      std::unordered_map<std::int64_t, std::int32_t> oracle;
      const auto id_of = [&](std::int32_t slot) { return std::int64_t{slot / 2} * stride; };
      for (std::size_t i = 0; i < n; ++i) {
        const auto id = static_cast<std::int64_t>(i) * stride;
        map.insert(id, static_cast<std::int32_t>(2 * i));
        oracle[id] = static_cast<std::int32_t>(2 * i);
      }
      for (const auto& [id, slot] : oracle) ASSERT_EQ(map.find(id, id_of), slot);
      for (int i = 0; i < 1000; ++i) {
        const auto id = static_cast<std::int64_t>(random() >> 30);
        const auto found = oracle.find(id);
        ASSERT_EQ(map.find(id, id_of), found == oracle.end() ? -1 : found->second);
      }
    }
  }
  // Several threads insert at once.
  ThreadPool threads(4);
  map.reset(5000);
  threads.parallel_for(5000, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) map.insert(3 * i, static_cast<std::int32_t>(i));
  });
  for (std::int32_t i = 0; i < 5000; ++i)
    ASSERT_EQ(map.find(3 * i, [](std::int32_t slot) { return std::int64_t{3} * slot; }), i);
  map.reset(4);
  EXPECT_EQ(map.find(3, [](std::int32_t) { return 3; }), -1) << "reset forgets";
  EXPECT_GT(map.bytes(), 0u);
}

}  // namespace
}  // namespace tessera::md::domain
