// Decides which rank owns which cells: bricks of whole cells by recursive bisection, for any number of ranks. A
// decomposition is a plan: a small value, the same on every rank, made without communication.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/rank_line.h"
#include "tessera/md/domain/cell_grid.h"

namespace tessera::md::domain {

/// Holds the cost of a brick of cells, in any unit, and its distribution over the brick's layers along each edge; each
/// list has the same sum. The cost of a single cell follows as if the three distributions were independent.
struct BrickCost {
  IndexBox brick;
  std::array<std::vector<double>, 3> by_layer;
};

class CostField;

class Decomposition {
 public:
  const CellGrid& grid() const { return grid_; }
  /// Returns the ranks by place; consecutive ranks of the line hold one brick together.
  const comm::RankLine& line() const { return line_; }
  /// Returns the host of each rank, according to the line.
  const std::vector<int>& host_of_rank() const { return host_of_rank_; }
  int ranks() const { return static_cast<int>(bricks_.size()); }
  /// Tells whether each rank has the atoms of all cells, those of other ranks as its halo.
  bool is_replicated() const { return is_replicated_; }
  void set_replicated(bool is_replicated) { is_replicated_ = is_replicated; }
  const IndexBox& brick(int rank) const { return bricks_[static_cast<std::size_t>(rank)]; }
  const std::vector<IndexBox>& bricks() const { return bricks_; }
  /// Returns the rank that owns a cell (of the grid, not wrapped) in O(log ranks).
  int owner(const Index3& cell) const;

 private:
  friend Decomposition plan_decomposition(const CellGrid&, const comm::RankLine&, std::span<const BrickCost>);
  struct Cut {
    int dimension = 0;
    std::int64_t position = 0;  // cells below it belong to the left node
    int left = -1, right = -1;  // nodes
    int rank = -1;              // of a leaf
  };
  int cut(const IndexBox& box, int first_place, int ranks, const CostField& costs);

  CellGrid grid_;
  comm::RankLine line_;
  std::vector<int> host_of_rank_;
  std::vector<IndexBox> bricks_;
  std::vector<Cut> tree_;
  bool is_replicated_ = false;
};

/// Halves bricks recursively, with ranks in proportion to costs, for any number of ranks up to the number of cells. The
/// line of ranks is halved along with the bricks, between subnets or hosts where possible, so that most neighbours have
/// a fast connection. Throws InputError, which names the possible numbers of ranks. `costs` belong to bricks that cover
/// the grid, such as those of another decomposition of it. A vacuum's grid grows to have a cell for each rank.
Decomposition plan_decomposition(const CellGrid& grid, const comm::RankLine& line, std::span<const BrickCost> costs);
/// Plans a decomposition in which all cells cost the same.
Decomposition plan_decomposition(const CellGrid& grid, const comm::RankLine& line);
/// Plans a decomposition in which all cells cost the same and ranks keep their numbers' order.
Decomposition plan_decomposition(const CellGrid& grid, int ranks);

/// Returns the cost of the cells of a box.
double cost_of(const IndexBox& box, std::span<const BrickCost> costs);

/// Lists the ranks that own cells of a rank's halo, those of other hosts, which take longest, first; each rank starts
/// with a different one.
struct HaloPeer {
  int rank;
  std::int64_t send, receive;  // cells
};
std::vector<HaloPeer> find_halo_peers(const Decomposition& decomposition, int rank);
/// Returns a brick of a vacuum with the layer of cells around it.
IndexBox with_halo(const CellGrid& grid, const IndexBox& brick);

/// Lists the layer of cells around a rank's brick with their owners, and which ranks need which of this rank's cells,
/// in a box that repeats.
struct HaloPlan {
  struct Peer {
    int rank;
    std::vector<Index3> send;     // our cells that the peer needs, by flat index
    std::vector<Index3> receive;  // cells of the peer that we need, by flat index
  };
  std::vector<Peer> peers;  // those of other hosts, which take longest, first; each rank starts with a different one
};

HaloPlan plan_halo(const Decomposition& decomposition, int rank);
/// Counts the cells in a rank's halo, whoever owns them. O(1).
std::int64_t n_halo_cells(const Decomposition& decomposition, int rank);

/// Counts the cells in a rank's halo, and those of them that ranks of other hosts own.
struct HaloCells {
  std::int64_t all = 0, from_other_hosts = 0;
};
HaloCells count_halo(const Decomposition& decomposition, int rank, const std::vector<int>& host_of_rank);

}  // namespace tessera::md::domain
