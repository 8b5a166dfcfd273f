// Boxes that cover a mesh, cut at random.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::test {

/// Returns `n` disjoint boxes that cover the mesh, made by repeated cuts; none is narrower than `narrowest` (0: some
/// may be empty).
inline std::vector<IndexBox> random_bricks(const Index3& mesh, int n, std::mt19937& random, std::int64_t narrowest) {
  std::vector<IndexBox> boxes{{{0, 0, 0}, mesh}};
  while (static_cast<int>(boxes.size()) < n) {
    const std::size_t i = random() % boxes.size(), d = random() % 3;
    const auto places = boxes[i].extent(static_cast<int>(d)) - 2 * narrowest + 1;
    if (places < 1) continue;
    IndexBox left = boxes[i], right = boxes[i];
    left.upper[d] = right.lower[d] =
        left.lower[d] + narrowest + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(places));
    boxes[i] = left;
    boxes.push_back(right);
  }
  return boxes;
}

}  // namespace tessera::test
