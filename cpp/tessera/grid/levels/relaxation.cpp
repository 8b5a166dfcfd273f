#include "tessera/grid/levels/relaxation.h"

#include <algorithm>
#include <cstddef>

#include "tessera/base/error.h"
#include "tessera/grid/halo.h"
#include "tessera/grid/levels/rows.h"

namespace tessera::grid {

namespace {

std::vector<IndexBox> padded_boxes(const Stencil& stencil, const GridLayout& layout) {
  const auto shape = HaloShape::of(stencil);
  std::vector<IndexBox> regions;
  for (const auto& box : layout.boxes) regions.push_back(padded(box, shape));
  return regions;
}

}  // namespace

Relaxation::Relaxation(const Stencil& stencil, const GridLayout& layout, const comm::Communicator& comm,
                       ThreadPool& threads)
    : threads_(threads),
      around_(layout, padded_boxes(stencil, layout), 1, true, comm, threads),
      diagonal_(stencil.coefficients.empty() ? 0 : stencil.coefficients[0]) {
  if (diagonal_ == 0 || stencil.offsets[0] != Index3{})
    throw InputError("a stencil whose first term is not the point itself; expected that, as relaxation divides by it");
  // Neighbours before a point in its own row come last, the farthest first.
  std::vector<std::size_t> earlier;
  for (std::size_t k = 1; k < stencil.offsets.size(); ++k) {
    const auto& [x, y, z] = stencil.offsets[k];
    if (x == 0 && y == 0 && z < 0) {
      earlier.push_back(k);
    } else {
      steps_.push_back(x * around_.place().stride_x + y * around_.place().stride_y + z);
      weights_.push_back(-stencil.coefficients[k] / diagonal_);
    }
  }
  std::ranges::stable_sort(earlier, {}, [&](std::size_t k) { return stencil.offsets[k][2]; });
  for (const auto k : earlier) {
    earlier_steps_.push_back(stencil.offsets[k][2]);
    earlier_weights_.push_back(-stencil.coefficients[k] / diagonal_);
  }
}

void Relaxation::copy_inside(const double* values) {
  const auto& box = around_.box();
  for (auto x = box.lower[0]; x < box.upper[0]; ++x)
    for (auto y = box.lower[1]; y < box.upper[1]; ++y)
      std::copy_n(values + around_.offset_in_box({x, y, box.lower[2]}), box.extent(2),
                  around_.around({x, y, box.lower[2]}));
}

/// Computes a row's sums over neighbours that do not change meanwhile with vectors; what remains is one chain of
/// multiply-adds.
void Relaxation::gauss_seidel(double* values, const double* source) {
  const auto& box = around_.box();
  const auto n = box.extent(2);
  std::vector<double> sums(static_cast<std::size_t>(n));
  std::vector<const double*> rows(steps_.size() + 1);
  std::vector<double> weights{1 / diagonal_};
  weights.insert(weights.end(), weights_.begin(), weights_.end());
  for (auto x = box.lower[0]; x < box.upper[0]; ++x)
    for (auto y = box.lower[1]; y < box.upper[1]; ++y) {
      const auto at = around_.offset_in_box({x, y, box.lower[2]});
      double* row = around_.around({x, y, box.lower[2]});
      rows[0] = source + at;
      for (std::size_t k = 0; k < steps_.size(); ++k) rows[k + 1] = row + steps_[k];
      sum_rows<double>(rows, weights, sums.data(), n);
      follow_row(earlier_weights_, earlier_steps_, sums.data(), row, n);
      std::copy_n(row, n, values + at);
    }
}

void Relaxation::jacobi(double* values, const double* source, double weight) {
  const auto& box = around_.box();
  const auto n = box.extent(2);
  std::vector<double> weights{1 - weight, weight / diagonal_};
  std::vector<std::int64_t> steps = earlier_steps_;
  for (const auto one : earlier_weights_) weights.push_back(weight * one);
  for (const auto one : weights_) weights.push_back(weight * one);
  steps.insert(steps.end(), steps_.begin(), steps_.end());
  threads_.parallel_for(box.extent(0), [&](std::int64_t begin, std::int64_t end) {
    std::vector<const double*> rows(steps.size() + 2);
    for (auto x = box.lower[0] + begin; x < box.lower[0] + end; ++x)
      for (auto y = box.lower[1]; y < box.upper[1]; ++y) {
        const auto at = around_.offset_in_box({x, y, box.lower[2]});
        const double* row = around_.around({x, y, box.lower[2]});
        rows[0] = row;
        rows[1] = source + at;
        for (std::size_t k = 0; k < steps.size(); ++k) rows[k + 2] = row + steps[k];
        sum_rows<double>(rows, weights, values + at, n);
      }
  });
}

void Relaxation::sweep(RelaxationMethod method, std::span<double> values, std::span<const double> source,
                       std::int64_t sweeps, double weight) {
  TESSERA_CHECK(values.size() == source.size() && static_cast<std::int64_t>(values.size()) == around_.box().size());
  for (std::int64_t n = 0; n < sweeps; ++n) {
    around_.bring(values.data(), 1, {1, 1, 1});
    around_.fill(0);
    if (n == 0 || method == RelaxationMethod::jacobi) copy_inside(values.data());
    if (method == RelaxationMethod::gauss_seidel)
      gauss_seidel(values.data(), source.data());
    else
      jacobi(values.data(), source.data(), weight);
  }
}

}  // namespace tessera::grid
