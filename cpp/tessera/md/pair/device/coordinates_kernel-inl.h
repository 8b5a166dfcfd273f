// Makes the coordinates of clusters of positions, as set_coordinates() does, and looks whether the pair list still holds.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/domain/place-inl.h"
#include "tessera/md/pair/device/coordinates_kernel.h"
#include "tessera/md/pair/device/pair_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// A slot to a lane.
struct CoordinateKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = CoordinateArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](VI slot, M exists) HWY_ATTR { Set(a, slot, exists); });
  }

 private:
  static HWY_INLINE void Set(const Arguments& a, VI slot, M exists) {
    const VI cluster = hn::ShiftRight<2>(slot), atom = hn::And(slot, Integer(cluster_size - 1));
    const M is_atom = hn::And(exists, hn::Ge(hn::GatherIndex(DI(), a.type, slot), Integer(0)));
    const auto apart = [&](const std::int32_t& position, const std::int32_t& centre) HWY_ATTR {
      const VI of_atom = hn::GatherIndex(DI(), &position, hn::Mul(slot, Integer(3)));
      return hn::ConvertTo(D(), hn::Sub(of_atom, hn::GatherIndex(DI(), &centre, hn::Mul(cluster, Integer(3)))));
    };
    const auto now =
        domain::HWY_NAMESPACE::PlaceOf(D(), a.to_length, apart(a.position->x, a.centre->x),
                                       apart(a.position->y, a.centre->y), apart(a.position->z, a.centre->z));
    const V listed[3] = {FieldOf(&ClusterPlaces::x, a.listed, cluster, atom),
                         FieldOf(&ClusterPlaces::y, a.listed, cluster, atom),
                         FieldOf(&ClusterPlaces::z, a.listed, cluster, atom)};
    const V dx = hn::Sub(now.x, listed[0]), dy = hn::Sub(now.y, listed[1]), dz = hn::Sub(now.z, listed[2]);
    const V distance2 = hn::Add(hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy)), hn::Mul(dz, dz));
    const V reach = hn::GatherIndex(D(), a.reach, slot);
    simd::AtomicAdd(Integer(1), &a.check->n_beyond, Integer(0),
                    hn::And(is_atom, hn::Gt(distance2, hn::Mul(reach, reach))));
    const VI to = IndexOf<ClusterData>(cluster, atom);
    simd::Scatter(now.x, a.clusters->x, to, is_atom);
    simd::Scatter(now.y, a.clusters->y, to, is_atom);
    simd::Scatter(now.z, a.clusters->z, to, is_atom);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
