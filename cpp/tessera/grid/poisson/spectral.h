// Solves Poisson's equation on a grid directly: by sines where an edge is isolated and by cosines and sines where it is
// periodic, which are the eigenvectors of separable Laplacians. Beyond isolated edges a Laplacian of more than two
// neighbours sees odd mirror images here.
//
// Lines along z and y of a plane are transformed while it is in the cache. Lines along x are transformed, divided by
// the eigenvalues and transformed back in one pass, so that there are three passes over memory and two exchanges
// between ranks: planes are cut along x, columns along y, and where there are more ranks than planes, also along z.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/buffer.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/levels/move.h"
#include "tessera/grid/poisson/real_lines.h"
#include "tessera/grid/poisson/separable.h"

namespace tessera::grid {

/// The same bits on any ranks and threads. Memory: an array of a rank's share of the most fields, and one for each
/// direction whose lines lie on other ranks than those before. The communicator and the threads must outlive it.
template <class Real>
class SpectralSolver {
 public:
  SpectralSolver(const GridLayout& layout, const SeparableLaplacian& laplacian, const comm::Communicator& comm,
                 ThreadPool& threads, std::int64_t most_fields = 1);

  /// Solves for the Laplacian − shift · mean ⊗ mean ⊗ mean from now on; shift ≥ 0, in the beginning 0.
  void set_shift(double shift);
  /// Finds the `solution` whose Laplacian is `right`, both `fields` fields of this rank's box, at most as many as it
  /// was made for. On a periodic grid the mean of `right` counts as zero, and that of the solution is zero. Collective.
  void solve(const Real* right, Real* solution, std::int64_t fields = 1);

 private:
  void transform_planes(const Real* right, bool is_forward, Real* solution, std::int64_t fields);
  void transform_z(std::size_t thread, const Real* from, std::int64_t from_stride, Real* to, std::int64_t to_stride,
                   bool is_forward);
  void transform_y(std::int64_t x, std::size_t thread, bool is_forward);
  void transform_bundle(std::size_t direction, bool is_forward, const Real* from, std::int64_t from_stride, Real* to,
                        std::int64_t to_stride, std::size_t thread);
  void divide_columns(std::int64_t fields);

  static constexpr std::int64_t lanes = RealLines<Real>::lanes;
  ThreadPool& threads_;
  std::int64_t most_fields_;
  std::vector<RealLines<Real>> lines_;                // by direction
  std::array<std::vector<double>, 3> second_, mean_;  // symbols of all waves
  std::vector<Real> second_x_, mean_x_;
  Place user_, given_, rows_, planes_, columns_;  // the caller's, with whole lines along z, along y, along x
  std::optional<Move<Real>> gather_, to_planes_, to_columns_, from_columns_, from_planes_, scatter_;
  fft::AlignedBuffer<Real> given_values_, row_values_, plane_values_, column_values_;
  std::vector<std::array<LineScratch<Real>, 3>> scratch_;  // by thread and direction
  std::vector<fft::AlignedBuffer<Real>> bundles_;          // by thread
};

extern template class SpectralSolver<float>;
extern template class SpectralSolver<double>;

}  // namespace tessera::grid
