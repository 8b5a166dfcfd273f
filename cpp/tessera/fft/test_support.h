// Makes boxes as awkward as those of users may be, and lists the messages of plans.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/base/test_support/random_bricks.h"
#include "tessera/fft/plan.h"

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

/// Returns the messages of all ranks by receiver, then sender.
inline std::vector<RedistributionMessage> all_messages(const Index3& grid, const Redistribution& redistribution) {
  std::vector<int> all(redistribution.to.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<RedistributionMessage> messages;
  for_messages(grid, redistribution, all, [&](const RedistributionMessage& m) { messages.push_back(m); });
  return messages;
}

}  // namespace tessera::fft
