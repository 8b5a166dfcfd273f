// A stencil plus a multiple of another field. To be replaced by StencilOperator::apply with an addend.
#pragma once

#include <span>
#include <type_traits>

#include "tessera/base/threads.h"
#include "tessera/grid/operator.h"
#include "tessera/grid/poisson/passes.h"

namespace tessera::grid {

/// to = factor · addend + stencil of `from`. Collective.
template <class Real>
void apply_and_add(StencilOperator<Real>& stencil, std::span<const std::type_identity_t<Real>> from,
                   std::span<std::type_identity_t<Real>> to, std::span<const std::type_identity_t<Real>> addend,
                   double factor, ThreadPool& threads) {
  stencil.apply(from, to, 1);
  add_scaled(addend, factor, to, threads);
}

}  // namespace tessera::grid
