// Which clusters of four atoms are near which: the list that every pair scheme works from.
//
// A rank lists the cell pairs whose midpoint cell it owns (midpoint cell method, cell_grid.h), so each pair of atoms is
// listed on one rank. The list of a cell pair depends only on the two cells; a *segment* is one i-cluster against the
// near clusters of one other cell, in order, and is the largest piece that may be summed in floating point.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/md/domain/domain.h"

namespace tessera::md::pair {

inline constexpr int cluster_size = domain::cluster_size;

/// An i-cluster against a j-cluster where not all 16 pairs interact plainly. Bit 4·i + j of a mask is atom i of the
/// i-cluster with atom j of the j-cluster.
struct MaskedEntry {
  std::int32_t j_cluster;
  std::uint16_t interact;  // pairs that interact in full
  std::uint16_t excluded;  // pairs that the force field excludes: only the mesh's correction acts
  bool by_table;           // some pair of types has parameters of its own (NBFIX): look them up
};

struct Segment {
  std::int32_t i_cluster;
  std::int32_t shift;  // index into PairList::shifts
  std::int32_t masked_begin, masked_end;
  std::int32_t plain_begin, plain_end;
};

/// One thread's part of the list: whole i-clusters, segments of one i-cluster next to each other.
struct PairListPart {
  std::vector<Segment> segments;
  std::vector<MaskedEntry> masked;
  std::vector<std::int32_t> plain;          // j-clusters
  std::vector<std::int32_t> cluster_begin;  // first segment of each i-cluster that has any, and the end

  void clear();
};

struct PairList {
  std::vector<PairListPart> parts;
  std::vector<std::array<float, 3>> shifts;  // Å: centre of the j-cell minus centre of the i-cell

  std::int64_t n_entries() const;
  std::size_t bytes() const;
};

/// Excluded partners of each slot, as slots of this rank (both directions).
struct ExcludedSlots {
  std::vector<std::int32_t> begin;  // (slots+1)
  std::vector<std::int32_t> partner;
};

/// What a type needs to know about its pairs with parameters of their own.
struct TablePairs {
  std::int32_t n_types = 0;
  std::vector<std::uint8_t> needs_table;  // (types × types) 1: not by the rule
  bool any = false;
};

/// Coordinates and parameters of a cluster as kernels read them; coordinates in Å relative to the cell's centre.
struct alignas(32) ClusterData {
  float x[4], y[4], z[4];
  float q[4];        // charge × √(C·scale)
  float sigma[4];    // σ/2 or √σ
  float epsilon[4];  // √(24ε·scale)
};

/// Padding lies far away, each lane elsewhere, so that it never comes within a cut-off of anything.
inline constexpr float padding_distance = 1.0e6f;

/// Builds the list of all cluster pairs with an atom pair within `range` (Å). Exact: no pair within range is missing.
void build_pair_list(const domain::Domain& domain, std::span<const ClusterData> clusters, const ExcludedSlots& excluded,
                     const TablePairs& table, std::span<const std::int32_t> type, double range, ThreadPool& threads,
                     PairList& list);

}  // namespace tessera::md::pair
