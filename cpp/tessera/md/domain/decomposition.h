// Which rank owns which cells: bricks of whole cells by recursive bisection, for any number of ranks. A plan: pure,
// small, the same on every rank.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/rank_line.h"
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
  /// Ranks by place: those of a part of the line hold one brick together.
  const comm::RankLine& line() const { return line_; }
  /// Hosts of ranks, as the line tells.
  const std::vector<int>& host_of_rank() const { return host_of_rank_; }
  int ranks() const { return static_cast<int>(bricks_.size()); }
  const IndexBox& brick(int rank) const { return bricks_[static_cast<std::size_t>(rank)]; }
  const std::vector<IndexBox>& bricks() const { return bricks_; }
  /// The rank that owns a cell (of the grid, not wrapped). O(log ranks).
  int owner(const Index3& cell) const;

 private:
  friend Decomposition plan_decomposition(const CellGrid&, const comm::RankLine&, std::span<const BrickCost>);
  struct Cut {
    int dimension = 0;
    std::int64_t position = 0;  // cells below it are the left node's
    int left = -1, right = -1;  // nodes
    int rank = -1;              // of a leaf
  };
  int cut(const IndexBox& box, int first_place, int ranks, const CostField& costs);

  CellGrid grid_;
  comm::RankLine line_;
  std::vector<int> host_of_rank_;
  std::vector<IndexBox> bricks_;
  std::vector<Cut> tree_;
};

/// Halves bricks again and again, ranks in proportion to costs, for any count up to the number of cells; the line of
/// ranks is halved with them, between subnets or hosts where that can be, so that most neighbours are joined well.
/// Throws InputError naming the counts of ranks that do. `costs`: of bricks that cover the grid, such as those of
/// another decomposition of it.
Decomposition plan_decomposition(const CellGrid& grid, const comm::RankLine& line, std::span<const BrickCost> costs);
/// The same where all cells cost alike.
Decomposition plan_decomposition(const CellGrid& grid, const comm::RankLine& line);
/// And ranks stand as numbered.
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
  std::vector<Peer> peers;  // of other hosts first: what takes longest; each rank begins with another one
};

HaloPlan plan_halo(const Decomposition& decomposition, int rank);
/// How many cells are in that layer, whoever owns them. O(1).
std::int64_t n_halo_cells(const CellGrid& grid, const IndexBox& brick);

/// Cells of the halo of a rank, and those of them that ranks of other hosts hold.
struct HaloCells {
  std::int64_t all = 0, from_other_hosts = 0;
};
HaloCells count_halo(const Decomposition& decomposition, int rank, const std::vector<int>& host_of_rank);

}  // namespace tessera::md::domain
