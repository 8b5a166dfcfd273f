// Transforms lines of any number of points, several lines at once, one per vector lane.
//
//   forward   X(k) = Σ_j x(j) exp(−2πi jk/n)        backward   x(j) = Σ_k X(k) exp(+2πi jk/n), both without 1/n
//
// The points of a line pass through registers as often as its length has factors (Stockham's autosort, decimation in
// frequency). The first pass reads the points from their source, and the last writes them to their destination. Two
// factors of up to 16 suffice for most meshes. Prime factors from 11 to 61 are transformed by the defining sum. A
// length with a greater one becomes a convolution with exp(πi j²/n) (Bluestein), and this has a length with small
// factors.
//
// A line's bits depend only on its values, its kind and its length: it has a lane to itself, and every line of one
// length goes through the same operations, on every instruction set. Short bundles have unused lanes.
//
// Lines of an even number n of real points are transformed as n/2 complex ones; where n is odd, as n complex ones.
//
// Sources: C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992, sections 1.7
// (autosort), 4.2
//   (Bluestein) and 4.3 (real points). Cost: 5 n log2 n operations per complex line, half of that per real one where n
//   is even; a prime factor r adds 2 n r, and a convolution makes it five times as many.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fft/buffer.h"

namespace tessera::fft {

enum class LineKind {
  real_forward,   // n reals to n/2+1 complexes
  real_backward,  // n/2+1 complexes to n reals
  forward,        // n complexes to n complexes
  backward
};

/// This many lines are transformed together: as many numbers as fit into a cache line.
template <class Real>
inline constexpr int lanes = static_cast<int>(64 / sizeof(Real));

/// Describes one pass over m · radix · s points: it combines the points q + s (p + m i), i < radix, into the points q +
/// s (radix p + i). Radix 1 copies.
struct RadixPass {
  int radix = 0;
  std::int64_t m = 0, s = 0;
  std::int64_t first_turn = 0;  // in LinePlan::turns: (cos, sin) of −2π p i / (m radix), by p, then 0 < i < radix
  std::int64_t circle = 0;      // in LinePlan::turns, of large primes: (cos, sin) of 2π e / radix
};

/// The greatest radix of a pass. Greater primes cost more by the defining sum than as a convolution.
inline constexpr int greatest_radix = 61;
/// Tells large primes from the other radices, which are at most 10, 12 and 16.
constexpr bool is_large_prime(int radix) { return radix > 10 && radix % 2 != 0; }

template <class Real>
struct LinePlan {
  LineKind kind = LineKind::forward;
  std::int64_t n = 0;             // points of a line
  std::int64_t points = 0;        // complex ones that stand for them
  std::int64_t convolved = 0;     // points of the convolution; 0: there is none
  std::vector<RadixPass> passes;  // at least two, over the complex points or those of the convolution
  AlignedBuffer<Real> turns;
  AlignedBuffer<Real> halves;  // even numbers of real points: (cos, sin) of −2π k / n, k ≤ n/4
  AlignedBuffer<Real> chirp;   // of a convolution: (cos, sin) of −π j² / points, j < points
  AlignedBuffer<Real> filter;  // of a convolution: the transform of exp(πi j² / points), |j| < points, over `convolved`

  /// Returns the size of the scratch in numbers.
  std::int64_t scratch_size() const { return 4 * (convolved > 0 ? convolved : points) * lanes<Real>; }
};

template <class Real>
LinePlan<Real> plan_lines(LineKind kind, std::int64_t n);

/// Transforms a bundle of lines. Point j of the first line is at in[j], and those of the other lines follow it (a
/// complex one is two numbers). `out` is alike, and two more places than there are points are overwritten. Results,
/// which may replace the input, are multiplied by `scale`. `streams` has as many entries as `out` and tells which
/// complex results, all aligned to cache lines, are written past the caches; nullptr: none. `scratch` is aligned to
/// cache lines.
template <class Real>
void transform_lines(const LinePlan<Real>& plan, const Real* const* in, Real** out, Real scale, bool* streams,
                     Real* scratch);

}  // namespace tessera::fft
