// Phases of Bloch waves.
#pragma once

#include <complex>
#include <cstdint>

namespace tessera::grid {

/// Multiplies complex numbers, `n` reals, by a phase. Phases are applied one after the other, along x, then y, then z,
/// wherever they are, so that the bits do not depend on how a grid is divided.
template <class Real>
void turn(Real* values, std::int64_t n, const std::complex<Real>& phase);

/// Does so with rows of `n` reals, of which each begins `stride` reals after the one before.
template <class Real>
void turn_rows(Real* values, std::int64_t n, std::int64_t rows, std::int64_t stride, const std::complex<Real>& phase);

}  // namespace tessera::grid
