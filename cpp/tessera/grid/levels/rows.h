// Sums of rows of numbers, and rows between a grid and one of half its points.
#pragma once

#include <cstdint>
#include <span>

namespace tessera::grid {

/// A sum has one order: the first product is rounded and each further one added by fused multiply-add, so the bits are
/// the same on every instruction set.

/// Computes to[i] = Σ weights[k] · rows[k][i] for i < length. `to` must not overlap them. Bound: loads of the rows.
template <class Real>
void sum_rows(std::span<const Real* const> rows, std::span<const Real> weights, Real* to, std::int64_t length);

/// Some values of a row, wherever they lie.
template <class Real>
struct RowPart {
  const Real* values;
  std::int64_t n;
};

/// Restricts a row: value i < n of `to` is ½ · from[2i] + Σ weights[k] · (from[2i + 2k + 1] + from[2i − 2k − 1]). The
/// fine row is given by its parts, one after the other, of which the first begins at from[1 − 2 · weights.size()].
/// Values have one or two components, side by side.
template <class Real>
void halve_row(std::span<const Real> weights, int components, std::span<const RowPart<Real>> parts, Real* to,
               std::int64_t n);

/// Interpolates a row: value 2i of `to` is from[i], and value 2i + 1 is Σ weights[k] · (from[i − k] + from[i + k + 1]),
/// for i < n.
template <class Real>
void double_row(std::span<const Real> weights, int components, const Real* from, Real* to, std::int64_t n);

/// Computes Gauss–Seidel's recurrence along a row: row[i] = sums[i] + Σ weights[k] · row[i + steps[k]] for i < n in
/// turn, where all steps are negative and −1, if it is one of them, is the last. Bound: one multiply-add after the
/// other.
void follow_row(std::span<const double> weights, std::span<const std::int64_t> steps, const double* sums, double* row,
                std::int64_t n);

}  // namespace tessera::grid
