// Lists which clusters of four atoms are near each other, from which pairs are summed.
//
// A rank lists the cell pairs whose midpoint cell it owns (midpoint cell method, cell_grid.h), or of replicated data an
// even share of all, so each pair of atoms is listed on one rank. A *row* is one i-cluster with all clusters near it, in
// any order, because sums over entries are in fixed point.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/clusters/cluster_distance.h"
#include "tessera/md/uninitialised_vector.h"

namespace tessera::md::pair {

/// Masks of all pairs of two clusters, and of those of one, i < j (MaskedEntry).
inline constexpr std::uint16_t mask_of_all_pairs = 0xFFFF, mask_among_themselves = 0b0000'1000'1100'1110;

/// Pairs an i-cluster with a j-cluster of which not all 16 pairs of atoms interact fully. Bit 4·i + j of a mask is atom
/// i of the i-cluster with atom j of the j-cluster.
struct MaskedEntry {
  PairEntry j;
  std::uint16_t interact;  // pairs with the full interaction
  std::uint16_t excluded;  // pairs that the force field excludes, to which only the mesh correction applies
  bool by_table;           // some pair of types has parameters of its own (NBFIX)
};

/// A row's entries end where those of the next row begin.
struct Row {
  std::int32_t i_cluster;
  std::int64_t masked_begin, plain_begin;
};

/// Holds one thread's part of the list.
struct PairListPart {
  std::vector<Row> rows;  // one more row marks the end of the last
  std::vector<MaskedEntry> masked;
  UninitialisedVector<PairEntry> plain;  // may have room beyond the last row's end

  std::size_t n_rows() const { return rows.empty() ? 0 : rows.size() - 1; }
  std::size_t n_plain() const { return rows.empty() ? 0 : static_cast<std::size_t>(rows.back().plain_begin); }
  std::span<const MaskedEntry> masked_of(std::size_t row) const {
    return {masked.data() + rows[row].masked_begin, masked.data() + rows[row + 1].masked_begin};
  }
  std::span<const PairEntry> plain_of(std::size_t row) const {
    return {plain.data() + rows[row].plain_begin, plain.data() + rows[row + 1].plain_begin};
  }
};

struct PairList {
  std::vector<PairListPart> inner, outer;    // by thread: cells all of whose partner cells are owned, and the others
  std::vector<std::array<float, 3>> shifts;  // Å, by neighbour cell: its centre minus that of the i-cluster's cell

  std::int64_t n_entries() const;
  std::size_t bytes() const;
};

/// Lists the atoms of other clusters that the force field excludes for a cluster's atoms; by cluster, both ways, in no
/// order.
struct ExcludedClusters {
  struct Partner {
    std::int32_t cluster;
    std::uint16_t excluded;  // as in MaskedEntry
  };
  std::vector<std::int32_t> begin;  // (clusters+1)
  std::vector<Partner> partners;

  std::span<const Partner> of(std::int32_t cluster) const {
    const auto* first = begin.data() + cluster;
    return {partners.data() + first[0], partners.data() + first[1]};
  }
};

/// Tells which types have pairs with parameters of their own.
struct TablePairs {
  std::int32_t n_types = 0;
  std::vector<std::uint8_t> needs_table;  // (types × types) 1: does not follow the combination rule
  std::vector<std::uint8_t> has_table;    // (types) 1: in some pair
  bool any = false;

  /// Tells whether any two atoms of two clusters have parameters of their own; `type` by slot, negative: padding.
  bool concern(std::int32_t ci, std::int32_t cj, std::span<const std::int32_t> type) const;
};

/// Lists extend the range by this margin, Å; it generously covers distances in single precision.
inline constexpr double list_rounding = 2e-3;

/// Describes an offset of the half shell of cells around a cell: j-cell = i-cell + offset, midpoint cell = i-cell +
/// midpoint.
struct CellOffset {
  Index3 cell, midpoint;
};
/// Returns half of the 5 × 5 × 5 neighbourhood, the cell itself first; there are n_neighbour_cells of them.
const std::vector<CellOffset>& half_shell();
/// Returns the vectors of the offsets in the current box, Å.
std::vector<Vec3> half_shell_vectors(const domain::Domain& domain);
/// Returns the same as kernels take them.
std::vector<std::array<float, 3>> half_shell_shifts(const domain::Domain& domain);
/// Returns the local cell at an offset from a cell, or −1 if another rank computes the pair by midpoint cells. Of
/// replicated data it returns the cell whoever does.
std::int32_t find_partner_cell(const domain::Domain& domain, std::int32_t cell, const CellOffset& offset);

/// Holds the expected sizes of the lists of a rank (md/memory).
struct PairCounts {
  int threads = 1;
  double slots = 0, cells = 0;  // owned and halo
  double rows = 0;              // clusters that have others near
  double cluster_pairs = 0;     // near, masked ones among them
  double masked_pairs = 0;
  double slots_near_share = 0;  // near what one thread lists
};

/// Makes lists of cluster pairs and keeps what they share.
class PairLister {
 public:
  PairLister(const domain::Domain& domain, ThreadPool& threads);

  /// Follows the domain's cells after a search. `range` (Å) is that of the pairs that will be listed, about.
  void rebuild(double range);

  /// Lists all cluster pairs with a pair of atoms closer than cutoff + reach_i + reach_j (Å; `reach` by slot), which
  /// may interact as long as no atom moves further than its reach. No such pair is missing.
  void build(std::span<const ClusterData> clusters, std::span<const float> reach, const ExcludedClusters& excluded,
             const TablePairs& table, std::span<const std::int32_t> type, double cutoff, PairList& list);

  /// Lists the entries with masks alone, near or not, for a device that finds the others: each cluster with itself and
  /// with its excluded partners.
  void build_masked(const ExcludedClusters& excluded, const TablePairs& table, std::span<const std::int32_t> type,
                    PairList& list);
  /// Returns the partner cells of a local cell.
  PartnerCells partners_of(std::int32_t cell) const;
  /// Tells whether a local cell and all its partners are owned.
  bool is_inner(std::int32_t cell) const { return is_inner_[static_cast<std::size_t>(cell)] != 0; }

  std::size_t bytes() const {
    return bounds_.bytes() + cell_box_.capacity() * sizeof(CellBox) + is_inner_.capacity() +
           entries_before_.capacity() * sizeof(std::int64_t);
  }
  /// Returns what bytes() would be with so many clusters and cells.
  static double planned_bytes(double clusters, double cells) {
    return ClusterBounds::planned_bytes(clusters) + cells * static_cast<double>(sizeof(CellBox) + sizeof(char));
  }

 private:
  void find_inner_cells();
  void share_pairs(double range);
  std::int64_t n_entries(std::int32_t cell, std::size_t offset, std::int32_t partner) const;
  void set_bounds(std::span<const ClusterData> clusters, std::span<const float> reach);
  template <class Function>
  void for_partners(std::int32_t cell, const Function& function) const;
  void find_neighbour_cells(std::int32_t cell, const PairList& list, NeighbourCells& cells) const;

  const domain::Domain& domain_;
  ThreadPool& threads_;
  ClusterBounds bounds_;
  std::vector<CellBox> cell_box_;
  std::vector<char> is_inner_;  // by local cell: whether it and all its partners are owned
  double inner_share_ = 0;      // fraction of owned cells
  // Of replicated data: entries that are expected, added up over all cells in an order that all ranks have.
  std::vector<std::int64_t> near_;                // thousandths of the pairs of clusters, by neighbour cell
  std::vector<std::int64_t> entries_before_;      // by local cell
  std::int64_t share_begin_ = 0, share_end_ = 0;  // of this rank
};

}  // namespace tessera::md::pair
