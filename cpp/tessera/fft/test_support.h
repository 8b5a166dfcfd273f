// Boxes as awkward as users' may be.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::fft {

/// Random disjoint boxes that cover the mesh: repeated cuts. Some may be empty.
inline std::vector<IndexBox> random_bricks(const Index3& grid, int ranks, std::mt19937& random) {
  std::vector<IndexBox> boxes{{{0, 0, 0}, grid}};
  while (static_cast<int>(boxes.size()) < ranks) {
    const std::size_t i = random() % boxes.size();
    const std::size_t d = random() % 3;
    IndexBox left = boxes[i], right = boxes[i];
    left.upper[d] = right.lower[d] =
        left.lower[d] +
        static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(left.extent(static_cast<int>(d)) + 1));
    boxes[i] = left;
    boxes.push_back(right);
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

/// Boxes that stick out of the mesh by so many points on every side.
inline std::vector<IndexBox> padded(std::vector<IndexBox> boxes, std::int64_t by) {
  for (auto& box : boxes)
    if (!box.is_empty())
      for (int d = 0; d < 3; ++d) box.lower[d] -= by, box.upper[d] += by;
  return boxes;
}

}  // namespace tessera::fft
