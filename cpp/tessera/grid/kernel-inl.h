// The kernel of stencils, compiled for each instruction set by kernel.cpp.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/simd/rounding-inl.h"
#include "tessera/grid/kernel.h"

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

/// The terms of a stencil at one row: from[k] + i is what term k reads for number i.
template <class Real>
struct Terms {
  std::size_t n;
  const Real* const* from;
  const Real* coefficients;
  const Real* addend;  // nullptr: nothing
  Real factor;
};

/// Sums the terms of `kVectors` vectors of points side by side: their chains of additions run at once, and each
/// coefficient is loaded once for all.
template <int kVectors, bool kAdds, class D, class Real = hn::TFromD<D>>
HWY_INLINE void SumVectors(D d, const Terms<Real>& terms, std::int64_t i, hn::Vec<D>* sums) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::size_t k = 0;
  if constexpr (kAdds) {
    const V factor = hn::Set(d, terms.factor);
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(factor, hn::LoadU(d, terms.addend + i + v * lanes));
  } else {
    const V first = hn::Set(d, terms.coefficients[0]);
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(first, hn::LoadU(d, terms.from[0] + i + v * lanes));
    k = 1;
  }
  for (; k < terms.n; ++k) {
    const V coefficient = hn::Set(d, terms.coefficients[k]);
    const Real* from = terms.from[k] + i;
    for (int v = 0; v < kVectors; ++v)
      sums[v] = simd::HWY_NAMESPACE::MulAdd(coefficient, hn::LoadU(d, from + v * lanes), sums[v]);
  }
}

/// Computes the numbers [begin, end) of a row. Where it streams, they are whole cache lines.
template <bool kAdds, bool kStreams, class Real>
HWY_INLINE void ComputeSpan(const Terms<Real>& terms, Real* to, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<Real> d;
  constexpr int kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto store = [&](auto sum, std::int64_t i) HWY_ATTR {
    if constexpr (kStreams)
      hn::Stream(sum, d, to + i);
    else
      hn::StoreU(sum, d, to + i);
  };
  std::int64_t i = begin;
  for (; i + kVectors * lanes <= end; i += kVectors * lanes) {
    hn::Vec<decltype(d)> sums[kVectors];
    SumVectors<kVectors, kAdds>(d, terms, i, sums);
    for (int v = 0; v < kVectors; ++v) store(sums[v], i + v * lanes);
  }
  for (; i + lanes <= end; i += lanes) {
    hn::Vec<decltype(d)> sum;
    SumVectors<1, kAdds>(d, terms, i, &sum);
    store(sum, i);
  }
  if (i == end) return;
  if (end - begin >= lanes) {  // some numbers of the last vector once more
    hn::Vec<decltype(d)> sum;
    SumVectors<1, kAdds>(d, terms, end - lanes, &sum);
    hn::StoreU(sum, d, to + end - lanes);
    return;
  }
  const hn::CappedTag<Real, 1> one;
  for (; i < end; ++i) {
    hn::Vec<decltype(one)> sum;
    SumVectors<1, kAdds>(one, terms, i, &sum);
    hn::StoreU(sum, one, to + i);
  }
}

/// Fills `to` with the numbers [begin, end) of row (x, y), which may lie before its first and after its last number.
template <class Real>
HWY_INLINE void CopyWithEnds(const FieldRows<Real>& from, std::int64_t x, std::int64_t y, const Real* row,
                             std::int64_t begin, std::int64_t end, Real* to) {
  using Kind = typename RowEnds<Real>::Kind;
  const auto c = from.components, n = from.extents[2] * c;
  const auto first_inside = std::max<std::int64_t>(begin, 0), last_inside = std::min(end, n);
  for (auto i = first_inside; i < last_inside; ++i) to[i - begin] = row[i];
  const auto copy_outside = [&](std::int64_t first, std::int64_t last) {
    switch (from.ends.kind) {
      case Kind::zeros:
        for (auto i = first; i < last; ++i) to[i - begin] = 0;
        return;
      case Kind::given: {
        const auto below = from.reach[0][2] * c, above = from.reach[1][2] * c;
        const auto index = (x + from.reach[0][0]) * from.padded_rows() + y + from.reach[0][1];
        const Real* its = from.ends.values + index * (below + above) + below - (first < 0 ? 0 : n);
        for (auto i = first; i < last; ++i) to[i - begin] = its[i];
        return;
      }
      case Kind::wrap:
        for (auto i = first; i < last; ++i) {
          auto at = i;
          while (at < 0) at += n;
          while (at >= n) at -= n;
          to[i - begin] = row[at];
        }
        if (!from.ends.is_turned) return;
        for (auto i = first; i < last; i += c)
          for (auto at = i; at < 0 || at >= n; at += at < 0 ? n : -n)
            turn(to + i - begin, 2, from.ends.phases[at < 0 ? 0 : 1]);
    }
  };
  copy_outside(begin, std::min<std::int64_t>(end, 0));
  copy_outside(std::max(begin, n), end);
}

/// Computes rows one after the other. The first and the last numbers of a row, which need what lies beyond its ends, are
/// read from copies of these parts; all others where they are.
template <bool kAdds, bool kStreams, class Real>
class RowComputer {
 public:
  RowComputer(const RowStencil<Real>& stencil, const FieldRows<Real>& from, const Addend<Real>& addend)
      : stencil_(stencil),
        from_(from),
        addend_(addend),
        length_(from.extents[2] * from.components),
        below_(stencil.reach[0][2] * from.components),
        above_(stencil.reach[1][2] * from.components),
        n_terms_(stencil.coefficients.size()),
        pointers_(3 * n_terms_),
        rows_(stencil.neighbours.size()) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<Real>()));
    least_head_ = std::max(below_, lanes);
    least_tail_ = std::max(above_, lanes);
    copy_size_ = std::min(length_, std::max(least_head_, least_tail_) + 2 * kLine) + below_ + above_;
    if (length_ < least_head_ + least_tail_ + 2 * kLine) copy_size_ = length_ + below_ + above_;
    copies_.resize(static_cast<std::size_t>(2 * copy_size_) * rows_.size());
  }

  void Compute(std::int64_t x, std::int64_t y, Real* to, std::int64_t index) {
    // The part [head, tail) is read where it is; it is whole cache lines of the result.
    const auto misplaced = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Real)) % kLine;
    auto head = (misplaced + least_head_ + kLine - 1) / kLine * kLine - misplaced;
    auto tail = head + (length_ - least_tail_ - head) / kLine * kLine;
    if (length_ - least_tail_ < head + kLine) head = tail = length_;
    const Real** at_head = pointers_.data();
    const Real** inside = at_head + n_terms_;
    const Real** at_tail = inside + n_terms_;
    Real* copy = copies_.data();
    for (std::size_t u = 0; u < rows_.size(); ++u) {
      const auto& neighbour = stencil_.neighbours[u];
      auto& row = rows_[u];
      row.inside = row.head = row.tail = from_.row(x + neighbour.x, y + neighbour.y);
      if (!neighbour.leaves_ends) continue;
      CopyWithEnds(from_, x + neighbour.x, y + neighbour.y, row.inside, -below_, head + above_, copy);
      row.head = copy + below_;
      copy += copy_size_;
      if (tail == length_) continue;
      CopyWithEnds(from_, x + neighbour.x, y + neighbour.y, row.inside, tail - below_, length_ + above_, copy);
      row.tail = copy + below_ - tail;
      copy += copy_size_;
    }
    for (std::size_t k = 0; k < n_terms_; ++k) {
      const auto& row = rows_[static_cast<std::size_t>(stencil_.neighbour_of_term[k])];
      at_head[k] = row.head + stencil_.steps[k];
      inside[k] = row.inside + stencil_.steps[k];
      at_tail[k] = row.tail + stencil_.steps[k];
    }
    const Real* adds = kAdds ? addend_.values + index : nullptr;
    const auto terms = [&](const Real* const* from) {
      return Terms<Real>{n_terms_, from, stencil_.coefficients.data(), adds, addend_.factor};
    };
    ComputeSpan<kAdds, false>(terms(at_head), to, 0, head);
    ComputeSpan<kAdds, kStreams>(terms(inside), to, head, tail);
    ComputeSpan<kAdds, false>(terms(at_tail), to, tail, length_);
  }

 private:
  static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Real));
  struct Row {
    const Real *head, *inside, *tail;  // where number 0 of the row would be
  };

  const RowStencil<Real>& stencil_;
  const FieldRows<Real>& from_;
  Addend<Real> addend_;
  std::int64_t length_, below_, above_, least_head_ = 0, least_tail_ = 0, copy_size_ = 0;
  std::size_t n_terms_;
  std::vector<const Real*> pointers_;
  std::vector<Row> rows_;
  std::vector<Real> copies_;
};

/// Goes through strips of rows whose planes stay in the second-level cache, plane by plane.
template <bool kAdds, bool kStreams, class Real>
void Apply(const RowStencil<Real>& stencil, const FieldRows<Real>& from, Real* to, std::int64_t first,
           std::int64_t last, const Addend<Real>& addend) {
  constexpr std::int64_t kCacheBytes = 384 * 1024;
  const auto rows = from.extents[1], length = from.extents[2] * from.components;
  const auto planes = stencil.reach[0][0] + stencil.reach[1][0] + 2;  // and the next one, which is fetched ahead
  const std::int64_t strip =
      std::max<std::int64_t>(8, kCacheBytes / (planes * length * static_cast<std::int64_t>(sizeof(Real))));
  RowComputer<kAdds, kStreams, Real> computer(stencil, from, addend);
  for (std::int64_t begin = 0; begin < rows; begin += strip)
    for (auto x = first; x < last; ++x)
      for (auto y = begin; y < std::min(rows, begin + strip); ++y) {
        const auto index = (x * rows + y) * length;
        computer.Compute(x, y, to + index, index);
      }
  if constexpr (kStreams) hwy::FlushStream();
}

template <class Real>
void ApplyStencil(const RowStencil<Real>& stencil, const FieldRows<Real>& from, Real* to, std::int64_t first,
                  std::int64_t last, const Addend<Real>& addend, bool streams) {
  if (addend.values != nullptr)
    streams ? Apply<true, true>(stencil, from, to, first, last, addend)
            : Apply<true, false>(stencil, from, to, first, last, addend);
  else
    streams ? Apply<false, true>(stencil, from, to, first, last, addend)
            : Apply<false, false>(stencil, from, to, first, last, addend);
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
