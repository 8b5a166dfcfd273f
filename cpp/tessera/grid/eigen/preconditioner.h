// An approximate inverse of −½∇² + v(r) for residuals of wave functions, in single precision, where v(r) = shift +
// max(V(r) − level, 0): waves have about the kinetic energy `shift` where the potential is below the level, their
// energy, and fall off as they should where it is above.
//
// It is one sawtooth cycle of multigrid on the grids of Poisson's equation (poisson/levels.h, multigrid.h): the
// residual is restricted down to the coarsest level; going up, each solution is interpolated and relaxed by sweeps of
// Jacobi's method, u ← (1 − ω) u + ω (right + neighbours) / (diagonal + v), whose factors ω are those of Chebyshev's
// polynomial. v draws the eigenvalues of such a sweep towards 1, so that the polynomial fits for any potential. The
// coarsest level is solved directly for a constant v and then relaxed.
//
// Bloch waves are e^{ik·r} times periodic functions: residuals are multiplied by e^{−ik·r}, their real and imaginary
// parts go through the cycle of periodic functions, and the result is multiplied by e^{ik·r}. So k is left out of
// ½|k + G|², which is small beside the shift or well approximated. In cells whose edges are not at right angles, mixed
// derivatives are left out.
#pragma once

#include <complex>
#include <deque>
#include <span>
#include <vector>

#include "tessera/grid/eigen/hamiltonian.h"
#include "tessera/grid/levels/transfer.h"
#include "tessera/grid/operator.h"
#include "tessera/grid/poisson/levels.h"
#include "tessera/grid/poisson/spectral.h"

namespace tessera::grid {

/// Several fields go through the cycle together where there are messages: those of all are one, and each rank waits
/// for it once. On fine levels, where messages are large, sweeps are done with as many as stay in a core's cache. The
/// same bits on any ranks and threads, and with any other fields.
class WavePreconditioner {
 public:
  /// Makes the grids of the cycle. Collective.
  explicit WavePreconditioner(const WaveGrid& grid);

  /// Sets the potential of this rank's box, a level and a shift > 0, all in hartree. Collective.
  void set_potential(std::span<const double> potential, double level, double shift);
  /// Replaces n fields (n, nx, ny, nz) of this rank's box. Collective.
  void apply(std::span<double> fields, std::int64_t n);

 private:
  struct Fields {
    std::vector<float> right, solution;  // of as many fields as go through the cycle together
    std::vector<float> other;            // of as many as are relaxed together
    std::vector<float> inverse;          // 1 / (diagonal + v)
    std::int64_t relaxed_together = 1;

    std::span<float> part(std::vector<float>& values, std::int64_t first, std::int64_t fields) const {
      const auto n = inverse.size();
      return std::span(values).subspan(static_cast<std::size_t>(first) * n, static_cast<std::size_t>(fields) * n);
    }
  };

  void apply_real(double* fields, std::int64_t n);
  void apply_complex(double* fields, std::int64_t n);
  std::span<const float> run(std::int64_t fields);
  void relax(std::size_t level, std::int64_t first, std::int64_t fields);
  ThreadPool& threads_of(const Level& level);

  WaveGrid grid_;
  ThreadPool alone_;
  IndexBox box_;
  std::int64_t together_;                                  // real fields that go through the cycle at once
  std::array<std::vector<std::complex<float>>, 3> waves_;  // e^{ik·r} along each edge of the box
  std::vector<Level> levels_;
  std::vector<double> diagonals_;                  // by level
  std::vector<std::vector<float>> factors_;        // by level: ω
  std::deque<StencilOperator<float>> neighbours_;  // −½∇² without its diagonal, with changed sign
  std::deque<Transfer<float>> down_, up_;          // by the finer level
  std::vector<Fields> fields_;
  SpectralSolver<float> coarsest_;
};

}  // namespace tessera::grid
