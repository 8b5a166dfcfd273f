// Which rank owns which cells: bricks of whole cells by recursive bisection, for any number of ranks. A plan: pure,
// small, the same on every rank.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tessera/md/domain/cell_grid.h"

namespace tessera::md::domain {

/// What a brick of cells costs, in any unit, and how that spreads over its layers along each edge: each list has the
/// same sum. What lies within follows as if the three were independent.
struct BrickCost {
  IndexBox brick;
  std::array<std::vector<double>, 3> by_layer;
};

class CostField;

class Decomposition {
 public:
  const CellGrid& grid() const { return grid_; }
  int ranks() const { return static_cast<int>(bricks_.size()); }
  const IndexBox& brick(int rank) const { return bricks_[static_cast<std::size_t>(rank)]; }
  const std::vector<IndexBox>& bricks() const { return bricks_; }
  /// The rank that owns a cell (of the grid, not wrapped). O(log ranks).
  int owner(const Index3& cell) const;

 private:
  friend Decomposition plan_decomposition(const CellGrid&, int, std::span<const BrickCost>);
  struct Cut {
    int dimension = 0;
    std::int64_t position = 0;  // cells below it are the left node's
    int left = -1, right = -1;  // nodes
    int rank = -1;              // of a leaf
  };
  int cut(const IndexBox& box, int first_rank, int ranks, const CostField& costs);

  CellGrid grid_;
  std::vector<IndexBox> bricks_;
  std::vector<Cut> tree_;
};

/// Halves bricks again and again, ranks in proportion to costs, for any count up to the number of cells. Throws
/// InputError naming the counts that do. `costs`: of bricks that cover the grid, such as those of another decomposition
/// of it.
Decomposition plan_decomposition(const CellGrid& grid, int ranks, std::span<const BrickCost> costs);
/// The same where all cells cost alike.
Decomposition plan_decomposition(const CellGrid& grid, int ranks);

/// What the cells of a box cost.
double cost_of(const IndexBox& box, std::span<const BrickCost> costs);

/// The layer of cells around a rank's brick and who owns them; who needs which of this rank's cells.
struct HaloPlan {
  struct Peer {
    int rank;
    std::vector<Index3> send;     // cells of ours that the peer needs, by flat index
    std::vector<Index3> receive;  // cells of the peer that we need, by flat index
  };
  std::vector<Peer> peers;  // by rank
};

HaloPlan plan_halo(const Decomposition& decomposition, int rank);

}  // namespace tessera::md::domain
