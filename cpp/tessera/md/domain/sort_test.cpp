#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <unordered_map>

#include "tessera/md/domain/domain.h"

namespace tessera::md::domain {
namespace {

std::vector<Particle> cloud(std::size_t n, const Fraction& centre, std::int32_t reach, std::mt19937& random) {
  std::uniform_int_distribution<std::int32_t> offset(-reach, reach);
  std::vector<Particle> atoms;
  for (std::size_t i = 0; i < n; ++i) {
    Particle p;
    p.id = static_cast<std::int64_t>(7 * i + 3);
    p.position = centre + Fraction{offset(random), offset(random), offset(random)};
    atoms.push_back(p);
  }
  return atoms;
}

std::vector<std::int64_t> ids(const std::vector<Particle>& atoms) {
  std::vector<std::int64_t> all;
  for (const auto& a : atoms) all.push_back(a.id);
  return all;
}

TEST(SortCell, AnyOrderOfTheInputGivesTheSameOutput) {
  std::mt19937 random(1);
  const Fraction border = {std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 5};
  for (const std::size_t n : {0, 1, 3, 4, 5, 8, 9, 17, 63, 64, 150})
    for (const std::int32_t reach : {0, 1, 100000000}) {  // 0 and 1: ties everywhere, the ids decide
      auto atoms = cloud(n, border, reach, random);
      auto sorted = atoms;
      sort_cell(sorted, border);
      for (int trial = 0; trial < 20; ++trial) {
        std::shuffle(atoms.begin(), atoms.end(), random);
        auto again = atoms;
        sort_cell(again, border);
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
    auto atoms = cloud(n, {}, 1000000, random);
    for (auto& a : atoms) a.position.y *= 100;
    sort_cell(atoms, {});
    const std::size_t clusters = (n + 3) / 4, left = clusters / 2 * 4;
    ASSERT_EQ(left % 4, 0u);
    std::int32_t greatest = std::numeric_limits<std::int32_t>::min(), least = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < n; ++i) {
      if (i < left)
        greatest = std::max(greatest, atoms[i].position.y);
      else
        least = std::min(least, atoms[i].position.y);
    }
    EXPECT_LE(greatest, least) << n;
  }
}

TEST(SortCell, ClustersAreCompact) {
  std::mt19937 random(3);
  auto atoms = cloud(256, {}, 1 << 28, random);
  const auto mean_extent = [&] {
    double sum = 0;
    for (std::size_t c = 0; c < 64; ++c)
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < i; ++j) {
          const auto d = atoms[4 * c + i].position - atoms[4 * c + j].position;
          sum += std::sqrt(double(d.x) * d.x + double(d.y) * d.y + double(d.z) * d.z) / (64 * 6);
        }
    return sum;
  };
  const double before = mean_extent();
  sort_cell(atoms, {});
  EXPECT_LT(mean_extent(), 0.4 * before);
}

// Atoms on either side of the box's face are neighbours: offsets count from the cell's centre.
TEST(SortCell, CellsAcrossTheFaceOfTheBox) {
  std::mt19937 random(4);
  const Fraction face = {std::numeric_limits<std::int32_t>::min(), 0, 0};
  auto here = cloud(50, {}, 1 << 20, random);
  auto there = here;
  for (auto& a : there) a.position = a.position + face;
  sort_cell(here, {});
  sort_cell(there, face);
  EXPECT_EQ(ids(here), ids(there));
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
  map.reset(4);
  EXPECT_EQ(map.find(3, [](std::int32_t) { return 3; }), -1) << "reset forgets";
  EXPECT_GT(map.bytes(), 0u);
}

}  // namespace
}  // namespace tessera::md::domain
