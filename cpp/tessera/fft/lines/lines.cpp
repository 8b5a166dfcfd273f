#include "tessera/fft/lines/lines.h"

#include <fftw3.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::fft {

namespace {

// FFTW's planner is shared by the process and needs a lock; executing a plan does not.
std::mutex& planner_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <class Real>
struct Api;

template <>
struct Api<float> {
  using FftwPlan = fftwf_plan;
  using Complex = fftwf_complex;
  static constexpr auto many = &fftwf_plan_many_dft;
  static constexpr auto many_forward = &fftwf_plan_many_dft_r2c;
  static constexpr auto many_backward = &fftwf_plan_many_dft_c2r;
  static constexpr auto execute = &fftwf_execute_dft;
  static constexpr auto execute_forward = &fftwf_execute_dft_r2c;
  static constexpr auto execute_backward = &fftwf_execute_dft_c2r;
  static constexpr auto destroy = &fftwf_destroy_plan;
};

template <>
struct Api<double> {
  using FftwPlan = fftw_plan;
  using Complex = fftw_complex;
  static constexpr auto many = &fftw_plan_many_dft;
  static constexpr auto many_forward = &fftw_plan_many_dft_r2c;
  static constexpr auto many_backward = &fftw_plan_many_dft_c2r;
  static constexpr auto execute = &fftw_execute_dft;
  static constexpr auto execute_forward = &fftw_execute_dft_r2c;
  static constexpr auto execute_backward = &fftw_execute_dft_c2r;
  static constexpr auto destroy = &fftw_destroy_plan;
};

}  // namespace

template <class Real>
LinePlan<Real>::LinePlan(LineKind kind, std::int64_t n) : kind_(kind), n_(n), radix_(plan_radix<Real>(kind, n)) {
  using Complex = typename Api<Real>::Complex;
  TESSERA_CHECK(n >= 1 && n < (std::int64_t{1} << 30));
  if (!radix_.passes.empty()) return;
  constexpr int width = lanes<Real>;
  const AlignedBuffer<Real> in(2 * n * width), out(2 * n * width);
  const int length = static_cast<int>(n);
  auto* complex_in = reinterpret_cast<Complex*>(in.data());
  auto* complex_out = reinterpret_cast<Complex*>(out.data());
  {
    const std::lock_guard lock(planner_mutex());
    switch (kind) {
      case LineKind::real_forward:
        plan_ = Api<Real>::many_forward(1, &length, width, in.data(), nullptr, width, 1, complex_out, nullptr, width, 1,
                                        FFTW_ESTIMATE);
        break;
      case LineKind::real_backward:
        plan_ = Api<Real>::many_backward(1, &length, width, complex_in, nullptr, width, 1, out.data(), nullptr, width,
                                         1, FFTW_ESTIMATE);
        break;
      case LineKind::forward:
      case LineKind::backward:
        plan_ = Api<Real>::many(1, &length, width, complex_in, nullptr, width, 1, complex_out, nullptr, width, 1,
                                kind == LineKind::forward ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
        break;
    }
  }
  TESSERA_CHECK(plan_ != nullptr);
  check_lanes();
}

template <class Real>
LinePlan<Real>::~LinePlan() {
  if (plan_ == nullptr) return;
  const std::lock_guard lock(planner_mutex());
  Api<Real>::destroy(static_cast<typename Api<Real>::FftwPlan>(plan_));
}

template <class Real>
LinePlan<Real>::LinePlan(LinePlan&& other) noexcept
    : kind_(other.kind_), n_(other.n_), radix_(std::move(other.radix_)), plan_(std::exchange(other.plan_, nullptr)) {}

template <class Real>
void LinePlan<Real>::execute(const Real* const* in, Real** out, Real scale, bool* streams, Real* scratch) const {
  if (plan_ != nullptr)
    execute_fftw(in, out, scale, scratch);
  else
    execute_radix(radix_, in, out, scale, streams, scratch);
}

template <class Real>
void LinePlan<Real>::execute_fftw(const Real* const* in, Real* const* out, Real scale, Real* scratch) const {
  using Complex = typename Api<Real>::Complex;
  auto* plan = static_cast<typename Api<Real>::FftwPlan>(plan_);
  Real* results = scratch + 2 * (n_ + 2) * lanes<Real>;
  for (std::int64_t j = 0; j < in_points(); ++j) std::copy_n(in[j], in_width(), scratch + j * in_width());
  switch (kind_) {
    case LineKind::real_forward:
      Api<Real>::execute_forward(plan, scratch, reinterpret_cast<Complex*>(results));
      break;
    case LineKind::real_backward:
      Api<Real>::execute_backward(plan, reinterpret_cast<Complex*>(scratch), results);
      break;
    case LineKind::forward:
    case LineKind::backward:
      Api<Real>::execute(plan, reinterpret_cast<Complex*>(scratch), reinterpret_cast<Complex*>(results));
      break;
  }
  for (std::int64_t j = 0; j < out_points(); ++j)
    std::transform(results + j * out_width(), results + (j + 1) * out_width(), out[j],
                   [scale](Real value) { return value * scale; });
}

template <class Real>
void LinePlan<Real>::check_lanes() const {
  // A line must give the same bits in every lane. FFTW could run the last lanes of a bundle through another codelet,
  // and then a line's result would depend on the distribution of lines.
  const auto in_parts = static_cast<int>(in_width() / lanes<Real>),
             out_parts = static_cast<int>(out_width()) / lanes<Real>;
  const AlignedBuffer<Real> values(2 * n_ * lanes<Real>), scratch(scratch_size(n_));
  std::vector<Real*> rows;
  std::uint32_t state = 12345;
  for (std::int64_t j = 0; j < n_; ++j) {
    rows.push_back(values.data() + 2 * j * lanes<Real>);
    for (int part = 0; part < in_parts; ++part) {
      state = state * 1664525u + 1013904223u;
      const auto value = static_cast<Real>(static_cast<double>(state) / 4294967296.0 - 0.5);
      for (int lane = 0; lane < lanes<Real>; ++lane) rows.back()[lane * in_parts + part] = value;
    }
  }
  execute_fftw(rows.data(), rows.data(), 1, scratch.data());
  for (std::int64_t j = 0; j < out_points(); ++j)
    for (int lane = 1; lane < lanes<Real>; ++lane) {
      const Real* row = rows[static_cast<std::size_t>(j)];
      TESSERA_CHECK(std::memcmp(row + lane * out_parts, row, static_cast<std::size_t>(out_parts) * sizeof(Real)) == 0);
    }
}

template class LinePlan<float>;
template class LinePlan<double>;

}  // namespace tessera::fft
