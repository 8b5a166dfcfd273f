// Which clusters of four atoms are near which: the list that every pair scheme works from.
//
// A rank lists the cell pairs whose midpoint cell it owns (midpoint cell method, cell_grid.h), so each pair of atoms is
// listed on one rank. A *row* is one i-cluster with all that is near it, in any order: what is summed over entries is
// summed in fixed point.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/cluster_distance.h"
#include "tessera/md/uninitialised_vector.h"

namespace tessera::md::pair {

/// An i-cluster against a j-cluster where not all 16 pairs interact plainly. Bit 4·i + j of a mask is atom i of the
/// i-cluster with atom j of the j-cluster.
struct MaskedEntry {
  PairEntry j;
  std::uint16_t interact;  // pairs that interact in full
  std::uint16_t excluded;  // pairs that the force field excludes: only the mesh's correction acts
  bool by_table;           // some pair of types has parameters of its own (NBFIX): look them up
};

/// Its entries end where those of the next row begin.
struct Row {
  std::int32_t i_cluster;
  std::int64_t masked_begin, plain_begin;
};

/// One thread's part of the list.
struct PairListPart {
  std::vector<Row> rows;  // and one more, which ends the last
  std::vector<MaskedEntry> masked;
  UninitialisedVector<PairEntry> plain;  // and room beyond the last row's end

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
  std::vector<PairListPart> inner, outer;    // by thread: of cells all of whose partners are owned, and of the others
  std::vector<std::array<float, 3>> shifts;  // Å, by neighbour cell: its centre minus that of the i-cluster's cell

  std::int64_t n_entries() const;
  std::size_t bytes() const;
};

/// Which atoms of a cluster the force field excludes from which of others, both ways; by cluster, in no order.
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

/// What a type needs to know about its pairs with parameters of their own.
struct TablePairs {
  std::int32_t n_types = 0;
  std::vector<std::uint8_t> needs_table;  // (types × types) 1: not by the rule
  std::vector<std::uint8_t> has_table;    // (types) 1: with some type
  bool any = false;
};

/// Å, by which lists reach further than needed: for distances in single precision, generously.
inline constexpr double list_rounding = 2e-3;

/// One offset of the half shell of cells around a cell: j-cell = i-cell + offset, midpoint cell = i-cell + midpoint.
struct CellOffset {
  Index3 cell, midpoint;
};
/// Half of the 5 × 5 × 5 neighbourhood, the cell itself first; n_neighbour_cells of them.
const std::vector<CellOffset>& half_shell();
/// The vectors of the offsets in the box as it is, Å.
std::vector<std::array<float, 3>> half_shell_shifts(const domain::Domain& domain);
/// The local cell at an offset from one, or −1 where another rank has the pair.
std::int32_t find_partner_cell(const domain::Domain& domain, std::int32_t cell, const CellOffset& offset);

/// Makes lists of cluster pairs; holds what lasts between lists.
class PairLister {
 public:
  PairLister(const domain::Domain& domain, ThreadPool& threads);

  /// Lists all cluster pairs with a pair of atoms closer than cutoff + reach_i + reach_j (Å; `reach` by slot): those
  /// that may interact as long as no atom moves further than its reach. Exact: no pair is missing.
  void build(std::span<const ClusterData> clusters, std::span<const float> reach, const ExcludedClusters& excluded,
             const TablePairs& table, std::span<const std::int32_t> type, double cutoff, PairList& list);

  std::size_t bytes() const { return bounds_.bytes() + cell_box_.capacity() * sizeof(CellBox) + is_inner_.capacity(); }
  /// The same with so many clusters and cells.
  static double planned_bytes(double clusters, double cells) {
    return ClusterBounds::planned_bytes(clusters) + cells * static_cast<double>(sizeof(CellBox) + sizeof(char));
  }

 private:
  void set_bounds(std::span<const ClusterData> clusters, std::span<const float> reach);
  void find_neighbour_cells(std::int32_t cell, const PairList& list, NeighbourCells& cells) const;

  const domain::Domain& domain_;
  ThreadPool& threads_;
  ClusterBounds bounds_;
  std::vector<CellBox> cell_box_;
  std::vector<char> is_inner_;  // by local cell: it and all its partners are owned
  double inner_share_ = 0;      // of owned cells
};

}  // namespace tessera::md::pair
