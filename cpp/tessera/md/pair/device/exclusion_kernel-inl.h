// Sums what Ewald's mesh has in excess for excluded pairs, in double precision, with the bits of
// ExactPairs::add_exclusion_energies(). A warp has a row of entries with masks, of which it takes two at a time.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/lane_sums/device/split-inl.h"
#include "tessera/md/pair/device/exclusion_kernel.h"
#include "tessera/md/pair/device/pair_kernel-inl.h"
#include "tessera/md/pair/ewald_exclusion.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

struct ExclusionKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 4;
  using Arguments = ExclusionArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    if (place.OfAll() >= a.n_rows) return;
    const DeviceRow& row = a.rows[place.OfAll()];
    for (std::int64_t e = row.by_table_begin; e < row.end; e += 2) AddEntries(a, row.i_cluster, e, row.end);
  }

 private:
  using Doubles = hn::CappedTag<double, 8>;
  using Double = hn::Vec<Doubles>;
  struct Place {
    Double x, y, z;
  };

  static HWY_INLINE Double Set(double value) { return hn::Set(Doubles(), value); }

  /// Adds entry e, and the next one if it is before the end.
  static HWY_INLINE void AddEntries(const Arguments& a, std::int32_t i_cluster, std::int64_t e, std::int64_t end) {
    const VI lane = simd::LaneNumbers(), half = hn::ShiftRight<4>(lane), pair = hn::And(lane, Integer(15));
    const VI at = hn::Mul(e + 1 < end ? half : Integer(0), Integer(2));
    const VU j = hn::GatherIndex(DU(), &a.masked[e].j, at), masks = hn::GatherIndex(DU(), &a.masked[e].masks, at);
    const VU bit = hn::Shl(hn::Set(DU(), 1 << 16), hn::BitCast(DU(), pair));
    const M is_entry = e + 1 < end ? hn::Ge(half, Integer(0)) : hn::Eq(half, Integer(0));
    const M is_excluded = hn::And(is_entry, hn::TestBit(masks, bit));
    if (hn::AllFalse(DU(), is_excluded)) return;
    const VI j_cluster = hn::BitCast(DI(), hn::ShiftRight<cell_bits>(j));
    const VI cell = hn::BitCast(DI(), hn::And(j, hn::Set(DU(), (1u << cell_bits) - 1)));
    const VI of_i = Integer(i_cluster);
    const VI si = hn::Add(hn::Mul(of_i, Integer(cluster_size)), hn::ShiftRight<2>(pair));
    const VI sj = hn::Add(hn::Mul(j_cluster, Integer(cluster_size)), hn::And(pair, Integer(cluster_size - 1)));
    const auto i_place = Relative(a, si, of_i), j_place = Relative(a, sj, j_cluster);
    const auto apart = [&](const Double& of_one, const Double& of_other, int d) HWY_ATTR {
      const VI index = hn::Add(hn::Mul(cell, Integer(3)), Integer(d));
      return of_one - of_other - hn::GatherIndex(Doubles(), a.vectors, index);
    };
    const Double x = apart(i_place.x, j_place.x, 0), y = apart(i_place.y, j_place.y, 1),
                 z = apart(i_place.z, j_place.z, 2), r2 = x * x + y * y + z * z;
    const auto counts = hn::And(is_excluded, hn::Lt(r2, Set(a.range * a.range)));
    const double alpha = a.alpha;
    const Double of_charges =
        simd::OfEach([alpha](double square) { return ewald_exclusion_energy(alpha, square); }, r2);
    const Double charges =
        Set(a.coulomb_constant) * hn::GatherIndex(Doubles(), a.charge, si) * hn::GatherIndex(Doubles(), a.charge, sj);
    lane_sums::HWY_NAMESPACE::AddSplit(a.energy->sum, a.energy->of_clashes, charges * of_charges, counts);
  }

  /// Returns where atoms are relative to the centres of their cells, Å.
  static HWY_INLINE Place Relative(const Arguments& a, const VI& slot, const VI& cluster) {
    const VI at = hn::Mul(slot, Integer(3)), of_cell = hn::Mul(cluster, Integer(3));
    const auto apart = [&](const std::int32_t& position, const std::int32_t& centre) HWY_ATTR {
      return hn::PromoteTo(Doubles(),
                           hn::Sub(hn::GatherIndex(DI(), &position, at), hn::GatherIndex(DI(), &centre, of_cell)));
    };
    const Double x = apart(a.position->x, a.centre->x), y = apart(a.position->y, a.centre->y),
                 z = apart(a.position->z, a.centre->z);
    const auto& m = a.to_length;
    return {Set(m.xx) * x + Set(m.xy) * y + Set(m.xz) * z, Set(m.yy) * y + Set(m.yz) * z, Set(m.zz) * z};
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
