// Plans the halo of a rank: the points around its box that a stencil reads, and who sends them. A plan is pure and is
// tested without MPI.
#pragma once

#include <array>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// Points at `box` for the sender, and at box + shift for the receiver; the shift is a multiple of the grid's shape.
struct HaloPiece {
  IndexBox box;
  Index3 shift{};
};

/// What two ranks send each other, in one message each way; pieces are in the same order on both.
struct HaloPeer {
  int rank = 0;
  std::vector<HaloPiece> send, receive;

  std::int64_t send_points() const;
  std::int64_t receive_points() const;
};

/// Messages that may be under way at once.
struct HaloStage {
  std::vector<HaloPeer> peers;   // ascending, without this rank
  std::vector<HaloPiece> local;  // periodic images of this rank's own points
};

/// How many points a stencil reads below and above a box along each edge, and whether it reads edges and corners.
struct HaloShape {
  std::array<Index3, 2> reach{};
  bool has_corners = false;

  static HaloShape of(const Stencil& stencil) { return {stencil.reach(), !stencil.is_on_axes()}; }
};

/// Returns the box with its halo; empty for an empty box.
IndexBox padded(const IndexBox& box, const HaloShape& shape);

/// Returns the halo in one stage, or in three, one a direction: `by_direction`. Each point comes from its owner. Points
/// beyond edges that are not periodic are in no piece. Cost: O(ranks).
std::vector<HaloStage> plan_halo(const GridLayout& layout, const HaloShape& shape, int rank, bool by_direction);

}  // namespace tessera::grid
