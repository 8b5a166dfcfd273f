// Holds a pair list as kernels of a device read it. Entries, which decide bits, are those of the engine's list. The
// device finds those without masks by itself (list_kernel-inl.h).
//
// Those without masks are gathered in tiles: up to eight i-clusters of one cell share the j-clusters that are near any of
// them, so that a device reads a j-cluster and adds to its forces once for all of them. Entries with masks, which are few,
// stay in rows; within a row those whose parameters come from a table (NBFIX) stand first, as a warp computes two entries
// alike. Entries without masks whose parameters come from a table have a row each.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

/// An entry with masks (MaskedEntry): those of pairs that interact in the lower sixteen bits, of excluded ones above.
struct alignas(8) DeviceEntry {
  PairEntry j;
  std::uint32_t masks;
};

/// An i-cluster with its entries with masks, first those whose parameters come from a table.
struct DeviceRow {
  std::int32_t i_cluster;
  std::int64_t by_table_begin, masked_begin, end;
};

inline constexpr int clusters_of_tile = 8;
/// A tile has so many entries at most, which one warp computes: with more, some warps would end later than others.
inline constexpr int entries_of_tile = 16;

/// A j-cluster with those i-clusters of its tile, bit by bit, to which it is near.
struct alignas(8) TileEntry {
  PairEntry j;
  std::uint32_t i_clusters;
};

struct DeviceTile {
  std::int32_t i_cluster[clusters_of_tile];  // where there are fewer, the first one again
  std::int64_t begin;                        // of its entries
  std::int32_t n;
};

/// Holds entries with masks by row.
struct MaskedRows {
  std::vector<DeviceRow> rows;
  std::vector<DeviceEntry> masked;
  std::int64_t n_inner_rows = 0;  // which come first
};

/// Collects the entries with masks of all parts of a list, first those of its inner parts.
MaskedRows masked_rows(const PairList& list);

}  // namespace tessera::md::pair
