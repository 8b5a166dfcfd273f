#include "tessera/md/pair/device/device_list.h"

#include <algorithm>
#include <ranges>

#include "tessera/base/index.h"

namespace tessera::md::pair {

namespace {

/// Returns the first cluster after those of a cluster's cell.
std::int32_t end_of_cell(const domain::Domain& domain, std::int32_t cluster) {
  const auto cells = std::views::iota(0, domain.n_cells());
  const auto next =
      std::ranges::upper_bound(cells, cluster, {}, [&](std::int32_t cell) { return domain.first_cluster(cell); });
  return domain.first_cluster(next == cells.end() ? domain.n_cells() : *next);
}

/// Writes one part of a list.
class Writer {
 public:
  Writer(const PairListPart& part, const domain::Domain& domain, std::vector<std::uint32_t>& places,
         DeviceListPart& made)
      : part_(part), domain_(domain), places_(places), made_(made) {}

  void write() {
    made_.rows.clear();
    made_.masked.clear();
    made_.tiles.clear();
    made_.tile_entries.clear();
    for (std::size_t row = 0; row < part_.n_rows(); ++row) add_masked(row);
    for (std::size_t row = 0; row < part_.n_rows();) row = add_tiles_of_cell(row);
  }

 private:
  void add_masked(std::size_t row) {
    const auto entries = part_.masked_of(row);
    if (entries.empty()) return;
    const auto add = [&](bool by_table) {
      const auto begin = std::ssize(made_.masked);
      for (const auto& entry : entries)
        if (entry.by_table == by_table)
          made_.masked.push_back({entry.j, entry.interact | static_cast<std::uint32_t>(entry.excluded) << 16});
      return begin;
    };
    const auto by_table_begin = add(true), masked_begin = add(false);
    made_.rows.push_back({part_.rows[row].i_cluster, by_table_begin, masked_begin, std::ssize(made_.masked)});
  }

  /// Makes tiles of the rows of one cell, equally many of each. Returns the first row of the next cell.
  std::size_t add_tiles_of_cell(std::size_t begin) {
    const auto end_of = end_of_cell(domain_, part_.rows[begin].i_cluster);
    auto end = begin + 1;
    while (end < part_.n_rows() && part_.rows[end].i_cluster < end_of &&
           part_.rows[end].i_cluster > part_.rows[begin].i_cluster)
      ++end;
    const auto n = end - begin, n_tiles = (n + clusters_of_tile - 1) / clusters_of_tile;
    for (std::size_t tile = 0; tile < n_tiles; ++tile)
      add_tile(begin + n * tile / n_tiles, begin + n * (tile + 1) / n_tiles);
    return end;
  }

  void add_tile(std::size_t begin, std::size_t end) {
    DeviceTile tile{.i_cluster = {}, .begin = std::ssize(made_.tile_entries), .n = entries_of_tile};
    std::ranges::fill(tile.i_cluster, part_.rows[begin].i_cluster);
    auto& entries = made_.tile_entries;
    const auto first = entries.size();
    for (auto row = begin; row < end; ++row) {
      tile.i_cluster[row - begin] = part_.rows[row].i_cluster;
      const auto bit = 1U << (row - begin);
      for (const auto j : part_.plain_of(row)) {
        auto& place = places_[at(cluster_of(j))];
        if (first + place < entries.size() && entries[first + place].j == j) {
          entries[first + place].i_clusters |= bit;
        } else {
          place = static_cast<std::uint32_t>(entries.size() - first);
          entries.push_back({j, bit});
        }
      }
    }
    for (const auto n = std::ssize(entries); tile.begin < n; tile.begin += entries_of_tile) {
      tile.n = static_cast<std::int32_t>(std::min<std::int64_t>(entries_of_tile, n - tile.begin));
      made_.tiles.push_back(tile);
    }
  }

  const PairListPart& part_;
  const domain::Domain& domain_;
  std::vector<std::uint32_t>& places_;
  DeviceListPart& made_;
};

}  // namespace

DeviceList DeviceLister::make(const PairList& list, const domain::Domain& domain, ThreadPool& threads) {
  std::vector<const PairListPart*> parts;
  for (const auto* half : {&list.inner, &list.outer})
    for (const auto& part : *half) parts.push_back(&part);
  parts_.resize(parts.size());
  places_.resize(at(threads.size()));
  const auto for_parts = [&](const auto& function) {
    threads.run([&](int thread) {
      for (auto part = at(thread); part < parts.size(); part += at(threads.size())) function(part, at(thread));
    });
  };
  for_parts([&](std::size_t part, std::size_t thread) {
    places_[thread].resize(at(domain.n_clusters()));
    Writer(*parts[part], domain, places_[thread], parts_[part]).write();
  });

  // Each part begins where the one before ends.
  struct Begin {
    std::size_t row = 0, masked = 0, tile = 0, entry = 0;
  };
  std::vector<Begin> begin(parts.size() + 1);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto& made = parts_[part];
    begin[part + 1] = {begin[part].row + made.rows.size(), begin[part].masked + made.masked.size(),
                       begin[part].tile + made.tiles.size(), begin[part].entry + made.tile_entries.size()};
  }
  const auto& end = begin.back();
  rows_.resize(device_, end.row);
  masked_.resize(device_, end.masked);
  tiles_.resize(device_, end.tile);
  tile_entries_.resize(device_, end.entry);
  for_parts([&](std::size_t part, std::size_t) {
    const auto& made = parts_[part];
    const auto& first = begin[part];
    const auto masked = static_cast<std::int64_t>(first.masked), entry = static_cast<std::int64_t>(first.entry);
    std::ranges::transform(made.rows, rows_.get().begin() + std::ptrdiff_t(first.row), [&](DeviceRow row) {
      return DeviceRow{row.i_cluster, row.by_table_begin + masked, row.masked_begin + masked, row.end + masked};
    });
    std::ranges::transform(made.tiles, tiles_.get().begin() + std::ptrdiff_t(first.tile), [&](DeviceTile tile) {
      tile.begin += entry;
      return tile;
    });
    std::ranges::copy(made.masked, masked_.get().begin() + std::ptrdiff_t(first.masked));
    std::ranges::copy(made.tile_entries, tile_entries_.get().begin() + std::ptrdiff_t(first.entry));
  });
  const auto& outer = begin[list.inner.size()];
  return {.rows = rows_.get(),
          .masked = masked_.get(),
          .tiles = tiles_.get(),
          .tile_entries = tile_entries_.get(),
          .n_inner_rows = static_cast<std::int64_t>(outer.row),
          .n_inner_tiles = static_cast<std::int64_t>(outer.tile)};
}

std::size_t DeviceLister::bytes() const {
  auto bytes = rows_.bytes() + masked_.bytes() + tiles_.bytes() + tile_entries_.bytes();
  for (const auto& part : parts_)
    bytes += part.rows.capacity() * sizeof(DeviceRow) + part.masked.capacity() * sizeof(DeviceEntry) +
             part.tiles.capacity() * sizeof(DeviceTile) + part.tile_entries.capacity() * sizeof(TileEntry);
  for (const auto& places : places_) bytes += places.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace tessera::md::pair
