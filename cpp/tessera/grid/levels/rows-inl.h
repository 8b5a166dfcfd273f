// The kernels of rows, compiled for each instruction set by rows.cpp.
#include <hwy/highway.h>

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

template <int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void SumVectors(D d, std::span<const Real* const> rows, std::span<const Real> weights, std::int64_t at,
                           Real* to) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[kVectors];
  const V first = hn::Set(d, weights[0]);
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(first, hn::LoadU(d, rows[0] + at + v * lanes));
  for (std::size_t k = 1; k < rows.size(); ++k) {
    const V weight = hn::Set(d, weights[k]);
    for (int v = 0; v < kVectors; ++v)
      sums[v] = simd::HWY_NAMESPACE::MulAdd(weight, hn::LoadU(d, rows[k] + at + v * lanes), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, to + at + v * lanes);
}

template <class Real>
HWY_INLINE void SumRows(std::span<const Real* const> rows, std::span<const Real> weights, Real* to,
                        std::int64_t length) {
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  constexpr int kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + kVectors * lanes <= length; i += kVectors * lanes) SumVectors<kVectors>(d, rows, weights, i, to);
  for (; i + lanes <= length; i += lanes) SumVectors<1>(d, rows, weights, i, to);
  for (; i < length; ++i) SumVectors<1>(one, rows, weights, i, to);
}

/// Loads values 2i and 2i + 1 of a vector of i into two vectors for each component.
template <int kComponents, class D, class V = hn::Vec<D>>
HWY_INLINE void LoadPairs(D d, const hn::TFromD<D>* from, V (&even)[kComponents], V (&odd)[kComponents]) {
  if constexpr (kComponents == 1)
    hn::LoadInterleaved2(d, from, even[0], odd[0]);
  else
    hn::LoadInterleaved4(d, from, even[0], even[1], odd[0], odd[1]);
}

template <int kComponents, class D, class Real = hn::TFromD<D>>
HWY_INLINE void HalveVector(D d, std::span<const Real> weights, const Real* from, Real* to) {
  using V = hn::Vec<D>;
  V even[kComponents], above[kComponents], below[kComponents], unused[kComponents];
  LoadPairs<kComponents>(d, from, even, above);
  V sums[kComponents];
  for (int c = 0; c < kComponents; ++c) sums[c] = hn::Mul(hn::Set(d, static_cast<Real>(0.5)), even[c]);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const auto step = static_cast<std::ptrdiff_t>(2 * k) * kComponents;
    if (k > 0) LoadPairs<kComponents>(d, from + step, unused, above);
    LoadPairs<kComponents>(d, from - step - kComponents, below, unused);
    const V weight = hn::Set(d, weights[k]);
    for (int c = 0; c < kComponents; ++c)
      sums[c] = simd::HWY_NAMESPACE::MulAdd(weight, hn::Add(above[c], below[c]), sums[c]);
  }
  if constexpr (kComponents == 1)
    hn::StoreU(sums[0], d, to);
  else
    hn::StoreInterleaved2(sums[0], sums[1], d, to);
}

template <int kComponents, class Real>
HWY_INLINE void HalveRowOf(std::span<const Real> weights, const Real* from, Real* to, std::int64_t n) {
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    HalveVector<kComponents>(d, weights, from + 2 * i * kComponents, to + i * kComponents);
  for (; i < n; ++i) HalveVector<kComponents>(one, weights, from + 2 * i * kComponents, to + i * kComponents);
}

template <class Real>
HWY_INLINE void HalveRow(std::span<const Real> weights, int components, const Real* from, Real* to, std::int64_t n) {
  if (components == 1)
    HalveRowOf<1>(weights, from, to, n);
  else
    HalveRowOf<2>(weights, from, to, n);
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
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    DoubleVector<kComponents>(d, weights, from + i * kComponents, to + 2 * i * kComponents);
  for (; i < n; ++i) DoubleVector<kComponents>(one, weights, from + i * kComponents, to + 2 * i * kComponents);
}

template <class Real>
HWY_INLINE void DoubleRow(std::span<const Real> weights, int components, const Real* from, Real* to, std::int64_t n) {
  if (components == 1)
    DoubleRowOf<1>(weights, from, to, n);
  else
    DoubleRowOf<2>(weights, from, to, n);
}

/// What is nearest enters last and stays in a register, as every point waits for it.
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
void HalveFloats(std::span<const float> weights, int components, const float* from, float* to, std::int64_t n) {
  HalveRow(weights, components, from, to, n);
}
void HalveDoubles(std::span<const double> weights, int components, const double* from, double* to, std::int64_t n) {
  HalveRow(weights, components, from, to, n);
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
