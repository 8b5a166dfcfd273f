// Operations are spelled out as vectors: where there are fused operations, GCC 12 makes them of products of complex
// numbers, also if told not to, and the bits would depend on the instruction set.
#include "tessera/grid/phases.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/grid/phases.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::grid {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Turns the numbers from i on as long as whole registers of them are left, and returns where it ended.
template <class D, class Real>
HWY_INLINE std::int64_t TurnWhole(D d, const Real* from, Real* to, std::int64_t i, std::int64_t n,
                                  const std::complex<Real>& phase) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto re = hn::Set(d, phase.real());
  const auto im = hn::OddEven(hn::Set(d, phase.imag()), hn::Set(d, -phase.imag()));
  for (; i + lanes <= n; i += lanes) {
    const auto its = hn::LoadU(d, from + i);
    hn::StoreU(hn::Add(hn::Mul(its, re), hn::Mul(hn::Reverse2(d, its), im)), d, to + i);
  }
  return i;
}

template <class Real>
HWY_INLINE void CopyTurned(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride, std::int64_t n,
                           std::int64_t rows, const std::complex<Real>& phase) {
  for (std::int64_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    const auto i = TurnWhole(hn::ScalableTag<Real>(), from, to, 0, n, phase);
    TurnWhole(hn::CappedTag<Real, 2>(), from, to, i, n, phase);
  }
}

void CopyFloatsTurned(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t n,
                      std::int64_t rows, const std::complex<float>& phase) {
  CopyTurned(from, from_stride, to, to_stride, n, rows, phase);
}
void CopyDoublesTurned(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride, std::int64_t n,
                       std::int64_t rows, const std::complex<double>& phase) {
  CopyTurned(from, from_stride, to, to_stride, n, rows, phase);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::grid
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tessera::grid {

HWY_EXPORT(CopyFloatsTurned);
HWY_EXPORT(CopyDoublesTurned);

template <>
void copy_rows_turned(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t n,
                      std::int64_t rows, const std::complex<float>& phase) {
  HWY_DYNAMIC_DISPATCH(CopyFloatsTurned)(from, from_stride, to, to_stride, n, rows, phase);
}
template <>
void copy_rows_turned(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride, std::int64_t n,
                      std::int64_t rows, const std::complex<double>& phase) {
  HWY_DYNAMIC_DISPATCH(CopyDoublesTurned)(from, from_stride, to, to_stride, n, rows, phase);
}

template <class Real>
void turn(Real* values, std::int64_t n, const std::complex<Real>& phase) {
  copy_rows_turned(values, n, values, n, n, 1, phase);
}
template void turn(float* values, std::int64_t n, const std::complex<float>& phase);
template void turn(double* values, std::int64_t n, const std::complex<double>& phase);

}  // namespace tessera::grid

#endif
