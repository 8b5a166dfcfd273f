// H = −½∇² + V(r) in atomic units on the fields of a distributed grid.
//
// The potential, the eigenvalues and the sums of squares are taken into the stencil's pass over memory: planes are
// changed by them while they are in the cache.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/base/vec3.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/operator.h"

namespace tessera::grid {

/// Where wave functions live; what it refers to must outlive their operators.
struct WaveGrid {
  const GridLayout& layout;
  std::array<Vec3, 3> steps;  // from a point to the next along each edge, bohr
  bool is_complex = false;
  std::array<std::complex<double>, 3> phases{1, 1, 1};  // ψ(r + edge d) = phases[d] · ψ(r)
  const comm::Communicator& comm;
  ThreadPool& threads;
};

/// Fields (n, nx, ny, nz) of this rank's box lie one after the other; complex numbers are two doubles.
class Hamiltonian {
 public:
  /// Makes H with a stencil of an order for ∇² and the potential of this rank's box, hartree. Throws InputError on all
  /// ranks for orders and phases that can't be. Collective.
  Hamiltonian(const WaveGrid& grid, int order, std::span<const double> potential);

  const std::vector<double>& potential() const { return potential_; }
  /// Computes to = H from for n fields. Collective.
  void apply(std::span<const double> from, std::span<double> to, std::int64_t n);
  /// Computes to = H from − eigenvalue · from for each field; `sums` (fields, 2) become Σ |to|² and Σ V |from|² over
  /// all ranks' points, the same bits on all ranks. A rank's sums do not depend on its threads. Collective.
  void find_residuals(std::span<const double> from, std::span<const double> eigenvalues, std::span<double> to,
                      std::span<std::array<double, 2>> sums);
  /// Fills fields, of which the first has the number `first`, with noise between −1 and 1, a function of the point, the
  /// field and the seed.
  void fill_with_noise(std::span<double> fields, std::int64_t first) const;

 private:
  std::vector<std::array<double, 2>> sums_of_planes(std::span<const double> from, std::span<const double> eigenvalues,
                                                    std::span<double> to);
  std::int64_t fields_of(std::span<const double> values) const;

  WaveGrid grid_;
  std::int64_t components_;
  std::vector<double> potential_;
  StencilOperator<double> kinetic_;
};

}  // namespace tessera::grid
