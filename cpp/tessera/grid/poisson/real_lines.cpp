// Compiles the passes over bundles once for each instruction set.
#include "tessera/grid/poisson/real_lines.h"

#include <algorithm>
#include <type_traits>

#include "tessera/base/math/double_double.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/grid/poisson/real_lines.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/grid/poisson/real_lines-inl.h"

#if HWY_ONCE

namespace tessera::grid {

HWY_EXPORT(FoldSinesFloat);
HWY_EXPORT(FoldSinesDouble);
HWY_EXPORT(UnfoldSinesFloat);
HWY_EXPORT(UnfoldSinesDouble);
HWY_EXPORT(SplitWavesFloat);
HWY_EXPORT(SplitWavesDouble);
HWY_EXPORT(JoinWavesFloat);
HWY_EXPORT(JoinWavesDouble);
HWY_EXPORT(DivideFloat);
HWY_EXPORT(DivideDouble);

// Calls the function for this kind of numbers and this processor.
#define TESSERA_LINES(Name, ...)                       \
  do {                                                 \
    if constexpr (std::is_same_v<Real, float>)         \
      HWY_DYNAMIC_DISPATCH(Name##Float)(__VA_ARGS__);  \
    else                                               \
      HWY_DYNAMIC_DISPATCH(Name##Double)(__VA_ARGS__); \
  } while (false)

template <class Real>
RealLines<Real>::RealLines(std::int64_t n, bool is_periodic)
    : n_(n),
      is_periodic_(is_periodic),
      forward_(fft::plan_lines<Real>(fft::LineKind::real_forward, is_periodic ? n : n + 1)),
      backward_(fft::plan_lines<Real>(fft::LineKind::real_backward, n)) {
  for (std::int64_t r = 0; r <= n; ++r) sine_.push_back(static_cast<Real>(math::sincos_of_turn(r, 2 * (n + 1)).sin));
}

template <class Real>
LineScratch<Real> RealLines<Real>::scratch() const {
  const auto entries = static_cast<std::size_t>(n_ + 8);
  return {fft::AlignedBuffer<Real>((2 * n_ + 16) * lanes),
          fft::AlignedBuffer<Real>(std::max(forward_.scratch_size(), backward_.scratch_size())),
          std::vector<const Real*>(entries), std::vector<Real*>(entries)};
}

template <class Real>
void RealLines<Real>::forward(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride,
                              LineScratch<Real>& scratch) const {
  if (!is_periodic_) return sines(from, from_stride, to, to_stride, 1, scratch);
  Real* waves = scratch.values.data();
  for (std::int64_t r = 0; r < n_; ++r) scratch.in[static_cast<std::size_t>(r)] = from + r * from_stride;
  for (std::int64_t k = 0; k <= n_ / 2; ++k) scratch.out[static_cast<std::size_t>(k)] = waves + 2 * k * lanes;
  fft::transform_lines<Real>(forward_, scratch.in.data(), scratch.out.data(), 1, nullptr, scratch.work.data());
  TESSERA_LINES(SplitWaves, n_, waves, to, to_stride);
}

template <class Real>
void RealLines<Real>::backward(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride,
                               LineScratch<Real>& scratch) const {
  if (!is_periodic_)
    return sines(from, from_stride, to, to_stride, static_cast<Real>(2.0 / static_cast<double>(n_ + 1)), scratch);
  Real* waves = scratch.values.data();
  TESSERA_LINES(JoinWaves, n_, from, from_stride, waves);
  for (std::int64_t k = 0; k <= n_ / 2; ++k) scratch.in[static_cast<std::size_t>(k)] = waves + 2 * k * lanes;
  for (std::int64_t r = 0; r < n_; ++r) scratch.out[static_cast<std::size_t>(r)] = to + r * to_stride;
  fft::transform_lines<Real>(backward_, scratch.in.data(), scratch.out.data(),
                             static_cast<Real>(1.0 / static_cast<double>(n_)), nullptr, scratch.work.data());
}

template <class Real>
void RealLines<Real>::sines(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride, Real scale,
                            LineScratch<Real>& scratch) const {
  const std::int64_t n = n_ + 1;
  Real* points = scratch.values.data();
  Real* waves = points + n * lanes;
  TESSERA_LINES(FoldSines, sine_.data(), n, from, from_stride, points);
  for (std::int64_t r = 0; r < n; ++r) scratch.in[static_cast<std::size_t>(r)] = points + r * lanes;
  for (std::int64_t k = 0; k <= n / 2; ++k) scratch.out[static_cast<std::size_t>(k)] = waves + 2 * k * lanes;
  fft::transform_lines<Real>(forward_, scratch.in.data(), scratch.out.data(), scale, nullptr, scratch.work.data());
  TESSERA_LINES(UnfoldSines, n, waves, to, to_stride);
}

template <class Real>
void divide_by_eigenvalues(std::int64_t n, const Real* second, const Real* mean, const Real* by_second,
                           const Real* by_mean, Real* rows) {
  TESSERA_LINES(Divide, n, second, mean, by_second, by_mean, rows);
}

template class RealLines<float>;
template class RealLines<double>;
template void divide_by_eigenvalues(std::int64_t, const float*, const float*, const float*, const float*, float*);
template void divide_by_eigenvalues(std::int64_t, const double*, const double*, const double*, const double*, double*);

}  // namespace tessera::grid

#endif
