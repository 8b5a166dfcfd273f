#include "tessera/fft/lines.h"

#include <fftw3.h>

#include <cstring>
#include <mutex>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::fft {

namespace {

// FFTW's planner is one for the process; only it needs the lock, executing does not.
std::mutex& planner_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <class Real>
struct Api;

template <>
struct Api<float> {
  using Plan = fftwf_plan;
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
  using Plan = fftw_plan;
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
LinePlan<Real>::LinePlan(LineKind kind, std::int64_t n, int lanes) : kind_(kind), n_(n), lanes_(lanes) {
  using Complex = typename Api<Real>::Complex;
  TESSERA_CHECK(n >= 1 && n < (std::int64_t{1} << 30) && lanes >= 1);
  const AlignedBuffer<std::complex<Real>> in(n * lanes), out(n * lanes);
  const int length = static_cast<int>(n);
  auto* complex_in = reinterpret_cast<Complex*>(in.data());
  auto* complex_out = reinterpret_cast<Complex*>(out.data());
  auto* real_in = reinterpret_cast<Real*>(in.data());
  auto* real_out = reinterpret_cast<Real*>(out.data());
  {
    const std::lock_guard lock(planner_mutex());
    switch (kind) {
      case LineKind::real_forward:
        plan_ = Api<Real>::many_forward(1, &length, lanes, real_in, nullptr, lanes, 1, complex_out, nullptr, lanes, 1,
                                        FFTW_ESTIMATE);
        break;
      case LineKind::real_backward:
        plan_ = Api<Real>::many_backward(1, &length, lanes, complex_in, nullptr, lanes, 1, real_out, nullptr, lanes, 1,
                                         FFTW_ESTIMATE);
        break;
      case LineKind::forward:
      case LineKind::backward:
        plan_ = Api<Real>::many(1, &length, lanes, complex_in, nullptr, lanes, 1, complex_out, nullptr, lanes, 1,
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
  Api<Real>::destroy(static_cast<typename Api<Real>::Plan>(plan_));
}

template <class Real>
LinePlan<Real>::LinePlan(LinePlan&& other) noexcept
    : kind_(other.kind_), n_(other.n_), lanes_(other.lanes_), plan_(std::exchange(other.plan_, nullptr)) {}

template <class Real>
void LinePlan<Real>::execute(void* in, void* out) const {
  using Complex = typename Api<Real>::Complex;
  auto* plan = static_cast<typename Api<Real>::Plan>(plan_);
  switch (kind_) {
    case LineKind::real_forward:
      return Api<Real>::execute_forward(plan, static_cast<Real*>(in), static_cast<Complex*>(out));
    case LineKind::real_backward:
      return Api<Real>::execute_backward(plan, static_cast<Complex*>(in), static_cast<Real*>(out));
    case LineKind::forward:
    case LineKind::backward:
      return Api<Real>::execute(plan, static_cast<Complex*>(in), static_cast<Complex*>(out));
  }
}

template <class Real>
void LinePlan<Real>::check_lanes() const {
  // The same line in every lane must come out with the same bits in every lane: FFTW could run the last lanes of a
  // batch through another codelet, and then a line would depend on how lines are shared out.
  if (lanes_ == 1) return;
  const bool real_in = kind_ == LineKind::real_forward, real_out = kind_ == LineKind::real_backward;
  const std::int64_t in_points = real_out ? n_ / 2 + 1 : n_, out_points = real_in ? n_ / 2 + 1 : n_;
  const int in_parts = real_in ? 1 : 2, out_parts = real_out ? 1 : 2;
  const AlignedBuffer<Real> in(2 * n_ * lanes_ + 2 * lanes_), out(2 * n_ * lanes_ + 2 * lanes_);
  std::uint32_t state = 12345;
  for (std::int64_t j = 0; j < in_points; ++j)
    for (int part = 0; part < in_parts; ++part) {
      state = state * 1664525u + 1013904223u;
      const auto value = static_cast<Real>(static_cast<double>(state) / 4294967296.0 - 0.5);
      for (int lane = 0; lane < lanes_; ++lane) in.data()[(j * lanes_ + lane) * in_parts + part] = value;
    }
  execute(in.data(), out.data());
  for (std::int64_t j = 0; j < out_points; ++j)
    for (int lane = 1; lane < lanes_; ++lane)
      TESSERA_CHECK(std::memcmp(out.data() + (j * lanes_ + lane) * out_parts, out.data() + j * lanes_ * out_parts,
                                static_cast<std::size_t>(out_parts) * sizeof(Real)) == 0);
}

template class LinePlan<float>;
template class LinePlan<double>;

}  // namespace tessera::fft
