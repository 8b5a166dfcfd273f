// Lists near clusters on a device, as tiles. A warp has up to eight i-clusters of a cell. Clusters of neighbour cells whose
// boxes are near are gathered until there is one for each lane; then a lane looks whether any two atoms of its cluster and
// of each i-cluster are closer than the cut-off and their reaches. What is listed beyond that costs time but no bit, as
// pairs beyond the cut-off add nothing.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/pair/device/list_kernel.h"
#include "tessera/md/pair/device/pair_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// The atoms of a cluster in each lane, and how far they may move.
struct ClusterOfLanes {
  V x[cluster_size], y[cluster_size], z[cluster_size], reach[cluster_size];

  HWY_INLINE ClusterOfLanes(const ListArguments& a, VI cluster) {
    HWY_UNROLL(4)
    for (int k = 0; k < cluster_size; ++k) {
      const VI atom = Integer(k);
      x[k] = FieldOf(&ClusterData::x, a.clusters, cluster, atom);
      y[k] = FieldOf(&ClusterData::y, a.clusters, cluster, atom);
      z[k] = FieldOf(&ClusterData::z, a.clusters, cluster, atom);
      reach[k] = hn::GatherIndex(D(), a.reach, hn::Add(hn::ShiftLeft<2>(cluster), atom));
    }
  }
  HWY_INLINE void MoveBy(V dx, V dy, V dz) {
    HWY_UNROLL(4)
    for (int k = 0; k < cluster_size; ++k) {
      x[k] = hn::Add(x[k], dx);
      y[k] = hn::Add(y[k], dy);
      z[k] = hn::Add(z[k], dz);
    }
  }
};

/// A box around atoms in each lane, without those of padding, which are far away and come last.
struct BoxOfLanes {
  V lower[3], upper[3], reach;

  HWY_INLINE explicit BoxOfLanes(const ClusterOfLanes& c) {
    lower[0] = upper[0] = c.x[0];
    lower[1] = upper[1] = c.y[0];
    lower[2] = upper[2] = c.z[0];
    reach = c.reach[0];
    Include(c);
  }
  HWY_INLINE void Include(const ClusterOfLanes& c) {
    HWY_UNROLL(4)
    for (int k = 0; k < cluster_size; ++k) {
      const M exists = hn::Lt(c.x[k], set(0.5f * padding_distance));
      const V place[3] = {c.x[k], c.y[k], c.z[k]};
      HWY_UNROLL(3)
      for (int d = 0; d < 3; ++d) {
        lower[d] = hn::IfThenElse(exists, hn::Min(lower[d], place[d]), lower[d]);
        upper[d] = hn::IfThenElse(exists, hn::Max(upper[d], place[d]), upper[d]);
      }
      reach = hn::IfThenElse(exists, hn::Max(reach, c.reach[k]), reach);
    }
  }
  /// Tells whether atoms in both boxes may be closer than the cut-off and their reaches.
  HWY_INLINE M IsNear(const BoxOfLanes& other, V cutoff) const {
    V distance2 = hn::Zero(D());
    HWY_UNROLL(3)
    for (int d = 0; d < 3; ++d) {
      const V apart = hn::Max(hn::Sub(lower[d], other.upper[d]), hn::Sub(other.lower[d], upper[d]));
      const V gap = hn::Max(apart, hn::Zero(D()));
      distance2 = hn::Add(distance2, hn::Mul(gap, gap));
    }
    const V range = hn::Add(cutoff, hn::Add(reach, other.reach));
    return hn::Lt(distance2, hn::Mul(range, range));
  }
};

/// Tells which clusters have a type with a table.
HWY_INLINE M HasTableType(const TableOnDevice& table, VI cluster) {
  M has = hn::Lt(Integer(1), Integer(0));
  if (table.needs_table == nullptr) return has;
  for (std::int32_t k = 0; k < cluster_size; ++k) {
    const VI type = hn::GatherIndex(DI(), table.type + k, hn::ShiftLeft<2>(cluster));
    const VI found = hn::GatherIndex(DI(), table.has_table, hn::Max(type, Integer(0)));
    has = hn::Or(has, hn::And(hn::Ge(type, Integer(0)), hn::Ne(found, Integer(0))));
  }
  return has;
}

/// Tells which clusters have an atom that needs the table with an atom of one cluster, as TablePairs::concern() does.
HWY_INLINE M NeedsTable(const TableOnDevice& table, std::int32_t one, VI cluster) {
  M needs = hn::Lt(Integer(1), Integer(0));
  if (table.needs_table == nullptr) return needs;
  for (std::int32_t i = 0; i < cluster_size; ++i) {
    const std::int32_t type = table.type[cluster_size * one + i];
    if (type < 0 || table.has_table[type] == 0) continue;
    for (std::int32_t k = 0; k < cluster_size; ++k) {
      const VI other = hn::GatherIndex(DI(), table.type + k, hn::ShiftLeft<2>(cluster));
      const VI found = hn::GatherIndex(DI(), table.needs_table + type * table.n_types, hn::Max(other, Integer(0)));
      needs = hn::Or(needs, hn::And(hn::Ge(other, Integer(0)), hn::Ne(found, Integer(0))));
    }
  }
  return needs;
}

struct ListKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 4;
  using Arguments = ListArguments;
  struct OfWarp {
    PairEntry candidate[2 * hn::warp_size];
    TileEntry entry[entries_of_tile + hn::warp_size];
  };
  struct Shared {
    OfWarp of[warps_of_block];
  };

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared& shared, const simd::Place& place) {
    if (place.OfAll() < a.n_groups) Lister{a, shared.of[place.warp], a.groups[place.OfAll()]}.Run();
  }

 private:
  struct Lister {
    const Arguments& a;
    OfWarp& shared;
    const ClusterGroup& group;
    std::int32_t n_candidates = 0, n_entries = 0, n_listed = 0;

    HWY_INLINE void Run() {
      BoxOfLanes box(ClusterOfLanes(a, Integer(group.first)));
      for (std::int32_t k = 1; k < group.n; ++k) box.Include(ClusterOfLanes(a, Integer(group.first + k)));
      const PartnerCells& cells = a.partners[group.cell];
      for (std::int32_t cell = 0; cell < n_neighbour_cells; ++cell)
        for (std::int32_t first = cells.begin[cell]; first < cells.end[cell]; first += hn::warp_size)
          AddCandidates(box, cell, first, cells.end[cell]);
      if (n_candidates > 0) Test(n_candidates);
      if (n_entries > 0) WriteTile(n_entries);
      simd::AtomicAdd(hn::Set(DL(), n_listed), &a.counts->entries, Integer(0), simd::IsFirstLane());
    }

    /// Adds those of the clusters [first, end), a lane's each, whose boxes are near.
    HWY_INLINE void AddCandidates(const BoxOfLanes& box, std::int32_t cell, std::int32_t first, std::int32_t end) {
      const VI any = hn::Add(simd::LaneNumbers(), Integer(first)), cluster = hn::Min(any, Integer(end - 1));
      ClusterOfLanes atoms(a, cluster);
      atoms.MoveBy(set(a.shifts[3 * cell]), set(a.shifts[3 * cell + 1]), set(a.shifts[3 * cell + 2]));
      const M found = hn::And(hn::Lt(any, Integer(end)), BoxOfLanes(atoms).IsNear(box, set(a.cutoff)));
      const VI entry = hn::Or(hn::ShiftLeft<cell_bits>(cluster), Integer(cell));
      simd::Scatter(hn::BitCast(DU(), entry), shared.candidate,
                    hn::Add(Integer(n_candidates), simd::CountBefore(found)), found);
      n_candidates += simd::CountTrue(found);
      simd::SyncWarp();
      if (n_candidates < hn::warp_size) return;
      Test(hn::warp_size);
      n_candidates -= hn::warp_size;
      MoveToFront(hn::warp_size, n_candidates, [&](VI from, VI to, M moves) HWY_ATTR {
        simd::Scatter(hn::GatherIndex(DU(), shared.candidate, from), shared.candidate, to, moves);
      });
    }

    /// Moves n values, no more than there are lanes, from a place in memory that a warp shares to its front.
    template <class Move>
    static HWY_INLINE void MoveToFront(std::int32_t first, std::int32_t n, Move move) {
      const VI to = simd::LaneNumbers();
      simd::SyncWarp();
      move(hn::Add(to, Integer(first)), to, hn::Lt(to, Integer(n)));
      simd::SyncWarp();
    }

    /// Adds an entry for each of the first n candidates that is near some i-cluster.
    HWY_INLINE void Test(std::int32_t n) {
      const VI lane = simd::LaneNumbers();
      const M exists = hn::Lt(lane, Integer(n));
      const VU entry = hn::GatherIndex(DU(), shared.candidate, hn::Min(lane, Integer(n - 1)));
      const VI cluster = hn::BitCast(DI(), hn::ShiftRight<cell_bits>(entry));
      const VI cell = hn::And(hn::BitCast(DI(), entry), Integer((1 << cell_bits) - 1));
      const VI shift = hn::Mul(cell, Integer(3));
      ClusterOfLanes j(a, cluster);
      j.MoveBy(hn::GatherIndex(D(), a.shifts, shift), hn::GatherIndex(D(), a.shifts + 1, shift),
               hn::GatherIndex(D(), a.shifts + 2, shift));
      const M is_elsewhere = hn::Ne(cell, Integer(0));
      VI i_clusters = hn::Zero(DI());
      const M may_need_table = hn::And(exists, HasTableType(a.table, cluster));
      for (std::int32_t k = 0; k < group.n; ++k) {
        const std::int32_t i = group.first + k;
        // Pairs of the cell's own clusters are listed once, and those with masks elsewhere.
        M near =
            hn::And(exists, hn::And(hn::Ne(cluster, Integer(i)), hn::Or(is_elsewhere, hn::Gt(cluster, Integer(i)))));
        const ExcludedRange excluded = a.excluded[i];
        for (std::int32_t e = excluded.begin; e < excluded.end; ++e)
          near = hn::And(near, hn::Ne(cluster, Integer(a.partner[e])));
        near = hn::And(near, IsNear(ClusterOfLanes(a, Integer(i)), j));
        const M may = hn::And(near, may_need_table);
        if (!hn::AllFalse(DI(), may)) {
          const M by_table = hn::And(may, NeedsTable(a.table, i, cluster));
          WriteByTable(i, entry, by_table);
          near = hn::AndNot(by_table, near);
          n_listed += simd::CountTrue(by_table);
        }
        i_clusters = hn::Or(i_clusters, hn::IfThenElseZero(near, Integer(1 << k)));
        n_listed += simd::CountTrue(near);
      }
      const M found = hn::Ne(i_clusters, hn::Zero(DI()));
      const VI to = hn::ShiftLeft<1>(hn::Add(Integer(n_entries), simd::CountBefore(found)));
      simd::Scatter(entry, &shared.entry->j, to, found);
      simd::Scatter(hn::BitCast(DU(), i_clusters), &shared.entry->i_clusters, to, found);
      n_entries += simd::CountTrue(found);
      simd::SyncWarp();
      while (n_entries >= entries_of_tile) {
        WriteTile(entries_of_tile);
        n_entries -= entries_of_tile;
        MoveToFront(entries_of_tile, n_entries, [&](VI from, VI place, M moves) HWY_ATTR {
          MoveEntries(shared.entry, from, shared.entry, place, moves);
        });
      }
    }

    /// Tells whether any two atoms are closer than the cut-off and their reaches.
    HWY_INLINE M IsNear(const ClusterOfLanes& i, const ClusterOfLanes& j) const {
      M near = hn::Lt(set(1.0f), set(0.0f));
      HWY_UNROLL(4)
      for (int k = 0; k < cluster_size; ++k) {
        const V range_i = hn::Add(set(a.cutoff), i.reach[k]);
        HWY_UNROLL(4)
        for (int l = 0; l < cluster_size; ++l) {
          const V x = hn::Sub(i.x[k], j.x[l]), y = hn::Sub(i.y[k], j.y[l]), z = hn::Sub(i.z[k], j.z[l]);
          const V range = hn::Add(range_i, j.reach[l]);
          const V distance2 = simd::MulAdd(x, x, simd::MulAdd(y, y, hn::Mul(z, z)));
          near = hn::Or(near, hn::Lt(distance2, hn::Mul(range, range)));
        }
      }
      return near;
    }

    static HWY_INLINE void MoveEntries(const TileEntry* source, VI from, TileEntry* target, VI to, M moves) {
      const VI source_at = hn::ShiftLeft<1>(hn::IfThenElseZero(moves, from)), target_at = hn::ShiftLeft<1>(to);
      const VU j = hn::GatherIndex(DU(), &source->j, source_at),
               bits = hn::GatherIndex(DU(), &source->i_clusters, source_at);
      simd::SyncWarp();  // some may go where others were
      simd::Scatter(j, &target->j, target_at, moves);
      simd::Scatter(bits, &target->i_clusters, target_at, moves);
    }

    /// Writes entries of an i-cluster whose parameters come from a table, a row to each, where there is room for them.
    HWY_INLINE void WriteByTable(std::int32_t i, const VU& entry, M by_table) const {
      const VI number = simd::TakeNumbers(&a.counts->by_table, by_table);
      const M has_room = hn::And(by_table, hn::Lt(number, Integer(a.most_by_table)));
      constexpr std::int32_t words = sizeof(DeviceRow) / sizeof(std::int32_t);
      const VI at = hn::ShiftLeft<1>(number), row = hn::Mul(number, Integer(words)),
               wide = hn::Mul(number, Integer(words / 2));
      simd::Scatter(entry, &a.table_entries->j, at, has_room);
      simd::Scatter(hn::Set(DU(), 0xFFFF), &a.table_entries->masks, at, has_room);
      const VL begin = hn::PromoteTo(DL(), number), end = hn::Add(begin, hn::Set(DL(), 1));
      simd::Scatter(Integer(i), &a.table_rows->i_cluster, row, has_room);
      simd::Scatter(begin, &a.table_rows->by_table_begin, wide, has_room);
      simd::Scatter(end, &a.table_rows->masked_begin, wide, has_room);
      simd::Scatter(end, &a.table_rows->end, wide, has_room);
    }

    /// Writes a tile with the first n entries, if there is room for it.
    HWY_INLINE void WriteTile(std::int32_t n) const {
      const std::int32_t number = simd::OfFirst(simd::TakeNumbers(&a.counts->tiles, simd::IsFirstLane()));
      if (number >= a.most_tiles) return;
      const VI lane = simd::LaneNumbers();
      DeviceTile& tile = a.tiles[number];
      const VI i_cluster = hn::Add(Integer(group.first), hn::IfThenElseZero(hn::Lt(lane, Integer(group.n)), lane));
      const std::int64_t begin = std::int64_t{entries_of_tile} * number;
      simd::Scatter(i_cluster, tile.i_cluster, lane, hn::Lt(lane, Integer(clusters_of_tile)));
      simd::Scatter(hn::Set(DL(), begin), &tile.begin, Integer(0), simd::IsFirstLane());
      simd::Scatter(Integer(n), &tile.n, Integer(0), simd::IsFirstLane());
      MoveEntries(shared.entry, lane, a.entries + begin, lane, hn::Lt(lane, Integer(n)));
    }
  };
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
