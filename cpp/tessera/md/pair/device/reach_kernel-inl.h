// Says how far each atom may go before the next list by its velocity, as PairForces does, and notes where it is now.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/pair/device/pair_kernel-inl.h"
#include "tessera/md/pair/device/reach_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

/// A slot to a lane.
struct ReachKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = ReachArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](VI slot, M exists) HWY_ATTR { Set(a, slot, exists); });
  }

 private:
  static HWY_INLINE void Set(const Arguments& a, VI slot, M exists) {
    const auto component = [&](const std::int32_t& of_first) HWY_ATTR {
      return hn::ConvertTo(D(), hn::GatherIndex(DI(), &of_first, hn::Mul(slot, Integer(3))));
    };
    const V x = component(a.velocity->x), y = component(a.velocity->y), z = component(a.velocity->z);
    const V speed = hn::Sqrt(hn::Add(hn::Add(hn::Mul(x, x), hn::Mul(y, y)), hn::Mul(z, z)));
    const V stride = hn::Mul(speed, set(static_cast<float>(a.list.timestep * velocity_unit)));
    const V change = hn::Mul(hn::GatherIndex(D(), a.mobility, slot), set(part_of_change * a.typical));
    const V reach =
        hn::Mul(hn::Add(hn::Mul(stride, set(part_of_stride)), change), set(static_cast<float>(a.list.steps)));
    simd::Scatter(hn::Min(reach, set(static_cast<float>(a.list.most_reach))), a.reach, slot, exists);
    const VI cluster = hn::ShiftRight<2>(slot), atom = hn::And(slot, Integer(cluster_size - 1));
    const VI to = IndexOf<ClusterPlaces>(cluster, atom);
    simd::Scatter(FieldOf(&ClusterData::x, a.clusters, cluster, atom), a.listed->x, to, exists);
    simd::Scatter(FieldOf(&ClusterData::y, a.clusters, cluster, atom), a.listed->y, to, exists);
    simd::Scatter(FieldOf(&ClusterData::z, a.clusters, cluster, atom), a.listed->z, to, exists);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();
