// Follows a search of a device: moves the parameters of clusters, and lists clusters with themselves and with their excluded
// partners. The order of what is listed differs from run to run; forces are sums of integers.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/domain/place-inl.h"
#include "tessera/md/pair/device/list_kernel-inl.h"
#include "tessera/md/pair/device/pair_kernel-inl.h"
#include "tessera/md/pair/device/sorted_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// A slot to a lane.
struct ClusterKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = ClusterArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](VI slot, M exists) HWY_ATTR { Move(a, slot, exists); });
  }

 private:
  static HWY_INLINE void Move(const Arguments& a, VI slot, M exists) {
    const VI cluster = hn::ShiftRight<2>(slot), atom = hn::And(slot, Integer(cluster_size - 1));
    const VI source = hn::GatherIndex(DI(), a.source, slot), before = hn::Max(source, Integer(0));
    const M is_atom = hn::Ge(source, Integer(0));
    const VI of_cell = hn::Mul(hn::GatherIndex(DI(), a.cell_of, cluster), Integer(3)),
             to_centre = hn::Mul(cluster, Integer(3));
    const auto apart = [&](const std::int32_t& position, const std::int32_t& cell_centre,
                           std::int32_t& centre) HWY_ATTR {
      const VI here = hn::GatherIndex(DI(), &cell_centre, of_cell);
      simd::Scatter(here, &centre, to_centre, hn::And(exists, hn::Eq(atom, Integer(0))));
      return hn::ConvertTo(D(), hn::Sub(hn::GatherIndex(DI(), &position, hn::Mul(slot, Integer(3))), here));
    };
    const V x = apart(a.position->x, a.cell_centre->x, a.centre->x),
            y = apart(a.position->y, a.cell_centre->y, a.centre->y),
            z = apart(a.position->z, a.cell_centre->z, a.centre->z);
    const auto now = domain::HWY_NAMESPACE::PlaceOf(D(), a.to_length, x, y, z);
    const V far_away = hn::Mul(set(padding_distance), hn::ConvertTo(D(), hn::Add(atom, Integer(1))));
    const VI to = IndexOf<ClusterData>(cluster, atom);
    simd::Scatter(hn::IfThenElse(is_atom, now.x, far_away), a.to->x, to, exists);
    simd::Scatter(hn::IfThenElse(is_atom, now.y, far_away), a.to->y, to, exists);
    simd::Scatter(hn::IfThenElse(is_atom, now.z, far_away), a.to->z, to, exists);
    const auto parameter = [&](const float(ClusterData::*field)[4], float of_padding) HWY_ATTR {
      const V value = FieldOf(field, a.from, hn::ShiftRight<2>(before), hn::And(before, Integer(cluster_size - 1)));
      return hn::IfThenElse(is_atom, value, set(of_padding));
    };
    simd::Scatter(parameter(&ClusterData::q, 0), a.to->q, to, exists);
    simd::Scatter(parameter(&ClusterData::sigma, 0), a.to->sigma, to, exists);
    simd::Scatter(parameter(&ClusterData::epsilon, a.padding_epsilon), a.to->epsilon, to, exists);
  }
};

/// An offset of a cell to a lane.
struct PartnerKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  static constexpr std::int32_t room = PartnerCells::room;
  using Arguments = PartnerArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, room * a.n_cells, [&](VI at, M exists) HWY_ATTR {
      static_assert(sizeof(PartnerCells) == 2 * room * sizeof(std::int32_t) && room == 64);
      const VI partner = hn::GatherIndex(DI(), a.partner, at), cell = hn::Max(partner, Integer(0));
      const M is_cell = hn::Ge(partner, Integer(0));
      const auto first = [&](std::int32_t of) HWY_ATTR {
        return hn::IfThenElseZero(is_cell, hn::GatherIndex(DI(), a.first_cluster, hn::Add(cell, Integer(of))));
      };
      const VI offset = hn::And(at, Integer(room - 1)), to = hn::Add(hn::ShiftLeft<7>(hn::ShiftRight<6>(at)), offset);
      auto* values = reinterpret_cast<std::int32_t*>(a.partners);  // begins of a cell's partners, then ends
      simd::Scatter(first(0), values, to, exists);
      simd::Scatter(first(1), values, hn::Add(to, Integer(room)), exists);
    });
  }
};

/// A cluster to a warp.
struct MaskKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = MaskArguments;
  struct OfWarp {
    std::int32_t cluster[most_excluded], mask[most_excluded];             // of each excluded atom
    std::int32_t partner[most_excluded], mask_of_partner[most_excluded];  // clusters, once each
  };
  struct Shared {
    OfWarp of[warps_of_block];
  };

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared& shared, const simd::Place& place) {
    if (place.OfAll() < a.n_clusters) Lister{a, shared.of[place.warp], place.OfAll()}.Run();
  }

 private:
  static constexpr std::int32_t by_table = 1 << 16;  // beside masks of 16 bits

  struct Lister {
    const Arguments& a;
    OfWarp& shared;
    const std::int32_t cluster;
    std::int32_t n_partners = 0, own_mask = 0;

    HWY_INLINE void Run() {
      JoinPartners(TakeExcluded());
      PutPartners();
      PutEntries();
    }

    /// Finds where the excluded atoms of the cluster's atoms are, and returns how many there are.
    HWY_INLINE std::int32_t TakeExcluded() const {
      std::int32_t n = 0;
      for (std::int32_t i = 0; i < cluster_size; ++i) {
        const std::int32_t atom = a.atom[cluster_size * cluster + i];
        if (atom < 0) break;  // and all that follow
        const std::int32_t begin = a.excluded_begin[atom], end = a.excluded_begin[atom + 1];
        for (std::int32_t first = begin; first < end; first += hn::warp_size) {
          const VI any = hn::Add(simd::LaneNumbers(), Integer(first)), at = hn::Min(any, Integer(end - 1));
          const M exists = hn::Lt(any, Integer(end));
          const VI slot = hn::GatherIndex(DI(), a.slot_of, hn::GatherIndex(DI(), a.excluded_atom, at));
          const VI to = hn::Add(at, Integer(n - begin)), j = hn::And(slot, Integer(cluster_size - 1));
          simd::Scatter(hn::ShiftRight<2>(slot), shared.cluster, to, exists);
          simd::Scatter(hn::Shl(Integer(1 << (cluster_size * i)), j), shared.mask, to, exists);
        }
        n += end - begin;
      }
      simd::SyncWarp();
      return n;
    }

    /// Joins the masks of atoms in one cluster.
    HWY_INLINE void JoinPartners(std::int32_t n) {
      if (simd::CountTrue(NeedsTable(a.table, cluster, Integer(cluster))) > 0) own_mask = by_table;
      for (std::int32_t first = 0; first < n; first += hn::warp_size) {
        const VI any = hn::Add(simd::LaneNumbers(), Integer(first)), k = hn::Min(any, Integer(n - 1));
        const VI mine = hn::GatherIndex(DI(), shared.cluster, k);
        M is_first = hn::Lt(any, Integer(n));
        VI mask = Integer(0);
        for (std::int32_t j = 0; j < n; ++j) {
          const M is_same = hn::Eq(mine, Integer(shared.cluster[j]));
          mask = hn::Or(mask, hn::IfThenElseZero(is_same, Integer(shared.mask[j])));
          is_first = hn::AndNot(hn::And(is_same, hn::Lt(Integer(j), k)), is_first);
        }
        mask = hn::Or(mask, hn::IfThenElseZero(NeedsTable(a.table, cluster, mine), Integer(by_table)));
        const M is_own = hn::And(is_first, hn::Eq(mine, Integer(cluster))), is_partner = hn::AndNot(is_own, is_first);
        own_mask |= simd::OfFirst(simd::SumOfWarp(hn::IfThenElseZero(is_own, mask)));
        const VI to = hn::Add(Integer(n_partners), simd::CountBefore(is_partner));
        simd::Scatter(mine, shared.partner, to, is_partner);
        simd::Scatter(mask, shared.mask_of_partner, to, is_partner);
        n_partners += simd::CountTrue(is_partner);
      }
      simd::SyncWarp();
    }

    HWY_INLINE void PutPartners() const {
      const std::int32_t begin = simd::TakeRow(&a.counts->partners, n_partners);
      simd::Scatter(Integer(begin), &a.excluded[cluster].begin, Integer(0), simd::IsFirstLane());
      simd::Scatter(Integer(begin + n_partners), &a.excluded[cluster].end, Integer(0), simd::IsFirstLane());
      if (begin + n_partners > a.most_partners) return;
      for (std::int32_t first = 0; first < n_partners; first += hn::warp_size) {
        const VI any = hn::Add(simd::LaneNumbers(), Integer(first)), k = hn::Min(any, Integer(n_partners - 1));
        simd::Scatter(hn::GatherIndex(DI(), shared.partner, k), a.partner + begin, any,
                      hn::Lt(any, Integer(n_partners)));
      }
    }

    /// Calls a function with each of the entries: the j-cluster, offsets of cells in lanes, those where it is a partner,
    /// and which atoms are excluded.
    template <class Function>
    HWY_INLINE void ForEntries(Function function) const {
      const PartnerCells& cells = a.partners[a.cell_of[cluster]];
      for (std::int32_t k = -1; k < n_partners; ++k) {
        const std::int32_t j = k < 0 ? cluster : shared.partner[k], mask = k < 0 ? own_mask : shared.mask_of_partner[k];
        for (std::int32_t first = 0; first < static_cast<std::int32_t>(PartnerCells::room); first += hn::warp_size) {
          const VI offset = hn::Add(simd::LaneNumbers(), Integer(first));
          const M is_there = hn::And(hn::Ge(Integer(j), hn::GatherIndex(DI(), cells.begin.data(), offset)),
                                     hn::Lt(Integer(j), hn::GatherIndex(DI(), cells.end.data(), offset)));
          // Pairs of a cell's own clusters are listed once.
          const M is_once = k < 0 || j > cluster ? is_there : hn::And(is_there, hn::Ne(offset, Integer(0)));
          function(j, offset, is_once, mask);
        }
      }
    }

    HWY_INLINE void PutEntries() const {
      std::int32_t n = 0, n_by_table = 0;
      ForEntries([&](std::int32_t, VI, M exists, std::int32_t mask) HWY_ATTR {
        const auto more = simd::CountTrue(exists);
        n += more;
        n_by_table += (mask & by_table) != 0 ? more : 0;
      });
      const std::int32_t begin = simd::TakeRow(&a.counts->masked, n);
      DeviceRow& row = a.rows[cluster];
      simd::Scatter(Integer(cluster), &row.i_cluster, Integer(0), simd::IsFirstLane());
      simd::Scatter(hn::Set(DL(), begin), &row.by_table_begin, Integer(0), simd::IsFirstLane());
      simd::Scatter(hn::Set(DL(), begin + n_by_table), &row.masked_begin, Integer(0), simd::IsFirstLane());
      simd::Scatter(hn::Set(DL(), begin + n), &row.end, Integer(0), simd::IsFirstLane());
      if (begin + n > a.most_masked) return;
      std::int32_t next_by_table = begin, next = begin + n_by_table;
      ForEntries([&](std::int32_t j, VI offset, M exists, std::int32_t mask) HWY_ATTR {
        const bool needs_table = (mask & by_table) != 0;
        const std::int32_t first = needs_table ? next_by_table : next, more = simd::CountTrue(exists);
        const VI to = hn::ShiftLeft<1>(hn::Add(Integer(first), simd::CountBefore(exists)));
        const M is_diagonal = hn::And(hn::Eq(offset, Integer(0)), hn::Eq(Integer(j), Integer(cluster)));
        const VI valid = hn::IfThenElse(is_diagonal, Integer(mask_among_themselves), Integer(mask_of_all_pairs));
        const VI excluded = hn::And(valid, Integer(mask)), interact = hn::Xor(valid, excluded);
        simd::Scatter(hn::BitCast(DU(), hn::Or(hn::ShiftLeft<cell_bits>(Integer(j)), offset)), &a.masked->j, to,
                      exists);
        simd::Scatter(hn::BitCast(DU(), hn::Or(interact, hn::ShiftLeft<16>(excluded))), &a.masked->masks, to, exists);
        next_by_table += needs_table ? more : 0;
        next += needs_table ? 0 : more;
      });
    }
  };
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
