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
  /// Transforms a bundle of lines in place: point r of line l is at lines[r · lanes + l].
  void forward(Real* lines, LineScratch<Real>& scratch) const;
  /// Backward after forward gives the points again.
  void backward(Real* lines, LineScratch<Real>& scratch) const;

 private:
  void sines(Real* lines, Real scale, LineScratch<Real>& scratch) const;

  std::int64_t n_;
  bool is_periodic_;
  fft::LinePlan<Real> forward_, backward_;
  std::vector<Real> sine_;  // sin(π r / (n + 1))
};

extern template class RealLines<float>;
extern template class RealLines<double>;

}  // namespace tessera::grid
