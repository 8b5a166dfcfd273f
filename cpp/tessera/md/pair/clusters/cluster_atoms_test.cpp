// Compares conversions between atoms and clusters with plain loops, bit for bit, with every instruction set.
#include "tessera/md/pair/clusters/cluster_atoms.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "tessera/base/fixed_point.h"
#include "tessera/base/test_support/instruction_sets.h"

namespace tessera::md::pair {
namespace {

/// Atoms of one cell, the last `padding` of them none, and where they were when they were listed and in the last step.
struct Cell {
  std::vector<Fraction> position;
  std::vector<std::int64_t> id;
  std::vector<float> reach, stride;
  std::vector<ClusterPlaces> listed;
  std::vector<ClusterData> clusters;
  Fraction centre{123456789, -2147000000, 2147483647};

  Cell(std::int64_t n_clusters, int padding, std::mt19937& random)
      : listed(static_cast<std::size_t>(n_clusters)), clusters(static_cast<std::size_t>(n_clusters)) {
    std::uniform_real_distribution<float> place(-6, 6);
    const auto slots = static_cast<std::size_t>(cluster_size * n_clusters);
    for (std::size_t s = 0; s < slots; ++s) {
      position.push_back({static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random()),
                          static_cast<std::int32_t>(random())});
      id.push_back(s + static_cast<std::size_t>(padding) < slots ? static_cast<std::int64_t>(random()) : -1);
      reach.push_back(1000);
      stride.push_back(-1);
      for (auto* at : {&listed[s / 4].x, &listed[s / 4].y, &listed[s / 4].z, &clusters[s / 4].x, &clusters[s / 4].y,
                       &clusters[s / 4].z})
        (*at)[s % 4] = place(random);
    }
  }

  AtomsOfClusters atoms() const {
    return {std::ssize(clusters), centre, position.data(), id.data(), reach.data(), listed.data()};
  }
};

/// Does what set_coordinates() does, atom by atom.
bool plain(const SingleTriangular& to_length, Cell& cell, bool with_stride) {
  bool beyond = false;
  for (std::size_t s = 0; s < cell.id.size(); ++s) {
    auto& now = cell.clusters[s / 4];
    const auto& listed = cell.listed[s / 4];
    const std::size_t k = s % 4;
    if (cell.id[s] < 0) {
      now.x[k] = now.y[k] = now.z[k] = padding_distance * static_cast<float>(k + 1);
      continue;
    }
    const auto [x, y, z] = to_length * (cell.position[s] - cell.centre);
    const auto length2 = [](float dx, float dy, float dz) { return dx * dx + dy * dy + dz * dz; };
    if (with_stride) cell.stride[s] = std::sqrt(length2(x - now.x[k], y - now.y[k], z - now.z[k]));
    beyond |= length2(x - listed.x[k], y - listed.y[k], z - listed.z[k]) > cell.reach[s] * cell.reach[s];
    now.x[k] = x;
    now.y[k] = y;
    now.z[k] = z;
  }
  return beyond;
}

TEST(ClusterAtoms, CoordinatesAreThoseOfPlainLoops) {
  const Box box({60.5, 0, 0}, {-20.25, 58, 0}, {3, 7, 61.75});
  const SingleTriangular to_length(box.unit_vectors());
  tessera::test::for_instruction_sets([&] {
    std::mt19937 random(3);
    for (int turn = 0; turn < 60; ++turn) {
      const int padding = turn % 6;
      Cell cell(2 + turn % 7, padding, random), expected = cell;
      const bool with_stride = turn % 3 != 0;
      if (turn % 4 == 1) cell.reach[5] = expected.reach[5] = 0.01f;                      // far beyond it
      if (turn % 4 == 2) cell.reach.back() = expected.reach.back() = 0;                  // padding, or beyond
      if (turn % 4 == 3) cell.listed[0].x[1] = expected.listed[0].x[1] = std::nanf("");  // beyond nothing
      const bool beyond = plain(to_length, expected, with_stride);
      EXPECT_EQ(
          set_coordinates(to_length, cell.atoms(), cell.clusters.data(), with_stride ? cell.stride.data() : nullptr),
          beyond);
      EXPECT_EQ(cell.stride, expected.stride);
      for (std::size_t s = 0; s < cell.id.size(); ++s) {
        const auto &found = cell.clusters[s / 4], &wanted = expected.clusters[s / 4];
        EXPECT_EQ(found.x[s % 4], wanted.x[s % 4]);
        EXPECT_EQ(found.y[s % 4], wanted.y[s % 4]);
        EXPECT_EQ(found.z[s % 4], wanted.z[s % 4]);
      }
    }
  });
}

TEST(ClusterAtoms, ForcesAreAddedAsIntegers) {
  constexpr auto scale = static_cast<std::int64_t>(pair_force_unit / force_unit);
  tessera::test::for_instruction_sets([&] {
    std::mt19937 random(4);
    for (const std::size_t n_buffers : {1, 2, 5}) {
      constexpr std::int64_t n = 9, begin = 2, end = 8;
      std::vector<std::vector<ClusterForces>> buffers(n_buffers, std::vector<ClusterForces>(n));
      for (auto& buffer : buffers)
        for (auto& one : buffer)
          for (auto& value : one.value) value = static_cast<std::int32_t>(random());
      std::vector<std::int64_t> found(12 * n, 7), expected = found;
      for (auto c = begin; c < end; ++c)
        for (std::size_t d = 0; d < 3; ++d)
          for (std::size_t k = 0; k < 4; ++k) {
            std::uint32_t sum = 0;  // overflow wraps round
            for (const auto& buffer : buffers)
              sum += static_cast<std::uint32_t>(buffer[static_cast<std::size_t>(c)].value[force_offset[d] + k]);
            add_fixed(expected[3 * (4 * static_cast<std::size_t>(c) + k) + d], scale * static_cast<std::int32_t>(sum));
          }
      add_to_atoms(buffers, begin, end, found.data());
      EXPECT_EQ(found, expected);
    }
  });
}

}  // namespace
}  // namespace tessera::md::pair
