// Bundles of one-dimensional transforms: always the same number of lines, side by side.
//
//   forward   X(k) = Σ_j x(j) exp(−2πi jk/n)        backward   x(j) = Σ_k X(k) exp(+2πi jk/n), both without 1/n
//
// A line's bits depend only on its values and its length: plans follow from (kind, length), never from timings, nor
// from how many lines a rank has; short bundles have lanes that nobody reads. Lengths of small factors go through
// passes of our own (radix.h), others through FFTW (FFTW_ESTIMATE), where a line's place in the bundle is found to make
// no difference when the plan is made.
//
// Source: M. Frigo, S. G. Johnson, Proc. IEEE 93, 216 (2005), doi:10.1109/JPROC.2004.840301.
// Cost: 5 n log2 n operations a complex line.
#pragma once

#include <complex>
#include <cstdint>

#include "tessera/fft/buffer.h"
#include "tessera/fft/lines/radix.h"

namespace tessera::fft {

template <class Real>
class LinePlan {
 public:
  LinePlan(LineKind kind, std::int64_t n);
  ~LinePlan();
  LinePlan(LinePlan&&) noexcept;
  LinePlan& operator=(LinePlan&&) = delete;

  /// Point j of the lines stands at in[j], those of the other lines right after it; likewise out, which has two places
  /// more than the longer of both kinds of line. A point is one number or two, as the kind says. Results, which may
  /// replace the input, are multiplied by `scale`. `streams`, of as many places as out: which of the points (complex
  /// ones, all on cache lines' edges) go past the caches, if our own passes do the length; nullptr: none.
  void execute(const Real* const* in, Real** out, Real scale, bool* streams, Real* scratch) const;

  /// Numbers of the scratch, on a cache line's edge.
  static std::int64_t scratch_size(std::int64_t n) { return 4 * (n + 2) * lanes<Real>; }

 private:
  void execute_fftw(const Real* const* in, Real* const* out, Real scale, Real* scratch) const;
  void check_lanes() const;
  std::int64_t in_points() const { return kind_ == LineKind::real_backward ? n_ / 2 + 1 : n_; }
  std::int64_t out_points() const { return kind_ == LineKind::real_forward ? n_ / 2 + 1 : n_; }
  std::int64_t in_width() const { return kind_ == LineKind::real_forward ? lanes<Real> : 2 * lanes<Real>; }
  std::int64_t out_width() const { return kind_ == LineKind::real_backward ? lanes<Real> : 2 * lanes<Real>; }

  LineKind kind_;
  std::int64_t n_;
  RadixPlan<Real> radix_;
  void* plan_ = nullptr;  // fftw_plan or fftwf_plan, where the length has large factors
};

}  // namespace tessera::fft
