// Transforms lines of real points to as many real coefficients: of cosines and sines where a direction is periodic,
// and of sines where it has zeros beyond both ends.
//
//   periodic   n sums Σ f(r) cos(2πkr/n) and Σ f(r) (−sin(2πkr/n)), in the order cos 0, cos 1, sin 1, cos 2, …
//   isolated   n sums Σ f(r) sin(π(k+1)(r+1)/(n+1)) (DST-I)
//
// Sines are found by a real transform of n + 1 points, of (f(r) + f(n+1−r)) sin(πr/(n+1)) + (f(r) − f(n+1−r))/2: its
// imaginary parts are the even coefficients, its real parts the differences of neighbouring odd ones. Source: J. W.
// Cooley, P. A. W. Lewis, P. D. Welch, J. Sound Vib. 12, 315 (1970), doi:10.1016/0022-460X(70)90075-1. The sum over
// the odd ones makes errors grow as √n. Cost: that of the real transforms (fft/lines/radix.h).
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fft/lines/radix.h"

namespace tessera::grid {

/// Buffers of one thread.
template <class Real>
struct LineScratch {
  fft::AlignedBuffer<Real> values, work;
  std::vector<const Real*> in;
  std::vector<Real*> out;
};

template <class Real>
class RealLines {
 public:
  static constexpr std::int64_t lanes = fft::lanes<Real>;

  RealLines(std::int64_t n, bool is_periodic);

  LineScratch<Real> scratch() const;
  /// Transforms a bundle of lines: point r of line l is at from[r · stride + l], and its coefficients are put to `to`
  /// in the same way. These may be the same memory.
  void forward(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride,
               LineScratch<Real>& scratch) const;
  /// Transforms back: backward after forward gives the points again.
  void backward(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride,
                LineScratch<Real>& scratch) const;

 private:
  void sines(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride, Real scale,
             LineScratch<Real>& scratch) const;

  std::int64_t n_;
  bool is_periodic_;
  fft::LinePlan<Real> forward_, backward_;
  std::vector<Real> sine_;  // sin(π r / (n + 1))
};

/// Divides row k < n of a bundle by second[k] · by_second[line] + mean[k] · by_mean[line], an eigenvalue below 0; where
/// it is 0, the row becomes 0.
template <class Real>
void divide_by_eigenvalues(std::int64_t n, const Real* second, const Real* mean, const Real* by_second,
                           const Real* by_mean, Real* rows);

extern template class RealLines<float>;
extern template class RealLines<double>;

}  // namespace tessera::grid
