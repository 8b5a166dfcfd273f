// Holds a pair list as kernels of a device read it: that of the engine, whose entries, which decide bits, stay as they
// are. Within a row those whose parameters come from a table stand first, as a warp computes two entries alike.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/pair/pair_list.h"

namespace tessera::md::pair {

/// An entry with masks (MaskedEntry): those of pairs that interact in the lower sixteen bits, of excluded ones above.
struct DeviceEntry {
  PairEntry j;
  std::uint32_t masks;
};

/// A row's entries with masks end where those of the next row begin, as do its others.
struct DeviceRow {
  std::int32_t i_cluster;
  std::int64_t by_table_begin, masked_begin, plain_begin;
};

struct DeviceList {
  std::vector<DeviceRow> rows;  // one more row marks the end of the last
  std::vector<DeviceEntry> masked;
  std::vector<PairEntry> plain;
  std::int64_t n_inner_rows = 0;  // which come first

  std::int64_t n_rows() const { return std::ssize(rows) - 1; }
};

/// Collects the rows of all parts of a list, first those of its inner parts.
DeviceList make_device_list(const PairList& list);

}  // namespace tessera::md::pair
