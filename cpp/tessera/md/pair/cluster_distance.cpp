// Distances between clusters, compiled for every instruction set that Highway knows here and chosen at run time.
#include "tessera/md/pair/cluster_distance.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/cluster_distance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::int32_t FindNearClusters(std::int32_t i, const float* shift, const ClusterData* clusters,
                              const ClusterBounds& bounds, std::int32_t begin, std::int32_t end, float range2,
                              std::int32_t* near) {
  const hn::CappedTag<float, 16> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t n = hn::MaxLanes(d), registers = 16 / n;
  const ClusterData& ci = clusters[i];
  const auto at = static_cast<std::size_t>(i);
  // One block of four lanes holds one i-atom against the four j-atoms.
  HWY_ALIGN float spread[3][16];
  for (std::size_t k = 0; k < 16; ++k) {
    spread[0][k] = ci.x[k / 4] - shift[0];
    spread[1][k] = ci.y[k / 4] - shift[1];
    spread[2][k] = ci.z[k / 4] - shift[2];
  }
  V lower[3], upper[3];
  for (std::size_t c = 0; c < 3; ++c) {
    lower[c] = hn::Set(d, bounds.lower[c][at] - shift[c]);
    upper[c] = hn::Set(d, bounds.upper[c][at] - shift[c]);
  }
  const auto limit = hn::Set(d, range2);
  std::int32_t found = 0;
  for (std::int32_t first = begin; first < end; first += static_cast<std::int32_t>(n)) {
    auto gap2 = hn::Zero(d);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto gap =
          hn::Max(hn::Max(hn::Sub(lower[c], hn::LoadU(d, &bounds.upper[c][static_cast<std::size_t>(first)])),
                          hn::Sub(hn::LoadU(d, &bounds.lower[c][static_cast<std::size_t>(first)]), upper[c])),
                  hn::Zero(d));
      gap2 = hn::MulAdd(gap, gap, gap2);
    }
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Lt(gap2, limit), bytes);
    auto candidates = static_cast<std::uint32_t>(bytes[0] | (bytes[1] << 8));
    if (end - first < 16) candidates &= (1u << (end - first)) - 1;
    for (; candidates != 0; candidates &= candidates - 1) {
      const std::int32_t j = first + std::countr_zero(candidates);
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

std::int32_t find_near_clusters(std::int32_t i, const float* shift, const ClusterData* clusters,
                                const ClusterBounds& bounds, std::int32_t begin, std::int32_t end, float range2,
                                std::int32_t* near) {
  return HWY_DYNAMIC_DISPATCH(FindNearClusters)(i, shift, clusters, bounds, begin, end, range2, near);
}

const char* simd_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace tessera::md::pair
#endif
