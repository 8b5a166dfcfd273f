// Holds a pair list as kernels of a device read it. Entries, which decide bits, are those of the engine's list. The
// device finds those without masks by itself (list_kernel-inl.h), unless types have parameters of their own.
//
// Those without masks are gathered in tiles: up to eight i-clusters, which are mostly of one cell, share the j-clusters
// that are near any of them, so that a device reads a j-cluster and adds to its forces once for all of them. Entries with
// masks, which are few, stay in rows; within a row those whose parameters come from a table stand first, as a warp
// computes two entries alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/device/device.h"
#include "tessera/md/domain/domain.h"
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

/// Refers to a list in memory from which a device copies.
struct DeviceList {
  std::span<const DeviceRow> rows;
  std::span<const DeviceEntry> masked;
  std::span<const DeviceTile> tiles;
  std::span<const TileEntry> tile_entries;
  std::int64_t n_inner_rows = 0, n_inner_tiles = 0;  // which come first

  std::int64_t n_rows() const { return std::ssize(rows); }
  std::int64_t n_tiles() const { return std::ssize(tiles); }
};

/// Holds a part of a list.
struct DeviceListPart {
  std::vector<DeviceRow> rows;
  std::vector<DeviceEntry> masked;
  std::vector<DeviceTile> tiles;
  std::vector<TileEntry> tile_entries;
};

/// Makes lists for a device, in memory that it keeps.
class DeviceLister {
 public:
  explicit DeviceLister(const device::Device& device)
      : device_(device), rows_(device), masked_(device), tiles_(device), tile_entries_(device) {}

  /// Collects all parts of a list, first its inner parts. The next list takes the place of this one. Throws RunError.
  DeviceList make(const PairList& list, const domain::Domain& domain, ThreadPool& threads);
  std::size_t bytes() const;

 private:
  const device::Device& device_;
  std::vector<DeviceListPart> parts_;               // as they come
  std::vector<std::vector<std::uint32_t>> places_;  // by thread and j-cluster: its last entry, from the tile's first on
  device::HostArray<DeviceRow> rows_;
  device::HostArray<DeviceEntry> masked_;
  device::HostArray<DeviceTile> tiles_;
  device::HostArray<TileEntry> tile_entries_;
};

}  // namespace tessera::md::pair
