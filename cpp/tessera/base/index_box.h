// Half-open boxes of integer triples: cells of a cell grid, points of a mesh.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera {

using Index3 = std::array<std::int64_t, 3>;

/// The triples i with lower[d] ≤ i[d] < upper[d]. Flat order: x slowest, z fastest.
struct IndexBox {
  Index3 lower{0, 0, 0};
  Index3 upper{0, 0, 0};

  std::int64_t extent(int d) const { return std::max<std::int64_t>(0, upper[d] - lower[d]); }
  std::int64_t size() const { return extent(0) * extent(1) * extent(2); }
  bool is_empty() const { return size() == 0; }
  bool contains(const Index3& i) const {
    return lower[0] <= i[0] && i[0] < upper[0] && lower[1] <= i[1] && i[1] < upper[1] && lower[2] <= i[2] &&
           i[2] < upper[2];
  }
  std::int64_t flat(const Index3& i) const {
    return ((i[0] - lower[0]) * extent(1) + (i[1] - lower[1])) * extent(2) + (i[2] - lower[2]);
  }
  friend bool operator==(const IndexBox&, const IndexBox&) = default;
};

inline IndexBox intersection(const IndexBox& a, const IndexBox& b) {
  IndexBox c;
  for (int d = 0; d < 3; ++d) {
    c.lower[d] = std::max(a.lower[d], b.lower[d]);
    c.upper[d] = std::max(c.lower[d], std::min(a.upper[d], b.upper[d]));
  }
  return c;
}

}  // namespace tessera
