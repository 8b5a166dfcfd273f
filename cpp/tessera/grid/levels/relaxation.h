// Sweeps of relaxation for stencil · values = source on one field.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/grid/levels/region_exchange.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// Solves for each point in turn: gauss_seidel goes point by point in memory's order and takes new values of the rank's
/// own points, so that results depend on how the grid is divided; jacobi takes old values of all others, and moves by
/// `weight` of the way.
enum class RelaxationMethod { gauss_seidel, jacobi };

/// References must outlive it.
class Relaxation {
 public:
  /// Throws InputError where the stencil's first term is not the point itself, with a coefficient that is not zero.
  Relaxation(const Stencil& stencil, const GridLayout& layout, const comm::Communicator& comm, ThreadPool& threads);

  /// Does `sweeps` sweeps over `values`, this rank's box; others' values are fetched before each. Collective.
  void sweep(RelaxationMethod method, std::span<double> values, std::span<const double> source, std::int64_t sweeps,
             double weight);

 private:
  void gauss_seidel(double* values, const double* source);
  void jacobi(double* values, const double* source, double weight);
  void copy_inside(const double* values);

  ThreadPool& threads_;
  RegionExchange<double> around_;
  double diagonal_;
  std::vector<std::int64_t> steps_, earlier_steps_;  // in memory: to neighbours, and to those before a point in its row
  std::vector<double> weights_, earlier_weights_;
};

}  // namespace tessera::grid
