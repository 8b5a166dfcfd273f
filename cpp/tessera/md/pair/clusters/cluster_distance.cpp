// Computes distances between clusters, compiled for every instruction set that Highway supports here and chosen at run
// time.
#include "tessera/md/pair/clusters/cluster_distance.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pair/clusters/cluster_distance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/base/simd/compress-inl.h"
#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pair {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr std::size_t lanes = hn::MaxLanes(D()), registers = 16 / lanes;

/// Holds one cluster's box, and the cut-off plus the reach of its atoms.
struct Extents {
  V lower[3], upper[3], range;
};

/// Refers to the faces and reaches of many boxes.
struct Faces {
  const float *lower[3], *upper[3], *reach;
};

/// Returns a bit for each of the next boxes that may come within range of this box, given the reach of each.
HWY_INLINE std::uint32_t NearBoxes(const Extents& box, const Faces& faces, std::size_t first) {
  const D d;
  V gap2 = hn::Zero(d);
  HWY_UNROLL(3)
  for (std::size_t c = 0; c < 3; ++c) {
    const auto lower = hn::LoadU(d, faces.lower[c] + first), upper = hn::LoadU(d, faces.upper[c] + first);
    const auto gap = hn::Max(hn::Max(hn::Sub(box.lower[c], upper), hn::Sub(lower, box.upper[c])), hn::Zero(d));
    gap2 = simd::MulAdd(gap, gap, gap2);
  }
  const auto range = hn::Add(box.range, hn::LoadU(d, faces.reach + first));
  return simd::BitsOf(d, hn::Lt(gap2, hn::Mul(range, range)));
}

/// Holds a cluster's atom in the middle, and the cut-off plus its reach.
struct Middle {
  V place[3], range;
};

/// Returns a bit for each of the next clusters whose atom in the middle is within range of this one.
HWY_INLINE std::uint32_t NearMiddles(const Middle& middle, const ClusterBounds& bounds, std::size_t first) {
  const D d;
  V distance2 = hn::Zero(d);
  HWY_UNROLL(3)
  for (std::size_t c = 0; c < 3; ++c) {
    const auto along = hn::Sub(middle.place[c], hn::LoadU(d, bounds.middle[c].data() + first));
    distance2 = simd::MulAdd(along, along, distance2);
  }
  const auto range = hn::Add(middle.range, hn::LoadU(d, bounds.middle_reach.data() + first));
  return simd::BitsOf(d, hn::Lt(distance2, hn::Mul(range, range)));
}

/// Returns a mask of the first `left` bits, or of all lanes if there are fewer.
template <class Left>
HWY_INLINE std::uint32_t FirstBits(Left left) {
  return left < static_cast<Left>(lanes) ? (1u << left) - 1 : (1u << lanes) - 1;
}

/// Appends the entries whose bits are set to `list`. It stores whole registers.
HWY_INLINE PairEntry* Append(hn::Vec<hn::RebindToUnsigned<D>> entries, std::uint32_t bits, PairEntry* list) {
  const hn::RebindToUnsigned<D> du;
  hn::StoreU(simd::CompressByBits(du, entries, bits), du, list);
  return list + std::popcount(bits);
}

Faces FacesOf(const ClusterBounds& bounds) {
  return {{bounds.lower[0].data(), bounds.lower[1].data(), bounds.lower[2].data()},
          {bounds.upper[0].data(), bounds.upper[1].data(), bounds.upper[2].data()},
          bounds.reach.data()};
}

void FindCandidates(const CellBox& cell_box, const NeighbourCells& cells, const ClusterBounds& bounds, float cutoff,
                    Candidates& candidates) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto box_from = [&](float x, float y, float z) HWY_ATTR {
    const float origin[3] = {x, y, z};
    Extents box;
    for (std::size_t c = 0; c < 3; ++c) {
      box.lower[c] = hn::Set(d, cell_box.lower[c] - origin[c]);
      box.upper[c] = hn::Set(d, cell_box.upper[c] - origin[c]);
    }
    box.range = hn::Set(d, cutoff + cell_box.reach);
    return box;
  };
  const Faces of_cells = {{cells.lower[0].data(), cells.lower[1].data(), cells.lower[2].data()},
                          {cells.upper[0].data(), cells.upper[1].data(), cells.upper[2].data()},
                          cells.reach.data()};
  const Faces of_clusters = FacesOf(bounds);
  std::size_t n = 0;
  const auto here = box_from(0, 0, 0);
  for (std::size_t block = 0; block < NeighbourCells::room; block += lanes)
    for (auto near_cells = NearBoxes(here, of_cells, block); near_cells != 0; near_cells &= near_cells - 1) {
      const auto cell = block + static_cast<std::size_t>(std::countr_zero(near_cells));
      const float shift[3] = {cells.shift[0][cell], cells.shift[1][cell], cells.shift[2][cell]};
      const auto shifted = box_from(shift[0], shift[1], shift[2]);
      const auto end = cells.end[cell];
      for (auto first = cells.begin[cell]; first < end; first += static_cast<std::int32_t>(lanes)) {
        const auto from = static_cast<std::size_t>(first);
        const auto is_near = NearBoxes(shifted, of_clusters, from) & FirstBits(end - first);
        const auto append = [&](V values, std::vector<float>& list)
                                HWY_ATTR { hn::StoreU(simd::CompressByBits(d, values, is_near), d, list.data() + n); };
        for (std::size_t c = 0; c < 3; ++c) {
          const auto by = hn::Set(d, shift[c]);
          append(hn::Add(hn::LoadU(d, of_clusters.lower[c] + from), by), candidates.lower[c]);
          append(hn::Add(hn::LoadU(d, of_clusters.upper[c] + from), by), candidates.upper[c]);
          append(hn::Add(hn::LoadU(d, bounds.middle[c].data() + from), by), candidates.middle[c]);
        }
        append(hn::LoadU(d, of_clusters.reach + from), candidates.reach);
        append(hn::LoadU(d, bounds.middle_reach.data() + from), candidates.middle_reach);
        const auto entry = static_cast<PairEntry>(first) << cell_bits | static_cast<PairEntry>(cell);
        Append(hn::Add(hn::Set(du, entry), hn::ShiftLeft<cell_bits>(hn::Iota(du, 0))), is_near,
               candidates.entry.data() + n);
        n += static_cast<std::size_t>(std::popcount(is_near));
      }
    }
  candidates.n = n;
}

void FindNearClusters(std::int32_t i, std::size_t first, const Candidates& candidates, const NeighbourCells& cells,
                      const ClusterSet& set, const CandidateMarks& marks, float cutoff, NearClusters& near) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const auto at = static_cast<std::size_t>(i);
  const ClusterData& ci = set.clusters[at];
  Extents box;
  Middle middle;
  for (std::size_t c = 0; c < 3; ++c) {
    box.lower[c] = hn::Set(d, set.bounds.lower[c][at]);
    box.upper[c] = hn::Set(d, set.bounds.upper[c][at]);
    middle.place[c] = hn::Set(d, set.bounds.middle[c][at]);
  }
  box.range = hn::Set(d, cutoff + set.bounds.reach[at]);
  middle.range = hn::Set(d, cutoff + set.bounds.middle_reach[at]);
  const Faces faces = FacesOf(candidates);
  PairEntry *plain = near.plain, *marked = near.marked.data(), *unclear = near.unclear.data();
  for (; first < candidates.n; first += lanes) {
    const auto is_near = NearBoxes(box, faces, first) & FirstBits(candidates.n - first);
    const auto is_marked = is_near & marks.sixteen(first), is_plain = is_near ^ is_marked;
    const auto is_clear = is_plain & NearMiddles(middle, candidates, first);
    const auto entries = hn::LoadU(du, candidates.entry.data() + first);
    plain = Append(entries, is_clear, plain);
    unclear = Append(entries, is_plain ^ is_clear, unclear);
    if (is_marked != 0) marked = Append(entries, is_marked, marked);
  }
  // A block of four lanes holds one i-atom against the four j-atoms.
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
    auto least = hn::Zero(d);  // the least squared distance minus the squared range
    HWY_UNROLL(4)
    for (std::size_t r = 0; r < registers; ++r) {
      const auto dx = hn::Sub(hn::Load(d, spread[0] + r * lanes), xj);
      const auto dy = hn::Sub(hn::Load(d, spread[1] + r * lanes), yj);
      const auto dz = hn::Sub(hn::Load(d, spread[2] + r * lanes), zj);
      const auto within = hn::Add(hn::Load(d, spread[3] + r * lanes), reach);
      const auto r2 = simd::MulAdd(dx, dx, simd::MulAdd(dy, dy, hn::Mul(dz, dz)));
      least = hn::Min(least, simd::NegMulAdd(within, within, r2));
    }
    *plain = *entry;  // the entry is kept if it is near; a branch here could not be predicted
    plain += hn::AllFalse(d, hn::Lt(least, hn::Zero(d))) ? 0 : 1;
  }
  near.n_plain = static_cast<std::size_t>(plain - near.plain);
  near.n_marked = static_cast<std::size_t>(marked - near.marked.data());
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pair
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::md::pair {

HWY_EXPORT(FindCandidates);
HWY_EXPORT(FindNearClusters);

void find_candidates(const CellBox& box, const NeighbourCells& cells, const ClusterBounds& bounds, float cutoff,
                     Candidates& candidates) {
  HWY_DYNAMIC_DISPATCH(FindCandidates)(box, cells, bounds, cutoff, candidates);
}

void find_near_clusters(std::int32_t i, std::size_t first, const Candidates& candidates, const NeighbourCells& cells,
                        const ClusterSet& set, const CandidateMarks& marks, float cutoff, NearClusters& near) {
  HWY_DYNAMIC_DISPATCH(FindNearClusters)(i, first, candidates, cells, set, marks, cutoff, near);
}

}  // namespace tessera::md::pair
#endif
