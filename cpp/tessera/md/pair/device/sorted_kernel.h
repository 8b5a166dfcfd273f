// Declares what the kernels read and write that follow a search of a device: clusters, partner cells, and what is listed
// with masks. All pointers are to the device's memory.
#pragma once

#include <cstdint>

#include "tessera/base/box.h"
#include "tessera/md/pair/clusters/cluster.h"
#include "tessera/md/pair/clusters/cluster_distance.h"
#include "tessera/md/pair/device/device_list.h"
#include "tessera/md/pair/device/list_kernel.h"

namespace tessera::md::pair {

/// What moves the parameters of atoms to their slots, and makes their coordinates.
struct ClusterArguments {
  std::int32_t n_slots;
  SingleTriangular to_length;
  const std::int32_t* source;   // by slot (Renumbering)
  const Fraction* position;     // by slot
  const std::int32_t* cell_of;  // by cluster
  const Fraction* cell_centre;  // by cell
  float padding_epsilon;        // PairData::padding_epsilon
  const ClusterData* from;      // before
  ClusterData* to;
  Fraction* centre;  // of each cluster's cell
};

/// What finds the clusters of partner cells.
struct PartnerArguments {
  std::int32_t n_cells;
  const std::int32_t* partner;        // (cells,64) the cell at each offset of the half shell; −1: none
  const std::int32_t* first_cluster;  // (cells+1)
  PartnerCells* partners;             // by cell
};

/// Counts what was listed with masks, and the excluded partners of clusters. There may be more than there is room for.
struct MaskCounts {
  std::int32_t masked, partners;
};

/// The excluded partners of a cluster's four atoms, each counted by itself, are no more than these.
inline constexpr std::int32_t most_excluded = 256;

/// What lists clusters with themselves and with their excluded partners, as PairLister::build_masked() does.
struct MaskArguments {
  std::int32_t n_clusters;
  const std::int32_t* atom;            // by slot; −1: padding
  const std::int32_t* slot_of;         // by atom
  const std::int32_t* cell_of;         // by cluster
  const PartnerCells* partners;        // by cell
  const std::int32_t* excluded_begin;  // (atoms+1)
  const std::int32_t* excluded_atom;   // atoms that are excluded for each atom, both ways
  DeviceRow* rows;                     // by cluster
  DeviceEntry* masked;
  std::int32_t most_masked;
  ExcludedRange* excluded;  // by cluster
  std::int32_t* partner;
  std::int32_t most_partners;
  MaskCounts* counts;
  TableOnDevice table;
};

}  // namespace tessera::md::pair
