// Phases of Bloch waves.
#pragma once

#include <complex>
#include <cstdint>

namespace tessera::grid {

/// Multiplies complex numbers, `n` reals, by a phase. Phases are applied one after the other, along x, then y, then z,
/// wherever they are, so that the bits do not depend on how a grid is divided.
template <class Real>
void turn(Real* values, std::int64_t n, const std::complex<Real>& phase);

/// Copies rows of `n` reals, of which each begins `stride` reals after the one before, times a phase.
template <class Real>
void copy_rows_turned(const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride, std::int64_t n,
                      std::int64_t rows, const std::complex<Real>& phase);

}  // namespace tessera::grid
