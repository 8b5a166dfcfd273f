#include "tessera/grid/poisson/multigrid.h"

#include <algorithm>
#include <utility>

namespace tessera::grid {

namespace {

/// Returns the stencil of u + L u / |eigenvalue|.
Stencil sweep_of(const SeparableLaplacian& laplacian, double eigenvalue) {
  auto stencil = laplacian.stencil();
  for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
    auto& coefficient = stencil.coefficients[k];
    coefficient /= eigenvalue;
    if (stencil.offsets[k] == Index3{}) coefficient += 1;
  }
  return stencil;
}

}  // namespace

template <class Real>
MultigridCycle<Real>::MultigridCycle(std::vector<Level> levels, const comm::Communicator& comm, ThreadPool& threads)
    : levels_(std::move(levels)),
      threads_(threads),
      fields_(levels_.size()),
      sweeps_(levels_.size()),
      coarsest_(levels_.back().layout, levels_.back().laplacian, comm, threads) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const auto& level = levels_[i];
    const auto n = static_cast<std::size_t>(level.layout.boxes[static_cast<std::size_t>(comm.rank())].size());
    fields_[i].right.resize(n);
    fields_[i].solution.resize(n);
    if (i + 1 == levels_.size()) break;
    fields_[i].other.resize(n);
    for (const double eigenvalue : level.sweeps)
      sweeps_[i].emplace_back(sweep_of(level.laplacian, eigenvalue), level.layout, OperatorOptions{.batch = 1}, comm,
                              threads);
    const auto& coarser = levels_[i + 1].layout;
    down_.emplace_back(TransferKind::restriction, 1, level.layout, coarser, false, comm, threads);
    up_.emplace_back(TransferKind::interpolation, 1, coarser, level.layout, false, comm, threads);
  }
}

template <class Real>
void MultigridCycle<Real>::relax(std::size_t level) {
  auto& [right, solution, other] = fields_[level];
  const auto& eigenvalues = levels_[level].sweeps;
  for (std::size_t k = 0; k < eigenvalues.size(); ++k) {
    sweeps_[level][k].apply(solution, other, 1, {right.data(), static_cast<Real>(-1 / eigenvalues[k])});
    std::swap(solution, other);
  }
}

template <class Real>
std::span<const Real> MultigridCycle<Real>::run() {
  const std::size_t last = levels_.size() - 1;
  for (std::size_t i = 0; i < last; ++i) down_[i].apply(fields_[i].right, fields_[i + 1].right, 1);
  coarsest_.solve(fields_[last].right.data(), fields_[last].solution.data());
  for (std::size_t i = last; i-- > 0;) {
    up_[i].apply(fields_[i + 1].solution, fields_[i].solution, 1);
    relax(i);
  }
  return fields_.front().solution;
}

template class MultigridCycle<float>;
template class MultigridCycle<double>;

}  // namespace tessera::grid
