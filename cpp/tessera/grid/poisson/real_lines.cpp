#include "tessera/grid/poisson/real_lines.h"

#include <algorithm>

#include "tessera/base/math/double_double.h"

namespace tessera::grid {

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
void RealLines<Real>::forward(Real* lines, LineScratch<Real>& scratch) const {
  if (!is_periodic_) return sines(lines, 1, scratch);
  Real* waves = scratch.values.data();
  for (std::int64_t r = 0; r < n_; ++r) scratch.in[static_cast<std::size_t>(r)] = lines + r * lanes;
  for (std::int64_t k = 0; k <= n_ / 2; ++k) scratch.out[static_cast<std::size_t>(k)] = waves + 2 * k * lanes;
  fft::transform_lines<Real>(forward_, scratch.in.data(), scratch.out.data(), 1, nullptr, scratch.work.data());
  for (std::int64_t l = 0; l < lanes; ++l) lines[l] = waves[2 * l];
  for (std::int64_t k = 1; k <= n_ / 2; ++k) {
    const Real* wave = waves + 2 * k * lanes;
    Real* re = lines + (2 * k - 1) * lanes;
    Real* im = re + lanes;
    for (std::int64_t l = 0; l < lanes; ++l) re[l] = wave[2 * l];
    if (2 * k < n_)
      for (std::int64_t l = 0; l < lanes; ++l) im[l] = wave[2 * l + 1];
  }
}

template <class Real>
void RealLines<Real>::backward(Real* lines, LineScratch<Real>& scratch) const {
  if (!is_periodic_) return sines(lines, 2 / static_cast<Real>(n_ + 1), scratch);
  Real* waves = scratch.values.data();
  for (std::int64_t l = 0; l < lanes; ++l) waves[2 * l] = lines[l], waves[2 * l + 1] = 0;
  for (std::int64_t k = 1; k <= n_ / 2; ++k) {
    Real* wave = waves + 2 * k * lanes;
    const Real* re = lines + (2 * k - 1) * lanes;
    const bool has_sine = 2 * k < n_;
    for (std::int64_t l = 0; l < lanes; ++l) wave[2 * l] = re[l], wave[2 * l + 1] = has_sine ? re[lanes + l] : Real(0);
  }
  for (std::int64_t k = 0; k <= n_ / 2; ++k) scratch.in[static_cast<std::size_t>(k)] = waves + 2 * k * lanes;
  for (std::int64_t r = 0; r < n_; ++r) scratch.out[static_cast<std::size_t>(r)] = lines + r * lanes;
  fft::transform_lines<Real>(backward_, scratch.in.data(), scratch.out.data(), 1 / static_cast<Real>(n_), nullptr,
                             scratch.work.data());
}

template <class Real>
void RealLines<Real>::sines(Real* lines, Real scale, LineScratch<Real>& scratch) const {
  const std::int64_t n = n_ + 1;
  Real* points = scratch.values.data();
  Real* waves = points + n * lanes;
  std::fill_n(points, lanes, Real(0));
  for (std::int64_t r = 1; 2 * r <= n; ++r) {
    const Real* low = lines + (r - 1) * lanes;
    const Real* high = lines + (n - r - 1) * lanes;
    Real* below = points + r * lanes;
    Real* above = points + (n - r) * lanes;
    const Real sine = sine_[static_cast<std::size_t>(r)];
    for (std::int64_t l = 0; l < lanes; ++l) {
      const Real sum = (low[l] + high[l]) * sine, difference = (low[l] - high[l]) / 2;
      below[l] = sum + difference;
      above[l] = sum - difference;
    }
  }
  for (std::int64_t r = 0; r < n; ++r) scratch.in[static_cast<std::size_t>(r)] = points + r * lanes;
  for (std::int64_t k = 0; k <= n / 2; ++k) scratch.out[static_cast<std::size_t>(k)] = waves + 2 * k * lanes;
  fft::transform_lines<Real>(forward_, scratch.in.data(), scratch.out.data(), scale, nullptr, scratch.work.data());
  // Coefficient k of sin(πk·/n) is at row k − 1.
  for (std::int64_t l = 0; l < lanes; ++l) lines[l] = waves[2 * l] / 2;
  for (std::int64_t k = 1; 2 * k < n; ++k) {
    const Real* wave = waves + 2 * k * lanes;
    Real* even = lines + (2 * k - 1) * lanes;
    for (std::int64_t l = 0; l < lanes; ++l) even[l] = -wave[2 * l + 1];
    if (2 * k + 1 < n)
      for (std::int64_t l = 0; l < lanes; ++l) even[lanes + l] = even[l - lanes] + wave[2 * l];
  }
}

template class RealLines<float>;
template class RealLines<double>;

}  // namespace tessera::grid
