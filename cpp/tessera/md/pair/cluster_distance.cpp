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

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr std::size_t lanes = hn::MaxLanes(D()), registers = 16 / lanes;

/// One cluster's box, and the cut-off with how far its atoms may move.
struct Box {
  V lower[3], upper[3], range;
};

/// Faces of many boxes.
struct Faces {
  const float *lower[3], *upper[3], *reach;
};

struct NearBoxes {
  std::uint32_t near, sure;  // may be within the box's range by their reach; surely within the cut-off
};

HWY_INLINE std::uint32_t Bits(hn::Mask<D> mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(D(), mask, bytes);
  return static_cast<std::uint32_t>(bytes[0] | (bytes[1] << 8));
}

/// Which of the next boxes are near.
template <bool WithSure>
HWY_INLINE NearBoxes CompareBoxes(const Box& box, const Faces& faces, std::size_t first, V cutoff2) {
  const D d;
  V gap2 = hn::Zero(d), far2 = hn::Zero(d);
  HWY_UNROLL(3)
  for (std::size_t c = 0; c < 3; ++c) {
    const auto lower = hn::LoadU(d, faces.lower[c] + first), upper = hn::LoadU(d, faces.upper[c] + first);
    const auto gap = hn::Max(hn::Max(hn::Sub(box.lower[c], upper), hn::Sub(lower, box.upper[c])), hn::Zero(d));
    gap2 = hn::MulAdd(gap, gap, gap2);
    if constexpr (WithSure) {
      const auto far = hn::Max(hn::Sub(box.upper[c], lower), hn::Sub(upper, box.lower[c]));
      far2 = hn::MulAdd(far, far, far2);
    }
  }
  const auto range = hn::Add(box.range, hn::LoadU(d, faces.reach + first));
  return {Bits(hn::Lt(gap2, hn::Mul(range, range))), WithSure ? Bits(hn::Lt(far2, cutoff2)) : 0};
}

HWY_INLINE hn::Mask<D> MaskOf(std::uint32_t bits) {
  const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
  return hn::LoadMaskBits(D(), bytes);
}

/// Appends the entries of the bits' clusters to `list`. Stores whole registers.
HWY_INLINE PairEntry* Append(hn::Vec<hn::RebindToUnsigned<D>> entries, std::uint32_t bits, PairEntry* list) {
  const hn::RebindToUnsigned<D> du;
  hn::StoreU(hn::Compress(entries, hn::RebindMask(du, MaskOf(bits))), du, list);
  return list + std::popcount(bits);
}

void FindNearClusters(std::int32_t i, const NeighbourCells& cells, const ClusterSet& set, const ClusterMarks& marks,
                      float cutoff, NearClusters& near) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto at = static_cast<std::size_t>(i);
  const ClusterData& ci = set.clusters[at];
  const auto& bounds = set.bounds;
  const auto cutoff2 = hn::Set(d, cutoff * cutoff);
  Faces of_cells, of_clusters;
  for (std::size_t c = 0; c < 3; ++c) {
    of_cells.lower[c] = cells.lower[c].data();
    of_cells.upper[c] = cells.upper[c].data();
    of_clusters.lower[c] = bounds.lower[c].data();
    of_clusters.upper[c] = bounds.upper[c].data();
  }
  of_cells.reach = cells.reach.data();
  of_clusters.reach = bounds.reach.data();
  const auto box_from = [&](float x, float y, float z) HWY_ATTR {
    Box box;
    box.lower[0] = hn::Set(d, bounds.lower[0][at] - x);
    box.upper[0] = hn::Set(d, bounds.upper[0][at] - x);
    box.lower[1] = hn::Set(d, bounds.lower[1][at] - y);
    box.upper[1] = hn::Set(d, bounds.upper[1][at] - y);
    box.lower[2] = hn::Set(d, bounds.lower[2][at] - z);
    box.upper[2] = hn::Set(d, bounds.upper[2][at] - z);
    box.range = hn::Set(d, cutoff + bounds.reach[at]);
    return box;
  };
  PairEntry *plain = near.plain, *marked = near.marked.data(), *unclear = near.unclear.data();
  const auto here = box_from(0, 0, 0);
  const auto entry_step = hn::ShiftLeft<cell_bits>(hn::Iota(du, 0));
  for (std::size_t block = 0; block < NeighbourCells::room; block += lanes)
    for (auto near_cells = CompareBoxes<false>(here, of_cells, block, cutoff2).near; near_cells != 0;
         near_cells &= near_cells - 1) {
      const auto cell = block + static_cast<std::size_t>(std::countr_zero(near_cells));
      const auto shifted = box_from(cells.shift[0][cell], cells.shift[1][cell], cells.shift[2][cell]);
      const auto end = cells.end[cell];
      for (auto first = cells.begin[cell]; first < end; first += static_cast<std::int32_t>(lanes)) {
        auto [is_near, is_sure] = CompareBoxes<true>(shifted, of_clusters, static_cast<std::size_t>(first), cutoff2);
        const auto left = end - first;
        is_near &= left < static_cast<std::int32_t>(lanes) ? (1u << left) - 1 : (1u << lanes) - 1;
        const auto is_marked = marks.sixteen(first) & is_near;
        is_near ^= is_marked;
        const auto entries =
            hn::Add(entry_step, hn::Set(du, static_cast<PairEntry>(first) << cell_bits | static_cast<PairEntry>(cell)));
        plain = Append(entries, is_near & is_sure, plain);
        unclear = Append(entries, is_near & ~is_sure, unclear);
        if (is_marked != 0) marked = Append(entries, is_marked, marked);
      }
    }
  // One block of four lanes holds one i-atom against the four j-atoms.
  HWY_ALIGN float spread[4][16];
  for (std::size_t k = 0; k < 16; ++k) {
    spread[0][k] = ci.x[k / 4];
    spread[1][k] = ci.y[k / 4];
    spread[2][k] = ci.z[k / 4];
    spread[3][k] = cutoff + set.reach[4 * at + k / 4];
  }
  for (const auto* entry = near.unclear.data(); entry != unclear; ++entry) {
    const auto j = static_cast<std::size_t>(cluster_of(*entry)), cell = cell_of(*entry);
    const auto& cj = set.clusters[j];
    const V xj = hn::Add(hn::LoadDup128(d, cj.x), hn::Set(d, cells.shift[0][cell])),
            yj = hn::Add(hn::LoadDup128(d, cj.y), hn::Set(d, cells.shift[1][cell])),
            zj = hn::Add(hn::LoadDup128(d, cj.z), hn::Set(d, cells.shift[2][cell]));
    const V reach = hn::LoadDup128(d, set.reach + 4 * j);
    auto least = hn::Zero(d);  // of squares of distances beyond the range
    HWY_UNROLL(4)
    for (std::size_t r = 0; r < registers; ++r) {
      const auto dx = hn::Sub(hn::Load(d, spread[0] + r * lanes), xj);
      const auto dy = hn::Sub(hn::Load(d, spread[1] + r * lanes), yj);
      const auto dz = hn::Sub(hn::Load(d, spread[2] + r * lanes), zj);
      const auto within = hn::Add(hn::Load(d, spread[3] + r * lanes), reach);
      const auto r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
      least = hn::Min(least, hn::NegMulAdd(within, within, r2));
    }
    *plain = *entry;  // stays if it is near: no branch that can't be foretold
    plain += hn::AllFalse(d, hn::Lt(least, hn::Zero(d))) ? 0 : 1;
  }
  near.n_plain = static_cast<std::size_t>(plain - near.plain);
  near.n_marked = static_cast<std::size_t>(marked - near.marked.data());
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::md::pair {

HWY_EXPORT(FindNearClusters);
HWY_EXPORT(TargetName);

void find_near_clusters(std::int32_t i, const NeighbourCells& cells, const ClusterSet& set, const ClusterMarks& marks,
                        float cutoff, NearClusters& near) {
  HWY_DYNAMIC_DISPATCH(FindNearClusters)(i, cells, set, marks, cutoff, near);
}

const char* simd_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace tessera::md::pair
#endif
