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
#include "tessera/base/simd/stage-inl.h"
#include "tessera/grid/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::grid {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Where results go.
template <class Real>
struct Target {
  Real* to;
  std::int64_t first, last;  // planes that are computed
  const Addend<Real>& addend;
  bool streams;
};

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
    for (auto left = below; left > 0; left -= length) turn(before - below, left, from.ends.phases[0]);
    for (std::int64_t i = 0; i < above; i += length) turn(after + i, above - i, from.ends.phases[1]);
  }
}

/// Computes rows of `kPlanes` planes side by side, which share what they read from planes in between. Neighbours along
/// z come from the vectors before and after, by shifts: loads that cross cache lines take twice as long.
template <int kRadius, int kComponents, int kPlanes, class D>
class StarComputer {
  using Real = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());

 public:
  static constexpr int planes = kPlanes;

  StarComputer(const RowStencil<Real>& stencil, const FieldRows<Real>& from, const Target<Real>& target)
      : from_(from),
        target_(target),
        length_(from.extents[2] * from.components),
        plane_(from.extents[1] * length_),
        coefficients_(stencil.coefficients.data()),
        follows_itself_(from.ends.kind == RowEnds<Real>::Kind::wrap && !from.ends.is_turned && length_ % kLanes == 0 &&
                        unaligned(from.row(0, 0)) == 0 && unaligned(target.to) == 0),
        joints_(hwy::AllocateAligned<Real>(kPlanes * 3 * kLanes)),
        ends_(hwy::AllocateAligned<Real>(kPlanes * 2 * kEnds)) {
    std::fill_n(ends_.get(), kPlanes * 2 * kEnds, Real{0});
  }

  /// Tells whether results of this class can be written past the caches. Then vectors begin at the same numbers in all
  /// planes that are computed side by side.
  static constexpr bool can_stream(std::int64_t plane) { return kPlanes == 1 || plane % kLanes == 0; }

  /// Computes row y of the planes from x on. After the last of rows that follow each other comes Finish().
  void Compute(std::int64_t x, std::int64_t y) {
    // The next row's ends are copied already now: a vector that reads what several stores have just written would have
    // to wait.
    const bool is_next = x == x_ && y == y_ + 1;
    if (!is_next) PlaceEnds(x, y);
    if (y + 1 < from_.extents[1]) PlaceEnds(x, y + 1);
    PlaceRows(x, y, is_next);
    const auto index = x * plane_ + y * length_;
    rows_.ends = end_places_[y % 2];
    rows_.to = target_.to + index;
    if (target_.addend.values != nullptr) rows_.addend = target_.addend.values + index;
    if (target_.streams)
      ComputeRow<true>(unaligned(rows_.to), is_next);  // vectors begin where they can be written past the caches
    else
      ComputeRow<false>(0, is_next);
  }

  void Finish() const {
    if (!target_.streams || rest_ == 0) return;
    for (int p = 0; p < kPlanes; ++p) std::copy_n(joint(p), rest_, rows_.to + p * plane_ + length_ - rest_);
  }

 private:
  static constexpr std::int64_t kReach = kRadius * kComponents;
  static constexpr std::int64_t kEnds = 4 * kLanes;

  /// Where number −kLanes is, and those after it up to the first vector; and number length, with the last vector before
  /// it.
  struct Ends {
    const Real *before, *after;
  };
  /// The rows that are read and written.
  struct Rows {
    const Real* x[kPlanes + 2 * kRadius];  // row y of all planes
    const Real* y[kPlanes][2 * kRadius];   // above and below, from the nearest outwards
    const Real* ahead[kPlanes];            // row y of the next planes, fetched ahead
    std::array<Ends, kPlanes> ends;
    const Real* addend;
    Real* to;
  };

  /// Returns how many numbers lie before the next vector that is aligned.
  static std::int64_t unaligned(const Real* at) {
    constexpr std::uintptr_t bytes = kLanes * sizeof(Real);
    const auto over = reinterpret_cast<std::uintptr_t>(at) % bytes;
    return over % sizeof(Real) != 0 ? 0 : static_cast<std::int64_t>((bytes - over) % bytes / sizeof(Real));
  }

  void PlaceEnds(std::int64_t x, std::int64_t y) {
    for (int p = 0; p < kPlanes; ++p) {
      const Real* row = from_.row(x + p, y);
      auto& its = end_places_[y % 2][p];
      if (follows_itself_) {
        its = {row + length_ - kLanes, row};
      } else {
        const D d;
        Real* before = ends_.get() + (2 * p + y % 2) * kEnds;
        Real* after = before + 3 * kLanes;
        hn::Store(hn::LoadU(d, row), d, before + kLanes);
        hn::Store(hn::LoadU(d, row + length_ - kLanes), d, after - kLanes);
        CopyEnds(from_, x + p, y, kReach, kReach, before + kLanes, after);
        its = {before, after};
      }
    }
  }

  void PlaceRows(std::int64_t x, std::int64_t y, bool is_next) {
    x_ = x;
    y_ = y;
    if (is_next && y > kRadius && y + kRadius < from_.extents[1]) {  // all are the rows after those before
      for (auto& row : rows_.x) row += length_;
      for (auto& row : rows_.ahead) row += length_;
      for (auto& rows : rows_.y)
        for (auto& row : rows) row += length_;
      return;
    }
    for (int i = 0; i < kPlanes + 2 * kRadius; ++i) rows_.x[i] = from_.row(x + i - kRadius, y);
    for (int p = 0; p < kPlanes; ++p)
      rows_.ahead[p] = from_.row(std::min(x + kPlanes + kRadius + p, from_.extents[0] + kRadius - 1), y);
    for (int p = 0; p < kPlanes; ++p)
      for (int k = 0; k < kRadius; ++k) {
        rows_.y[p][2 * k] = from_.row(x + p, y + k + 1);
        rows_.y[p][2 * k + 1] = from_.row(x + p, y - k - 1);
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

  struct Coefficients {
    V centre, axis[3][kRadius], addend;
  };

  /// Returns the sums of the vectors from number i on of plane p.
  TESSERA_STAGE V Sum(const Rows& rows, const Coefficients& coefficients, const V* column, const Middle& middle, int p,
                      std::int64_t i) const {
    const D d;
    V sum;
    if (rows.addend == nullptr) {
      sum = hn::Mul(coefficients.centre, middle.at);
    } else {
      sum = hn::Mul(coefficients.addend, hn::LoadU(d, rows.addend + p * plane_ + i));
      sum = simd::HWY_NAMESPACE::MulAdd(coefficients.centre, middle.at, sum);
    }
#pragma GCC unroll 8
    for (int k = 0; k < kRadius; ++k) {
      sum = simd::HWY_NAMESPACE::MulAdd(coefficients.axis[0][k], column[kRadius + k + 1], sum);
      sum = simd::HWY_NAMESPACE::MulAdd(coefficients.axis[0][k], column[kRadius - k - 1], sum);
    }
#pragma GCC unroll 8
    for (int k = 0; k < kRadius; ++k) {
      sum = simd::HWY_NAMESPACE::MulAdd(coefficients.axis[1][k], hn::LoadU(d, rows.y[p][2 * k] + i), sum);
      sum = simd::HWY_NAMESPACE::MulAdd(coefficients.axis[1][k], hn::LoadU(d, rows.y[p][2 * k + 1] + i), sum);
    }
    AddAlongZ(middle, coefficients.axis[2], sum);
    return sum;
  }

  /// Computes the vectors from number i on, one for each plane, and calls store(sum, p) for plane p.
  template <class Store>
  TESSERA_STAGE void ComputeVectors(const Rows& rows, const Coefficients& coefficients, const Middle (&middle)[kPlanes],
                                    std::int64_t i, const Store& store) const {
    V column[kPlanes + 2 * kRadius];
#pragma GCC unroll 16
    for (int j = 0; j < kPlanes + 2 * kRadius; ++j)
      column[j] = j >= kRadius && j < kRadius + kPlanes ? middle[j - kRadius].at : hn::LoadU(D(), rows.x[j] + i);
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      store(Sum(rows, coefficients, column + p, middle[p], p, i), p);
      __builtin_prefetch(rows.ahead[p] + i, 0, 2);
    }
  }

  /// Loads the vector from number i on of the row of plane p, −kLanes ≤ i ≤ length.
  HWY_INLINE V Load(const Rows& rows, int p, std::int64_t i) const {
    const Real* from = i < 0                  ? rows.ends[p].before + kLanes + i
                       : i > length_ - kLanes ? rows.ends[p].after + i - length_
                                              : rows.x[kRadius + p] + i;
    return hn::LoadU(D(), from);
  }

  /// Computes the vectors from number i on, which are not aligned, and stores that of plane p at place_of(p).
  template <class PlaceOf>
  HWY_INLINE void ComputeEnd(const Rows& rows, const Coefficients& coefficients, std::int64_t i,
                             const PlaceOf& place_of) const {
    Middle middle[kPlanes];
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p)
      middle[p] = {Load(rows, p, i - kLanes), Load(rows, p, i), Load(rows, p, i + kLanes)};
    ComputeVectors(rows, coefficients, middle, i,
                   [&](const V& sum, int p) HWY_ATTR { hn::StoreU(sum, D(), place_of(p)); });
  }

  /// Computes the numbers before `first`, where results are written past the caches.
  HWY_INLINE void ComputeHead(const Rows& rows, const Coefficients& coefficients, std::int64_t first,
                              bool continues) const {
    ComputeEnd(rows, coefficients, 0, [&](int p) { return joint(p) + kLanes - first; });
    for (int p = 0; p < kPlanes; ++p) {
      Real* to = rows.to + p * plane_;
      if (continues)
        hn::Stream(hn::Load(D(), joint(p)), D(), to + first - kLanes);
      else
        std::copy_n(joint(p) + kLanes - first, first, to);
    }
  }

  /// Returns the vector that holds the last numbers of a row and, where results are written past the caches, the first
  /// ones of the next, until all are computed: stores into the same cache line in two ways would wait for memory. There
  /// is a vector of space before and after.
  Real* joint(int p) const { return joints_.get() + (3 * p + 1) * kLanes; }

  /// Computes a row, of which vectors begin at number `first` < kLanes. `continues`: the row before has just been
  /// computed.
  template <bool kStreams>
  void ComputeRow(std::int64_t first, bool continues) {
    const D d;
    const Rows rows = rows_;  // a copy, which no store can change
    Coefficients coefficients{hn::Set(d, coefficients_[0]), {}, hn::Set(d, target_.addend.factor)};
#pragma GCC unroll 4
    for (int axis = 0; axis < 3; ++axis)
#pragma GCC unroll 8
      for (int k = 0; k < kRadius; ++k)
        coefficients.axis[axis][k] = hn::Set(d, coefficients_[1 + 2 * (axis * kRadius + k)]);
    if (kStreams && first > 0) ComputeHead(rows, coefficients, first, continues);
    // The last vector overlaps the one before it, so it is computed before that may overwrite what is added.
    rest_ = (length_ - first) % kLanes;
    if (rest_ > 0) ComputeEnd(rows, coefficients, length_ - kLanes, [&](int p) { return joint(p) + rest_ - kLanes; });
    Middle middle[kPlanes];
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p) {
      middle[p].at = Load(rows, p, first - kLanes);
      middle[p].after = Load(rows, p, first);
    }
    auto i = first;
    for (; i + kLanes <= length_; i += kLanes) {
#pragma GCC unroll 2
      for (int p = 0; p < kPlanes; ++p) middle[p] = {middle[p].at, middle[p].after, Load(rows, p, i + kLanes)};
      ComputeVectors(rows, coefficients, middle, i, [&](const V& sum, int p) HWY_ATTR {
        if constexpr (kStreams)
          hn::Stream(sum, d, rows.to + p * plane_ + i);
        else
          hn::StoreU(sum, d, rows.to + p * plane_ + i);
      });
    }
    if (kStreams || rest_ == 0) return;
#pragma GCC unroll 2
    for (int p = 0; p < kPlanes; ++p)
      hn::StoreU(hn::LoadU(d, joint(p) + rest_ - kLanes), d, rows.to + p * plane_ + length_ - kLanes);
  }

  const FieldRows<Real>& from_;
  Target<Real> target_;
  std::int64_t length_, plane_;
  const Real* coefficients_;
  bool follows_itself_;  // a row's ends are read in the row itself
  std::int64_t x_ = -1, y_ = -1;
  Rows rows_{};
  std::array<std::array<Ends, kPlanes>, 2> end_places_{};  // of even and odd rows
  std::int64_t rest_ = 0;                                  // numbers after the last aligned vector of the row before
  hwy::AlignedFreeUniquePtr<Real[]> joints_, ends_;
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();
