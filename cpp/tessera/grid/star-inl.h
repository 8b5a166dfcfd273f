// The kernel of stencils whose points lie on the three axes, alike on both sides, as those of a Laplacian on an
// orthogonal grid do. It is included once for each instruction set.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/base/simd/rounding-inl.h"
#include "tessera/base/simd/shift-inl.h"
#include "tessera/grid/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::grid {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Copies what lies before the first and after the last number of a row: `below` numbers that end just before `before`,
/// and `above` numbers from `after` on.
template <class Real>
void CopyEnds(const FieldRows<Real>& from, std::int64_t x, std::int64_t y, std::int64_t below, std::int64_t above,
              Real* before, Real* after) {
  using Kind = typename RowEnds<Real>::Kind;
  if (from.ends.kind == Kind::zeros) {
    std::fill_n(before - below, below, Real{0});
    std::fill_n(after, above, Real{0});
  } else if (from.ends.kind == Kind::given) {
    const auto at = (x + from.reach[0][0]) * from.padded_rows() + y + from.reach[0][1];
    const Real* its = from.ends.values + at * (below + above);
    std::copy_n(its, below, before - below);
    std::copy_n(its + below, above, after);
  } else {
    const auto length = from.extents[2] * from.components;
    const Real* row = from.row(x, y);
    for (std::int64_t i = -1; i >= -below; --i)  // in turn, as a stencil may reach around more than once
      before[i] = i + length >= 0 ? row[i + length] : before[i + length];
    for (std::int64_t i = 0; i < above; ++i) after[i] = i < length ? row[i] : after[i - length];
    if (!from.ends.is_turned) return;
    const auto c = from.components;
    for (auto i = -c; i >= -below; i -= c)
      for (auto left = i; left < 0; left += length) turn(before + i, c, from.ends.phases[0]);
    for (std::int64_t i = 0; i < above; i += c)
      for (auto left = i; left >= 0; left -= length) turn(after + i, c, from.ends.phases[1]);
  }
}

/// Computes rows of `kPlanes` planes side by side, which share what they read from planes in between. Neighbours along
/// z come from the vectors before and after, by shifts: loads that cross cache lines take twice as long.
template <int kRadius, int kComponents, int kPlanes, class Real>
class StarComputer {
  using D = hn::ScalableTag<Real>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());

 public:
  static constexpr int planes = kPlanes;

  /// Tells whether this class computes rows of `length` numbers.
  static constexpr bool can_compute(std::int64_t length) { return length >= 2 * kLanes; }

  StarComputer(const RowStencil<Real>& stencil, const FieldRows<Real>& from, const Addend<Real>& addend, bool streams)
      : from_(from),
        addend_(addend),
        streams_(streams),
        length_(from.extents[2] * from.components),
        rest_(length_ % kLanes),
        plane_(from.extents[1] * length_),
        coefficients_(stencil.coefficients.data()),
        ends_(hwy::AllocateAligned<Real>(kPlanes * 2 * kEnds)) {
    std::fill_n(ends_.get(), kPlanes * 2 * kEnds, Real{0});
  }

  /// Computes row y of the planes from x on. `index`: of the first number in the box.
  void Compute(std::int64_t x, std::int64_t y, Real* to, std::int64_t index) {
    // The next row's ends are copied already now: a vector that reads what several stores have just written would have
    // to wait.
    const bool is_next = x == x_ && y == y_ + 1;
    if (!is_next) PlaceEnds(x, y);
    if (y + 1 < from_.extents[1]) PlaceEnds(x, y + 1);
    PlaceRows(x, y, is_next);
    const bool is_aligned =
        reinterpret_cast<std::uintptr_t>(to) % (kLanes * sizeof(Real)) == 0 && (kPlanes == 1 || plane_ % kLanes == 0);
    const Real* addend = addend_.values == nullptr ? nullptr : addend_.values + index;
    if (streams_ && is_aligned)
      ComputeRow<true>(y % 2, addend, to);
    else
      ComputeRow<false>(y % 2, addend, to);
  }

 private:
  static constexpr std::int64_t kReach = kRadius * kComponents;
  static constexpr std::int64_t kEnds = 3 * kLanes;

  /// The vector before a row, and the numbers from the last whole vector's end on.
  struct Ends {
    const Real *before, *after;
  };

  void PlaceEnds(std::int64_t x, std::int64_t y) {
    using Kind = typename RowEnds<Real>::Kind;
    for (int p = 0; p < kPlanes; ++p) {
      const Real* row = from_.row(x + p, y);
      auto& its = end_places_[y % 2][p];
      if (from_.ends.kind == Kind::wrap && !from_.ends.is_turned && rest_ == 0) {
        its = {row + length_ - kLanes, row};
      } else {
        Real* before = ends_.get() + (2 * p + y % 2) * kEnds;
        Real* after = before + kLanes;
        std::copy_n(row + length_ - rest_, rest_, after);
        CopyEnds(from_, x + p, y, kReach, kReach, after, after + rest_);
        its = {before, after};
      }
    }
  }

  void PlaceRows(std::int64_t x, std::int64_t y, bool is_next) {
    x_ = x;
    y_ = y;
    if (is_next && y > kRadius && y + kRadius < from_.extents[1]) {  // all are the rows after those before
      for (auto& row : x_rows_) row += length_;
      for (auto& row : ahead_) row += length_;
      for (auto& rows : y_rows_)
        for (auto& row : rows) row += length_;
      return;
    }
    for (int i = 0; i < kPlanes + 2 * kRadius; ++i) x_rows_[i] = from_.row(x + i - kRadius, y);
    for (int p = 0; p < kPlanes; ++p)
      ahead_[p] = from_.row(std::min(x + kPlanes + kRadius + p, from_.extents[0] + kRadius - 1), y);
    for (int p = 0; p < kPlanes; ++p)
      for (int k = 0; k < kRadius; ++k) {
        y_rows_[p][2 * k] = from_.row(x + p, y + k + 1);
        y_rows_[p][2 * k + 1] = from_.row(x + p, y - k - 1);
      }
  }

  /// The three vectors in a row of one plane around the numbers that are computed.
  struct Middle {
    V before, at, after;
  };

  /// Adds the neighbours along z, from the nearest ones outwards.
  template <int k = 1>
  HWY_INLINE void AddAlongZ(const Middle& middle, const V* coefficients, V& sum) const {
    if constexpr (k <= kRadius) {
      constexpr std::size_t step = k * kComponents;
      sum = simd::HWY_NAMESPACE::MulAdd(coefficients[k - 1],
                                        simd::HWY_NAMESPACE::LanesFrom<step>(D(), middle.at, middle.after), sum);
      sum = simd::HWY_NAMESPACE::MulAdd(
          coefficients[k - 1], simd::HWY_NAMESPACE::LanesFrom<kLanes - step>(D(), middle.before, middle.at), sum);
      AddAlongZ<k + 1>(middle, coefficients, sum);
    }
  }

  /// Computes the vectors from number i on, one for each plane.
  template <bool kStreams>
  HWY_INLINE void ComputeVectors(std::int64_t i, const V& centre, const V (&coefficients)[3][kRadius],
                                 const Middle (&middle)[kPlanes], const V& factor, const Real* addend, Real* to) const {
    const D d;
    V column[kPlanes + 2 * kRadius];
#pragma GCC unroll 16
    for (int j = 0; j < kPlanes + 2 * kRadius; ++j)
      column[j] = j >= kRadius && j < kRadius + kPlanes ? middle[j - kRadius].at : hn::LoadU(d, x_rows_[j] + i);
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      V sum;
      if (addend == nullptr) {
        sum = hn::Mul(centre, middle[p].at);
      } else {
        sum = hn::Mul(factor, hn::LoadU(d, addend + p * plane_ + i));
        sum = simd::HWY_NAMESPACE::MulAdd(centre, middle[p].at, sum);
      }
#pragma GCC unroll 8
      for (int k = 0; k < kRadius; ++k) {
        sum = simd::HWY_NAMESPACE::MulAdd(coefficients[0][k], column[p + kRadius + k + 1], sum);
        sum = simd::HWY_NAMESPACE::MulAdd(coefficients[0][k], column[p + kRadius - k - 1], sum);
      }
#pragma GCC unroll 8
      for (int k = 0; k < kRadius; ++k) {
        sum = simd::HWY_NAMESPACE::MulAdd(coefficients[1][k], hn::LoadU(d, y_rows_[p][2 * k] + i), sum);
        sum = simd::HWY_NAMESPACE::MulAdd(coefficients[1][k], hn::LoadU(d, y_rows_[p][2 * k + 1] + i), sum);
      }
      AddAlongZ(middle[p], coefficients[2], sum);
      if constexpr (kStreams)
        hn::Stream(sum, d, to + p * plane_ + i);
      else
        hn::StoreU(sum, d, to + p * plane_ + i);
      __builtin_prefetch(ahead_[p] + i, 0, 2);
    }
  }

  template <bool kStreams>
  void ComputeRow(std::int64_t parity, const Real* addend, Real* to) const {
    const D d;
    const V centre = hn::Set(d, coefficients_[0]), factor = hn::Set(d, addend_.factor);
    V coefficients[3][kRadius];
#pragma GCC unroll 4
    for (int axis = 0; axis < 3; ++axis)
#pragma GCC unroll 8
      for (int k = 0; k < kRadius; ++k) coefficients[axis][k] = hn::Set(d, coefficients_[1 + 2 * (axis * kRadius + k)]);
    const auto& ends = end_places_[parity];
    Middle middle[kPlanes];
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      middle[p].at = hn::LoadU(d, ends[p].before);
      middle[p].after = hn::LoadU(d, x_rows_[kRadius + p]);
    }
    const auto whole = length_ - rest_;
    const auto compute = [&](std::int64_t i, const Real* after0, const Real* after1) HWY_ATTR {
      const Real* const after[2] = {after0, after1};
#pragma GCC unroll 2
      for (int p = 0; p < kPlanes; ++p) middle[p] = {middle[p].at, middle[p].after, hn::LoadU(d, after[p])};
      ComputeVectors<kStreams>(i, centre, coefficients, middle, factor, addend, to);
    };
    constexpr int last = kPlanes - 1;
    std::int64_t i = 0;
    for (; i + kLanes < whole; i += kLanes)
      compute(i, x_rows_[kRadius] + i + kLanes, x_rows_[kRadius + last] + i + kLanes);
    compute(i, ends[0].after, ends[last].after);
    if (rest_ == 0) return;
    // Of the last vector some numbers are computed once more.
    i = length_ - kLanes;
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      const Real* row = x_rows_[kRadius + p] + i;
      middle[p] = {hn::LoadU(d, row - kLanes), hn::LoadU(d, row), hn::LoadU(d, ends[p].after + rest_)};
    }
    ComputeVectors<false>(i, centre, coefficients, middle, factor, addend, to);
  }

  const FieldRows<Real>& from_;
  Addend<Real> addend_;
  bool streams_;
  std::int64_t length_, rest_, plane_;  // rest: numbers after the last whole vector of a row
  const Real* coefficients_;
  std::int64_t x_ = -1, y_ = -1;
  std::array<const Real*, kPlanes + 2 * kRadius> x_rows_{};           // row y of all planes
  std::array<std::array<const Real*, 2 * kRadius>, kPlanes> y_rows_;  // above and below, from the nearest outwards
  std::array<const Real*, kPlanes> ahead_{};                          // row y of the next planes, fetched ahead
  std::array<std::array<Ends, kPlanes>, 2> end_places_{};             // of even and odd rows
  hwy::AlignedFreeUniquePtr<Real[]> ends_;
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();
