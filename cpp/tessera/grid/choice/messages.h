// Counts the messages of all ranks' halos, in a time that does not grow with the number of ranks for each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/grid/halo.h"
#include "tessera/grid/layout.h"

namespace tessera::grid {

/// What a rank receives from another one, in points, along each direction; all of it may also go at once.
struct HaloMessage {
  int from = 0, to = 0;
  std::array<std::int64_t, 3> points{};

  std::int64_t all() const { return points[0] + points[1] + points[2]; }
};

/// Finds what ranks receive, as plan_halo() has it, by the places where the edges of the grid are cut. Cost: O(ranks)
/// once, then O(neighbours) a rank.
class HaloMessages {
 public:
  HaloMessages(const GridLayout& layout, const HaloShape& shape);

  /// Returns what a rank receives from others, by ascending rank.
  std::vector<HaloMessage> to(int rank) const;

 private:
  /// So many points of an interval belong to the part at this place.
  struct Share {
    std::int64_t place, points;
  };

  /// Returns the parts to which the points of an interval along an edge belong.
  std::vector<Share> shares(std::size_t d, std::int64_t lower, std::int64_t upper) const;

  const GridLayout& layout_;
  HaloShape shape_;
  std::array<std::vector<std::int64_t>, 3> begin_;  // of the parts of each edge
  std::vector<int> rank_at_;                        // by place, z fastest
};

}  // namespace tessera::grid
