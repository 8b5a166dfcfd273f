// The kernels of rows, compiled for each instruction set by rows.cpp.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/simd/rounding-inl.h"
#include "tessera/grid/levels/rows.h"

#if defined(TESSERA_GRID_LEVELS_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_GRID_LEVELS_ROWS_INL_H
#undef TESSERA_GRID_LEVELS_ROWS_INL_H
#else
#define TESSERA_GRID_LEVELS_ROWS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::grid {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Sums vectors side by side. `kTerms`: the number of rows where it is known, else 0.
template <int kVectors, int kTerms, class D, class Real = hn::TFromD<D>>
HWY_INLINE void SumVectors(D d, const Real* const* rows, const Real* weights, std::size_t n, std::int64_t at,
                           Real* to) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[kVectors];
  const V first = hn::Set(d, weights[0]);
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(first, hn::LoadU(d, rows[0] + at + v * lanes));
  const auto add = [&](std::size_t k) HWY_ATTR {
    const V weight = hn::Set(d, weights[k]);
    for (int v = 0; v < kVectors; ++v)
      sums[v] = simd::HWY_NAMESPACE::MulAdd(weight, hn::LoadU(d, rows[k] + at + v * lanes), sums[v]);
  };
  if constexpr (kTerms > 0) {
#pragma GCC unroll 16
    for (std::size_t k = 1; k < kTerms; ++k) add(k);
  } else {
    for (std::size_t k = 1; k < n; ++k) add(k);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, to + at + v * lanes);
}

template <int kTerms, class Real>
HWY_INLINE void SumRowsOf(std::span<const Real* const> rows, std::span<const Real> weights, Real* to,
                          std::int64_t length) {
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  constexpr int kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto n = rows.size();
  // Copies, which no store can change, so that they stay in registers.
  const Real* its_rows[kTerms > 0 ? kTerms : 1];
  Real its_weights[kTerms > 0 ? kTerms : 1];
  for (std::size_t k = 0; k < kTerms; ++k) its_rows[k] = rows[k], its_weights[k] = weights[k];
  const Real* const* const from = kTerms > 0 ? its_rows : rows.data();
  const Real* const factors = kTerms > 0 ? its_weights : weights.data();
  std::int64_t i = 0;
  for (; i + kVectors * lanes <= length; i += kVectors * lanes)
    SumVectors<kVectors, kTerms>(d, from, factors, n, i, to);
  for (; i + lanes <= length; i += lanes) SumVectors<1, kTerms>(d, from, factors, n, i, to);
  if (i < length && lanes <= length)  // the last vector overlaps the one before
    return SumVectors<1, kTerms>(d, from, factors, n, length - lanes, to);
  for (; i < length; ++i) SumVectors<1, kTerms>(one, from, factors, n, i, to);
}

/// Sums rows; the sums of transfers of orders 1 to 4 are unrolled.
template <class Real>
HWY_INLINE void SumRows(std::span<const Real* const> rows, std::span<const Real> weights, Real* to,
                        std::int64_t length) {
  switch (rows.size()) {
    case 2:
      return SumRowsOf<2>(rows, weights, to, length);
    case 3:
      return SumRowsOf<3>(rows, weights, to, length);
    case 4:
      return SumRowsOf<4>(rows, weights, to, length);
    case 5:
      return SumRowsOf<5>(rows, weights, to, length);
    case 6:
      return SumRowsOf<6>(rows, weights, to, length);
    case 7:
      return SumRowsOf<7>(rows, weights, to, length);
    case 8:
      return SumRowsOf<8>(rows, weights, to, length);
    case 9:
      return SumRowsOf<9>(rows, weights, to, length);
    default:
      return SumRowsOf<0>(rows, weights, to, length);
  }
}

/// Splits pairs of values: those at even places go to `even`, the others to `odd`.
template <int kComponents, class Real>
HWY_INLINE void SplitPairs(const Real* from, std::int64_t pairs, Real* even, Real* odd) {
  const hn::CappedTag<Real, kComponents> value;
  std::int64_t i = 0;
  if constexpr (kComponents == 1) {
    const hn::ScalableTag<Real> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; i + lanes <= pairs; i += lanes) {
      hn::Vec<decltype(d)> first, second;
      hn::LoadInterleaved2(d, from + 2 * i, first, second);
      hn::StoreU(first, d, even + i);
      hn::StoreU(second, d, odd + i);
    }
  } else if constexpr (hn::MaxLanes(hn::ScalableTag<Real>()) >= 2 * kComponents) {
    const hn::CappedTag<Real, 2 * kComponents> d;
    for (; i + 2 <= pairs; i += 2) {
      const Real* its = from + 2 * i * kComponents;
      const auto low = hn::LoadU(d, its), high = hn::LoadU(d, its + 2 * kComponents);
      hn::StoreU(hn::ConcatLowerLower(d, high, low), d, even + i * kComponents);
      hn::StoreU(hn::ConcatUpperUpper(d, high, low), d, odd + i * kComponents);
    }
  }
  for (; i < pairs; ++i) {
    const Real* its = from + 2 * i * kComponents;
    hn::StoreU(hn::LoadU(value, its), value, even + i * kComponents);
    hn::StoreU(hn::LoadU(value, its + kComponents), value, odd + i * kComponents);
  }
}

/// Splits the values of a row from place `begin` to `end`: those at even distances from `begin` go to `even`, the
/// others to `odd`.
template <int kComponents, class Real>
HWY_INLINE void SplitParts(std::span<const RowPart<Real>> parts, std::int64_t begin, std::int64_t end, Real* even,
                           Real* odd) {
  const hn::CappedTag<Real, kComponents> value;
  std::int64_t place = 0;  // of the part
  for (const auto& part : parts) {
    const Real* from = part.values + std::max<std::int64_t>(0, begin - place) * kComponents;
    auto at = std::max<std::int64_t>(0, place - begin);
    const auto last = std::min(end, place + part.n) - begin;
    place += part.n;
    if (at < last && at % 2 == 1) {
      hn::StoreU(hn::LoadU(value, from), value, odd + at / 2 * kComponents);
      ++at, from += kComponents;
    }
    if (at >= last) continue;
    const auto pairs = (last - at) / 2;
    SplitPairs<kComponents>(from, pairs, even + at / 2 * kComponents, odd + at / 2 * kComponents);
    if ((last - at) % 2 == 1)
      hn::StoreU(hn::LoadU(value, from + 2 * pairs * kComponents), value, even + (at / 2 + pairs) * kComponents);
  }
}

/// Sums numbers of restricted values from number i on. `middle` and `beside` point to what number 0 has at its own
/// place and just above it.
template <int kOrder, int kComponents, class D, class Real = hn::TFromD<D>>
HWY_INLINE void HalveVector(D d, std::span<const Real> weights, const Real* middle, const Real* beside, std::int64_t i,
                            Real* to) {
  auto sum = hn::Mul(hn::Set(d, static_cast<Real>(0.5)), hn::LoadU(d, middle + i));
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kOrder; ++k) {
    const auto step = static_cast<std::ptrdiff_t>(k) * kComponents;
    const auto both = hn::Add(hn::LoadU(d, beside + i + step), hn::LoadU(d, beside + i - step - kComponents));
    sum = simd::HWY_NAMESPACE::MulAdd(hn::Set(d, weights[k]), both, sum);
  }
  hn::StoreU(sum, d, to + i);
}

/// Restricts a row. Fine values at even and odd places are split first, so that neighbours of coarse values are
/// consecutive.
template <int kOrder, int kComponents, class Real>
HWY_INLINE void HalveRowOf(std::span<const Real> weights, std::span<const RowPart<Real>> parts, Real* to,
                           std::int64_t n) {
  constexpr std::int64_t most = 128;           // values at a time
  constexpr std::int64_t most_around = 2 * 4;  // of the greatest order of transfers
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t order = kOrder;
  alignas(64) Real even[(most + most_around) * kComponents];
  alignas(64) Real odd[(most + most_around) * kComponents];
  for (std::int64_t begin = 0; begin < n; begin += most) {
    const auto values = std::min(most, n - begin), length = values * kComponents;
    const auto pairs = values + 2 * order - 2;
    // The first value of a row is at an odd place.
    SplitParts<kComponents>(parts, 2 * begin, 2 * (begin + pairs) + 1, odd, even);
    const Real* middle = even + (order - 1) * kComponents;
    const Real* beside = odd + order * kComponents;
    Real* its = to + begin * kComponents;
    std::int64_t i = 0;
    for (; i + lanes <= length; i += lanes) HalveVector<kOrder, kComponents>(d, weights, middle, beside, i, its);
    if (i < length && lanes <= length) {  // the last vector overlaps the one before
      HalveVector<kOrder, kComponents>(d, weights, middle, beside, length - lanes, its);
      continue;
    }
    for (; i < length; ++i) HalveVector<kOrder, kComponents>(one, weights, middle, beside, i, its);
  }
}

template <int kOrder = 1, class Real>
HWY_INLINE void HalveRow(std::span<const Real> weights, int components, std::span<const RowPart<Real>> parts, Real* to,
                         std::int64_t n) {
  if (kOrder < 4 && weights.size() > kOrder)
    return HalveRow<std::min(kOrder + 1, 4)>(weights, components, parts, to, n);
  if (components == 1)
    HalveRowOf<kOrder, 1>(weights, parts, to, n);
  else
    HalveRowOf<kOrder, 2>(weights, parts, to, n);
}

template <int kComponents, class D, class Real = hn::TFromD<D>>
HWY_INLINE void DoubleVector(D d, std::span<const Real> weights, const Real* from, Real* to) {
  using V = hn::Vec<D>;
  V even[kComponents], odd[kComponents], above[kComponents], below[kComponents];
  const auto load = [&](const Real* at, V(&values)[kComponents]) HWY_ATTR {
    if constexpr (kComponents == 1)
      values[0] = hn::LoadU(d, at);
    else
      hn::LoadInterleaved2(d, at, values[0], values[1]);
  };
  load(from, even);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const auto step = static_cast<std::ptrdiff_t>(k) * kComponents;
    load(from + step + kComponents, above);
    load(from - step, below);
    const V weight = hn::Set(d, weights[k]);
    for (int c = 0; c < kComponents; ++c) {
      const V both = hn::Add(below[c], above[c]);
      odd[c] = k == 0 ? hn::Mul(weight, both) : simd::HWY_NAMESPACE::MulAdd(weight, both, odd[c]);
    }
  }
  if constexpr (kComponents == 1)
    hn::StoreInterleaved2(even[0], odd[0], d, to);
  else
    hn::StoreInterleaved4(even[0], even[1], odd[0], odd[1], d, to);
}

template <int kComponents, class Real>
HWY_INLINE void DoubleRowOf(std::span<const Real> weights, const Real* from, Real* to, std::int64_t n) {
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto make = [&](auto tag, std::int64_t i) HWY_ATTR {
    DoubleVector<kComponents>(tag, weights, from + i * kComponents, to + 2 * i * kComponents);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) make(d, i);
  if (i < n && lanes <= n) return make(d, n - lanes);  // the last vector overlaps the one before
  for (; i < n; ++i) make(one, i);
}

template <class Real>
HWY_INLINE void DoubleRow(std::span<const Real> weights, int components, const Real* from, Real* to, std::int64_t n) {
  if (components == 1)
    DoubleRowOf<1>(weights, from, to, n);
  else
    DoubleRowOf<2>(weights, from, to, n);
}

/// Adds the nearest value last and keeps it in a register, as every point waits for it.
void FollowRow(std::span<const double> weights, std::span<const std::int64_t> steps, const double* sums, double* row,
               std::int64_t n) {
  const hn::CappedTag<double, 1> d;
  const bool has_nearest = !steps.empty() && steps.back() == -1;
  const std::size_t n_far = steps.size() - (has_nearest ? 1 : 0);
  auto before = hn::Zero(d), nearest = hn::Zero(d);
  if (has_nearest) {
    before = hn::LoadU(d, row - 1);
    nearest = hn::Set(d, weights.back());
  }
  for (std::int64_t i = 0; i < n; ++i) {
    auto sum = hn::LoadU(d, sums + i);
    for (std::size_t k = 0; k < n_far; ++k)
      sum = simd::HWY_NAMESPACE::MulAdd(hn::Set(d, weights[k]), hn::LoadU(d, row + i + steps[k]), sum);
    before = has_nearest ? simd::HWY_NAMESPACE::MulAdd(nearest, before, sum) : sum;
    hn::StoreU(before, d, row + i);
  }
}

void SumFloats(std::span<const float* const> rows, std::span<const float> weights, float* to, std::int64_t length) {
  SumRows(rows, weights, to, length);
}
void SumDoubles(std::span<const double* const> rows, std::span<const double> weights, double* to, std::int64_t length) {
  SumRows(rows, weights, to, length);
}
void HalveFloats(std::span<const float> weights, int components, std::span<const RowPart<float>> parts, float* to,
                 std::int64_t n) {
  HalveRow(weights, components, parts, to, n);
}
void HalveDoubles(std::span<const double> weights, int components, std::span<const RowPart<double>> parts, double* to,
                  std::int64_t n) {
  HalveRow(weights, components, parts, to, n);
}
void DoubleFloats(std::span<const float> weights, int components, const float* from, float* to, std::int64_t n) {
  DoubleRow(weights, components, from, to, n);
}
void DoubleDoubles(std::span<const double> weights, int components, const double* from, double* to, std::int64_t n) {
  DoubleRow(weights, components, from, to, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();

#endif
