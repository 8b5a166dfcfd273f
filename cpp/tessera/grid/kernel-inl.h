// The kernel of stencils, compiled for each instruction set by kernel.cpp.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

/// Sums the neighbours of `kVectors` vectors of points side by side: their chains of additions run at once, and each
/// coefficient is loaded once for all.
template <int kVectors, class D, class Real = hn::TFromD<D>>
HWY_INLINE void ApplyToVectors(D d, std::size_t n_terms, const std::int64_t* HWY_RESTRICT steps,
                               const Real* HWY_RESTRICT coefficients, const Real* from, Real* to, bool streams) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  V sums[kVectors];
  const V first = hn::Set(d, coefficients[0]);
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Mul(first, hn::LoadU(d, from + steps[0] + v * lanes));
  for (std::size_t k = 1; k < n_terms; ++k) {
    const V coefficient = hn::Set(d, coefficients[k]);
    const Real* neighbours = from + steps[k];
    for (int v = 0; v < kVectors; ++v)
      sums[v] = simd::HWY_NAMESPACE::MulAdd(coefficient, hn::LoadU(d, neighbours + v * lanes), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    if (streams)
      hn::Stream(sums[v], d, to + v * lanes);
    else
      hn::StoreU(sums[v], d, to + v * lanes);
  }
}

template <class Real>
HWY_INLINE void ApplyToRow(const MemoryStencil<Real>& stencil, const Real* from, Real* to, std::int64_t length,
                           bool streams) {
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  constexpr int kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::size_t n = stencil.coefficients.size();
  const std::int64_t* steps = stencil.steps.data();
  const Real* coefficients = stencil.coefficients.data();
  std::int64_t i = 0;
  if (streams)  // up to the first vector that is aligned
    for (; i < length && reinterpret_cast<std::uintptr_t>(to + i) % (sizeof(Real) * hn::Lanes(d)) != 0; ++i)
      ApplyToVectors<1>(one, n, steps, coefficients, from + i, to + i, false);
  for (; i + kVectors * lanes <= length; i += kVectors * lanes)
    ApplyToVectors<kVectors>(d, n, steps, coefficients, from + i, to + i, streams);
  for (; i + lanes <= length; i += lanes) ApplyToVectors<1>(d, n, steps, coefficients, from + i, to + i, streams);
  for (; i < length; ++i) ApplyToVectors<1>(one, n, steps, coefficients, from + i, to + i, false);
}

/// Goes through strips of rows whose planes stay in the second-level cache, plane by plane.
template <class Real>
void Apply(const MemoryStencil<Real>& stencil, const Real* from, const Strides& from_strides, Real* to,
           const Strides& to_strides, const Index3& extents, bool streams) {
  constexpr std::int64_t kCacheBytes = 192 * 1024, kPlanes = 8;
  const auto [planes, rows, length] = extents;
  const std::int64_t row_bytes = from_strides.y * static_cast<std::int64_t>(sizeof(Real));
  const std::int64_t strip = std::max<std::int64_t>(8, kCacheBytes / std::max<std::int64_t>(1, kPlanes * row_bytes));
  for (std::int64_t first = 0; first < rows; first += strip)
    for (std::int64_t x = 0; x < planes; ++x)
      for (std::int64_t y = first; y < std::min(rows, first + strip); ++y)
        ApplyToRow(stencil, from + x * from_strides.x + y * from_strides.y, to + x * to_strides.x + y * to_strides.y,
                   length, streams);
  if (streams) hwy::FlushStream();
}

void ApplyToFloats(const MemoryStencil<float>& stencil, const float* from, const Strides& from_strides, float* to,
                   const Strides& to_strides, const Index3& extents, bool streams) {
  Apply(stencil, from, from_strides, to, to_strides, extents, streams);
}
void ApplyToDoubles(const MemoryStencil<double>& stencil, const double* from, const Strides& from_strides, double* to,
                    const Strides& to_strides, const Index3& extents, bool streams) {
  Apply(stencil, from, from_strides, to, to_strides, extents, streams);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();

#endif
