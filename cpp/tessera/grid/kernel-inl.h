// The kernel of stencils, compiled for each instruction set by kernel.cpp.
#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/simd/rounding-inl.h"
#include "tessera/grid/kernel.h"
#include "tessera/grid/star-inl.h"

#if defined(TESSERA_GRID_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GRID_KERNEL_INL_H
#undef TESSERA_GRID_KERNEL_INL_H
#else
#define TESSERA_GRID_KERNEL_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::grid {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// What a stencil's terms read for one row: number i of term k is from[k][i] where that is inside the row.
template <class Real>
struct Terms {
  std::size_t n;
  const Real* const* from;
  const Real* coefficients;
  const Real* addend;  // nullptr: nothing
  Real factor;
};

/// Sums the terms of `kVectors` vectors of points side by side: their chains of additions run at once, and each
/// coefficient is loaded once for all. load(k, v) returns
/// what term k reads for vector v.
template <int kVectors, class D, class Real, class Load>
HWY_INLINE void SumVectors(D d, const Terms<Real>& terms, std::int64_t i, const Load& load, hn::Vec<D>* sums) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V first = hn::Set(d, terms.coefficients[0]);
  if (terms.addend != nullptr) {
    const V factor = hn::Set(d, terms.factor);
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::Mul(factor, hn::LoadU(d, terms.addend + i + v * lanes));
      sums[v] = simd::HWY_NAMESPACE::MulAdd(first, load(0, v), sums[v]);
    }
  } else {
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(first, load(0, v));
  }
  for (std::size_t k = 1; k < terms.n; ++k) {
    const V coefficient = hn::Set(d, terms.coefficients[k]);
    for (int v = 0; v < kVectors; ++v) sums[v] = simd::HWY_NAMESPACE::MulAdd(coefficient, load(k, v), sums[v]);
  }
}

/// Computes rows one after the other. Terms along z read copies of rows that go on beyond the ends; all others read the
/// rows where they are.
template <class Real>
class RowComputer {
 public:
  static constexpr int planes = 1;

  RowComputer(const RowStencil<Real>& stencil, const FieldRows<Real>& from, const Target<Real>& target)
      : stencil_(stencil),
        from_(from),
        target_(target),
        length_(from.extents[2] * from.components),
        below_(stencil.reach[0][2] * from.components),
        above_(stencil.reach[1][2] * from.components),
        before_((below_ + kLine - 1) / kLine * kLine),
        copy_size_(before_ + (length_ + above_ + kLine - 1) / kLine * kLine),
        pointers_(stencil.coefficients.size()),
        rows_(stencil.neighbours.size()),
        copies_(hwy::AllocateAligned<Real>(2 * rows_.size() * static_cast<std::size_t>(copy_size_))) {
    std::fill_n(copies_.get(), 2 * rows_.size() * static_cast<std::size_t>(copy_size_), Real{0});
    for (std::size_t k = 0; k < pointers_.size(); ++k)
      if (stencil.neighbours[static_cast<std::size_t>(stencil.neighbour_of_term[k])].leaves_ends) leaving_.push_back(k);
  }

  /// Computes row y of plane x.
  void Compute(std::int64_t x, std::int64_t y) {
    FetchAhead(x + stencil_.reach[1][0] + 1, y);
    // The next row is copied already now: a vector that reads what several stores have just written would have to wait.
    const auto copy = static_cast<std::size_t>(y % 2);
    const bool is_next = x == x_ && y == y_ + 1;
    if (!is_next) CopyRows(x, y, copy);
    if (y + 1 < from_.extents[1]) CopyRows(x, y + 1, 1 - copy);
    Place(x, y, is_next, copy);
    const auto index = (x * from_.extents[1] + y) * length_;
    const auto& addend = target_.addend;
    Real* to = target_.to + index;
    const Terms<Real> terms{pointers_.size(), pointers_.data(), stencil_.coefficients.data(),
                            addend.values == nullptr ? nullptr : addend.values + index, addend.factor};
    const hn::ScalableTag<Real> d;
    if (length_ < static_cast<std::int64_t>(hn::Lanes(d)))
      return ComputeBlocks<1>(hn::CappedTag<Real, 1>(), terms, to, 0, false);
    // A last vector that overlaps the one before it is computed before that may overwrite what is added.
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d)), last_begin = length_ - lanes;
    const bool overlaps = length_ % lanes != 0;
    auto last = hn::Zero(d);
    if (overlaps)
      SumVectors<1>(
          d, terms, last_begin, [&](std::size_t k, int) HWY_ATTR { return hn::LoadU(d, terms.from[k] + last_begin); },
          &last);
    ComputeBlocks<4>(d, terms, to, 0, target_.streams && reinterpret_cast<std::uintptr_t>(to) % 64 == 0);
    if (overlaps) hn::StoreU(last, d, to + last_begin);
  }

  void Finish() const {}

 private:
  static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Real));

  Real* CopyOf(std::size_t neighbour, std::size_t copy) {
    return copies_.get() + (2 * neighbour + copy) * static_cast<std::size_t>(copy_size_) + before_;
  }

  /// Fetches a row into the cache that will be read with the next plane.
  void FetchAhead(std::int64_t x, std::int64_t y) const {
    if (x >= from_.extents[0] + stencil_.reach[1][0]) return;
    const Real* row = from_.row(x, y);
    for (std::int64_t i = 0; i < length_; i += kLine) __builtin_prefetch(row + i, 0, 2);
  }

  /// Finds what the terms read.
  void Place(std::int64_t x, std::int64_t y, bool is_next, std::size_t copy) {
    x_ = x;
    y_ = y;
    if (is_next && y > from_.reach[0][1] && y + from_.reach[1][1] < from_.extents[1]) {
      for (auto& pointer : pointers_) pointer += length_;  // all are the rows after those before
    } else {
      for (std::size_t u = 0; u < rows_.size(); ++u)
        rows_[u] = from_.row(x + stencil_.neighbours[u].x, y + stencil_.neighbours[u].y);
      for (std::size_t k = 0; k < pointers_.size(); ++k)
        pointers_[k] = rows_[static_cast<std::size_t>(stencil_.neighbour_of_term[k])] + stencil_.steps[k];
    }
    for (const auto k : leaving_)
      pointers_[k] = CopyOf(static_cast<std::size_t>(stencil_.neighbour_of_term[k]), copy) + stencil_.steps[k];
  }

  /// Copies what the terms along z read for row (x, y).
  void CopyRows(std::int64_t x, std::int64_t y, std::size_t copy) {
    for (std::size_t u = 0; u < rows_.size(); ++u) {
      const auto& neighbour = stencil_.neighbours[u];
      if (neighbour.leaves_ends) CopyRow(x + neighbour.x, y + neighbour.y, CopyOf(u, copy));
    }
  }

  void CopyRow(std::int64_t x, std::int64_t y, Real* to) {
    const hn::ScalableTag<Real> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const Real* row = from_.row(x, y);
    std::int64_t i = 0;
    for (; i + lanes <= length_; i += lanes) hn::StoreU(hn::LoadU(d, row + i), d, to + i);
    for (; i < length_; ++i) to[i] = row[i];
    CopyEnds(from_, x, y, below_, above_, to, to + length_);
  }

  /// Computes the whole vectors of a row from number i on, `kVectors` at a time, then fewer.
  template <int kVectors, class D>
  HWY_INLINE void ComputeBlocks(D d, const Terms<Real>& terms, Real* to, std::int64_t i, bool streams) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto compute = [&](bool is_streamed) HWY_ATTR {
      hn::Vec<D> sums[kVectors];
      SumVectors<kVectors>(
          d, terms, i, [&](std::size_t k, int v) HWY_ATTR { return hn::LoadU(d, terms.from[k] + i + v * lanes); },
          sums);
      for (int v = 0; v < kVectors; ++v)
        if (is_streamed)
          hn::Stream(sums[v], d, to + i + v * lanes);
        else
          hn::StoreU(sums[v], d, to + i + v * lanes);
    };
    for (; i + kVectors * lanes <= length_; i += kVectors * lanes) compute(streams);
    if constexpr (kVectors > 1) ComputeBlocks<kVectors / 2>(d, terms, to, i, streams);
  }

  const RowStencil<Real>& stencil_;
  const FieldRows<Real>& from_;
  Target<Real> target_;
  std::int64_t length_, below_, above_;
  std::int64_t before_, copy_size_;  // number 0 of a copy is at the beginning of a cache line
  std::int64_t x_ = -1, y_ = -1;
  std::vector<const Real*> pointers_;         // number 0 of what each term reads
  std::vector<std::size_t> leaving_;          // terms along z
  std::vector<const Real*> rows_;             // by neighbour
  hwy::AlignedFreeUniquePtr<Real[]> copies_;  // two for each neighbour
};

/// Computes strips of rows whose planes stay in the second-level cache, as many planes at a time as Computer does.
template <class Computer, class Single, class Real>
void Sweep(const RowStencil<Real>& stencil, const FieldRows<Real>& from, const Target<Real>& target) {
  constexpr std::int64_t kCacheBytes = 512 * 1024;
  const auto rows = from.extents[1], length = from.extents[2] * from.components;
  // Those that are read, and the next ones, which are fetched ahead.
  const auto planes = stencil.reach[0][0] + stencil.reach[1][0] + 2 * Computer::planes;
  const std::int64_t strip =
      std::max<std::int64_t>(8, kCacheBytes / (planes * length * static_cast<std::int64_t>(sizeof(Real))));
  Computer computer(stencil, from, target);
  Single single(stencil, from, target);
  const auto compute = [&](auto& its, std::int64_t x, std::int64_t begin, std::int64_t end) {
    for (auto y = begin; y < end; ++y) its.Compute(x, y);
    its.Finish();
  };
  for (std::int64_t begin = 0; begin < rows; begin += strip) {
    const auto end = std::min(rows, begin + strip);
    auto x = target.first;
    for (; x + Computer::planes <= target.last; x += Computer::planes) compute(computer, x, begin, end);
    for (; x < target.last; ++x) compute(single, x, begin, end);
  }
  if (target.streams) hwy::FlushStream();
}

/// Computes by StarComputer, with shorter vectors where rows are short, if it can.
template <int kRadius, int kComponents, class Real, class D = hn::ScalableTag<Real>>
bool SweepStar(const RowStencil<Real>& stencil, const FieldRows<Real>& from, Target<Real> target) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  if constexpr (kRadius * kComponents <= lanes && lanes * sizeof(Real) >= 16) {
    using Single = StarComputer<kRadius, kComponents, 1, D>;
    const auto length = from.extents[2] * kComponents;
    if (length < 2 * static_cast<std::int64_t>(lanes)) {
      target.streams = false;
      return SweepStar<kRadius, kComponents, Real, hn::CappedTag<Real, lanes / 2>>(stencil, from, target);
    }
    if constexpr (lanes == hn::MaxLanes(hn::ScalableTag<Real>())) {
      using Pair = StarComputer<kRadius, kComponents, 2, D>;
      if (!target.streams || Pair::can_stream(from.extents[1] * length)) {
        Sweep<Pair, Single>(stencil, from, target);
        return true;
      }
    }
    Sweep<Single, Single>(stencil, from, target);
    return true;
  } else {
    return false;
  }
}

template <int kRadius = 1, class Real>
bool SweepStars(const RowStencil<Real>& stencil, const FieldRows<Real>& from, const Target<Real>& target) {
  if constexpr (2 * kRadius <= most_order) {
    if (stencil.star_radius != kRadius) return SweepStars<kRadius + 1>(stencil, from, target);
    return from.components == 1 ? SweepStar<kRadius, 1>(stencil, from, target)
                                : SweepStar<kRadius, 2>(stencil, from, target);
  } else {
    return false;
  }
}

template <class Real>
void ApplyStencil(const RowStencil<Real>& stencil, const FieldRows<Real>& from, Real* to, std::int64_t first,
                  std::int64_t last, const Addend<Real>& addend, bool streams) {
  const Target<Real> target{to, first, last, addend, streams};
  if (SweepStars(stencil, from, target)) return;
  Sweep<RowComputer<Real>, RowComputer<Real>>(stencil, from, target);
}

void ApplyToFloats(const RowStencil<float>& stencil, const FieldRows<float>& from, float* to, std::int64_t first,
                   std::int64_t last, const Addend<float>& addend, bool streams) {
  ApplyStencil(stencil, from, to, first, last, addend, streams);
}
void ApplyToDoubles(const RowStencil<double>& stencil, const FieldRows<double>& from, double* to, std::int64_t first,
                    std::int64_t last, const Addend<double>& addend, bool streams) {
  ApplyStencil(stencil, from, to, first, last, addend, streams);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();

#endif
