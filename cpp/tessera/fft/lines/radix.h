// Transforms lines of 2^a 3^b 5^c 7^d points, several lines at once, one per vector lane.
//
// The points of a line pass through registers as often as its length has factors (Stockham's autosort, decimation in
// frequency). The first pass reads the points from their source, and the last writes them to their destination. Two
// factors of up to 16 suffice for most meshes. As a line has a lane to itself, its bits do not depend on its
// neighbours, and every line of one length goes through the same operations; they differ between instruction sets with
// and without fused multiply-add.
//
// Lines of an even number n of real points are transformed as n/2 complex ones.
//
// Sources: C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992, sections 1.7 (autosort) and
//   4.3 (real points). Cost: 5 n log2 n operations per complex line, half of that per real one.
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
/// s (radix p + i).
struct RadixPass {
  int radix = 0;
  std::int64_t m = 0, s = 0;
  std::int64_t first_turn = 0;  // in RadixPlan::turns: (cos, sin) of −2π p i / (m radix), by p, then 0 < i < radix
};

template <class Real>
struct RadixPlan {
  LineKind kind = LineKind::forward;
  std::int64_t n = 0;             // points of a line
  std::vector<RadixPass> passes;  // empty: the length has other factors, or fewer than two
  AlignedBuffer<Real> turns;
  AlignedBuffer<Real> halves;  // real lines: (cos, sin) of −2π k / n, k ≤ n/4
};

template <class Real>
RadixPlan<Real> plan_radix(LineKind kind, std::int64_t n);

/// Transforms lines. Point j of the first line is at in[j], and those of neighbouring lines follow it (a complex one is
/// two numbers). `out` is alike, and two more places than there are points are overwritten. Results are multiplied by
/// `scale`. `streams` has as many entries as `out` and tells which complex results, all aligned to cache lines, are
/// written past the caches; nullptr: none. `scratch` has room for 4 n lanes numbers and is aligned to cache lines.
template <class Real>
void execute_radix(const RadixPlan<Real>& plan, const Real* const* in, Real** out, Real scale, bool* streams,
                   Real* scratch);

}  // namespace tessera::fft
