// Makes boxes as awkward as those of users may be.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/base/test_support/random_bricks.h"

namespace tessera::fft {

/// Returns disjoint boxes that cover the mesh, in any order. Some may be empty.
inline std::vector<IndexBox> random_bricks(const Index3& grid, int ranks, std::mt19937& random) {
  auto boxes = test::random_bricks(grid, ranks, random, 0);
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

/// Returns boxes that extend beyond the given ones by this many points on every side.
inline std::vector<IndexBox> padded(std::vector<IndexBox> boxes, std::int64_t by) {
  for (auto& box : boxes)
    if (!box.is_empty())
      for (int d = 0; d < 3; ++d) box.lower[d] -= by, box.upper[d] += by;
  return boxes;
}

}  // namespace tessera::fft
