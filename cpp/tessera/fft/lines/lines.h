// Transforms bundles of one-dimensional lines: always the same number of lines, side by side.
//
//   forward   X(k) = Σ_j x(j) exp(−2πi jk/n)        backward   x(j) = Σ_k X(k) exp(+2πi jk/n), both without 1/n
//
// A line's bits depend only on its values and its length: plans follow from (kind, length), never from timings, nor
// from the number of a rank's lines; short bundles have unused lanes. Lengths with small factors use our own passes
// (radix.h), others FFTW (FFTW_ESTIMATE). For FFTW a check at planning time ensures that a line's place in the bundle
// makes no difference.
//
// Source: M. Frigo, S. G. Johnson, Proc. IEEE 93, 216 (2005), doi:10.1109/JPROC.2004.840301.
// Cost: 5 n log2 n operations per complex line.
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

  /// Transforms a bundle. Point j of the first line is at in[j], and those of the other lines follow it; `out` is alike
  /// and has two more places than the longer of both kinds of line. A point is one number or two, according to the
  /// kind. Results, which may replace the input, are multiplied by `scale`. `streams` has as many entries as `out` and
  /// tells which points (complex ones, aligned to cache lines) are written past the caches, if our own passes transform
  /// this length; nullptr: none.
  void execute(const Real* const* in, Real** out, Real scale, bool* streams, Real* scratch) const;

  /// Returns the size of the scratch in numbers; it must be aligned to cache lines.
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
  void* plan_ = nullptr;  // fftw_plan or fftwf_plan, for lengths with large factors
};

}  // namespace tessera::fft
