// Declares what the kernel reads and writes that lists near clusters. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/md/pair/clusters/cluster.h"
#include "tessera/md/pair/device/device_list.h"

namespace tessera::md::pair {

/// Neighbouring clusters of one cell, the i-clusters of tiles.
struct ClusterGroup {
  std::int32_t cell, first, n;  // at most clusters_of_tile
};

/// Counts what was listed.
struct ListCounts {
  std::int64_t entries;          // pairs of clusters
  std::int32_t tiles, by_table;  // there may be more than there is room for
};

/// Types that have pairs with parameters of their own (TablePairs).
struct TableOnDevice {
  std::int32_t n_types = 0;
  const std::int32_t* needs_table = nullptr;  // (types,types) 1: a pair has; null where there is none
  const std::int32_t* has_table = nullptr;    // (types) 1: in some pair
  const std::int32_t* type = nullptr;         // by slot; negative: padding
};

/// The excluded partners of a cluster, by their places in a list.
struct ExcludedRange {
  std::int32_t begin, end;
};

struct ListArguments {
  std::int32_t n_groups;
  const ClusterGroup* groups;
  const PartnerCells* partners;   // by local cell
  const ExcludedRange* excluded;  // by cluster
  const std::int32_t* partner;    // excluded clusters, which are listed with masks elsewhere
  const ClusterData* clusters;
  const float* reach;   // by slot, Å
  const float* shifts;  // (neighbour cells,3) Å
  float cutoff;         // Å
  DeviceTile* tiles;
  TileEntry* entries;  // entries_of_tile for each tile
  std::int32_t most_tiles;
  ListCounts* counts;
  // Entries whose parameters come from a table have rows of their own, one each.
  TableOnDevice table;
  DeviceRow* table_rows;
  DeviceEntry* table_entries;
  std::int32_t most_by_table;
};

}  // namespace tessera::md::pair
