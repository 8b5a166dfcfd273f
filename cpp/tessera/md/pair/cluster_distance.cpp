// Distances between clusters, compiled for every instruction set that Highway knows here and chosen at run time.
#include "tessera/md/pair/cluster_distance.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/cluster_distance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::int32_t FindNearClusters(const ClusterData& ci, const Bounds& bi, const float* shift, const ClusterData* clusters,
                              const Bounds* bounds, std::int32_t begin, std::int32_t end, float range2,
                              std::int32_t* near) {
  const hn::FixedTag<float, 4> d4;
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t n = hn::MaxLanes(d), registers = 16 / n, blocks = n / 4;
  // One block of four lanes holds one i-atom against the four j-atoms.
  HWY_ALIGN float spread[3][16];
  for (std::size_t k = 0; k < 16; ++k) {
    spread[0][k] = ci.x[k / 4] - shift[0];
    spread[1][k] = ci.y[k / 4] - shift[1];
    spread[2][k] = ci.z[k / 4] - shift[2];
  }
  static_assert(blocks >= 1);
  const float shift4[4] = {shift[0], shift[1], shift[2], 0};
  const auto s = hn::LoadU(d4, shift4);
  const auto lower = hn::Sub(hn::LoadU(d4, bi.lower), s), upper = hn::Sub(hn::LoadU(d4, bi.upper), s);
  const auto limit = hn::Set(d, range2);
  std::int32_t found = 0;
  for (std::int32_t j = begin; j < end; ++j) {
    const auto gap =
        hn::Max(hn::Max(hn::Sub(lower, hn::LoadU(d4, bounds[j].upper)), hn::Sub(hn::LoadU(d4, bounds[j].lower), upper)),
                hn::Zero(d4));
    const auto gap2 = hn::Mul(gap, gap);
    if (hn::GetLane(hn::SumOfLanes(d4, gap2)) >= range2) continue;
    bool is_near = false;
    for (std::size_t r = 0; r < registers; ++r) {
      const auto x = hn::Sub(hn::Load(d, spread[0] + r * n), hn::LoadDup128(d, clusters[j].x));
      const auto y = hn::Sub(hn::Load(d, spread[1] + r * n), hn::LoadDup128(d, clusters[j].y));
      const auto z = hn::Sub(hn::Load(d, spread[2] + r * n), hn::LoadDup128(d, clusters[j].z));
      const auto r2 = hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z)));
      is_near |= !hn::AllFalse(d, hn::Lt(r2, limit));
    }
    near[found] = j;
    found += is_near;
  }
  return found;
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::md::pair {

HWY_EXPORT(FindNearClusters);
HWY_EXPORT(TargetName);

std::int32_t find_near_clusters(const ClusterData& i, const Bounds& i_bounds, const float* shift,
                                const ClusterData* clusters, const Bounds* bounds, std::int32_t begin, std::int32_t end,
                                float range2, std::int32_t* near) {
  return HWY_DYNAMIC_DISPATCH(FindNearClusters)(i, i_bounds, shift, clusters, bounds, begin, end, range2, near);
}

const char* simd_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace tessera::md::pair
#endif
