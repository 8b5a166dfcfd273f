// Applies stencils to blocks of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::grid {

/// A stencil for numbers of one kind in memory of fixed strides.
template <class Real>
struct MemoryStencil {
  std::vector<std::int64_t> steps;  // to each neighbour, in numbers
  std::vector<Real> coefficients;
};

/// Strides of a block in numbers; those along z are consecutive.
struct Strides {
  std::int64_t x = 0, y = 0;
};

/// Applies a stencil to `planes` × `rows` × `length` numbers: to[i] = Σ coefficients[k] · from[i + steps[k]], the first
/// product rounded and each further one added by fused multiply-add, so the bits are the same on every instruction set.
/// `streams`: the result is written past the caches. Bound: with planes of 2·radius + 1 in the cache, each number is
/// read once and written once (twice without streaming); below that the loads, one for each coefficient and vector.
template <class Real>
void apply_stencil(const MemoryStencil<Real>& stencil, const Real* from, const Strides& from_strides, Real* to,
                   const Strides& to_strides, const Index3& extents, bool streams);

}  // namespace tessera::grid
