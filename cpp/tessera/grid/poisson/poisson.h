// Solves Poisson's equation ∇²φ = −4πρ on a distributed grid: Hartree potentials in atomic units.
//
// A method is an approximate inverse of the discrete Laplacian; corrections by it are added to φ until the residual of
// the stencil of the chosen order is as small as asked (defect correction). So every method solves the same equations:
//
//   fft         directly, by transforms (spectral.h); exact where all edges are periodic or the order is 2. Beyond
//               isolated edges its Laplacian sees odd mirror images and that of the grid sees zeros, which costs a few
//               more corrections (in single precision).
//   multigrid   a cycle in single precision (multigrid.h)
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/operator.h"

namespace tessera::grid {

struct PoissonOptions {
  std::string method = "multigrid";
  int order = 4;            // of ∇², 2 … 12
  double tolerance = 1e-9;  // greatest |residual| over greatest |4πρ|
  int max_iterations = 50;
  /// Beyond isolated edges ∇² sees odd mirror images of φ instead of zeros, so that `fft` is direct at every order; the
  /// residual is not measured then.
  bool has_images = false;
};

/// How far a solution got.
struct PoissonResult {
  int iterations = 0;
  double residual = 0;  // greatest |∇²φ + 4πρ| over greatest |4πρ|; 0 for no charge, NaN where it was not measured
};

/// Adds to φ what brings ∇²φ nearer to a right-hand side.
class Correction {
 public:
  virtual ~Correction() = default;
  /// Corrects the potential for what is still missing, residual + shift, of which `largest` is the greatest magnitude
  /// of all ranks, > 0. The shift is 0 where an edge is isolated. With `replaces`, φ counts as zero. Collective.
  virtual void correct(std::span<const double> residual, double shift, double largest, std::span<double> potential,
                       bool replaces) = 0;
  /// Returns whether corrections on a grid whose edges are all periodic have the mean zero, up to rounding.
  virtual bool keeps_mean() const = 0;
};

/// What a method is made from; all must outlive it.
struct PoissonGrid {
  const GridLayout& layout;
  std::array<double, 3> steps;  // between points along x, y, z
  const comm::Communicator& comm;
  ThreadPool& threads;
};

struct PoissonMethod {
  std::string_view name;
  std::unique_ptr<Correction> (*make)(const PoissonGrid& grid, const PoissonOptions& options);
};

const std::vector<PoissonMethod>& poisson_methods();

/// The same bits on any ranks and threads: what is decided by all ranks follows from greatest values and sums of
/// integers.
class PoissonSolver {
 public:
  /// Throws InputError on all ranks for options that can't be. Collective.
  PoissonSolver(const PoissonGrid& grid, const PoissonOptions& options);

  /// Finds φ for the density ρ of this rank's box, per length³; φ is per length, zero just beyond isolated edges. On
  /// grids whose edges are all periodic, the mean of ρ counts as zero (a neutralising background), and that of φ is.
  /// `has_guess`: the potential holds a first guess. Throws InputError on all ranks if a value is not finite, RunError
  /// if the tolerance is not reached. Collective.
  PoissonResult solve(std::span<const double> density, std::span<double> potential, bool has_guess);

  /// Sets the tolerance of the next solutions. Throws InputError.
  void set_tolerance(double tolerance);

 private:
  double residual(std::span<const double> density, double shift, std::span<const double> potential);

  PoissonGrid grid_;
  PoissonOptions options_;
  bool is_periodic_;
  std::int64_t points_;
  StencilOperator<double> minus_laplacian_;
  std::unique_ptr<Correction> correction_;
  std::vector<double> residual_;
};

}  // namespace tessera::grid
