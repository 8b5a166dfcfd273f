// Divides a uniform grid over ranks: each has a box of points, the same one of every field. A layout is pure and the
// same on every rank.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/machine/wires.h"

namespace tessera::grid {

struct GridLayout {
  Index3 shape{};                                     // points along x, y, z
  std::array<bool, 3> is_periodic{true, true, true};  // else points outside are zero
  Index3 processes{1, 1, 1};                          // ranks along x, y, z
  std::vector<IndexBox> boxes;                        // by rank; empty for ranks beyond the processes

  int ranks() const { return static_cast<int>(boxes.size()); }
};

/// Returns the part of a box that is not beyond an edge without periodic images.
IndexBox without_outside(IndexBox box, const Index3& shape, const std::array<bool, 3>& is_periodic);

/// Returns the numbers of processes along the edges whose boxes have the least surface to others: they use as many of
/// the ranks as can have points, and of equal surfaces the one with most processes along x, then y, is taken, so that
/// faces lie together in memory. Surfaces at edges that are not periodic count nothing.
Index3 choose_processes(const Index3& shape, const std::array<bool, 3>& is_periodic, int ranks);

/// Divides each edge of n points into P parts [n·i/P, n·(i+1)/P). Ranks take their places row by row, z fastest; with
/// `wires`, if all ranks have points, so that neighbours are on one host, then in one subnet
/// (machine::cartesian_order). Throws InputError where `processes` are more than ranks or points.
GridLayout plan_layout(const Index3& shape, const std::array<bool, 3>& is_periodic, int ranks,
                       const std::optional<Index3>& processes = std::nullopt, const machine::Wires* wires = nullptr);

}  // namespace tessera::grid
