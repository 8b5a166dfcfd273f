// Compiles the kernel once for each instruction set.
#include "tessera/grid/kernel.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/grid/kernel.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/grid/kernel-inl.h"

#if HWY_ONCE

namespace tessera::grid {

HWY_EXPORT(ApplyToFloats);
HWY_EXPORT(ApplyToDoubles);

namespace {

/// Returns the offsets of a star in the order of its terms.
std::vector<Index3> star_offsets(std::int64_t radius) {
  std::vector<Index3> offsets{{0, 0, 0}};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::int64_t k = 1; k <= radius; ++k)
      for (const auto at : {k, -k}) offsets.emplace_back()[axis] = at;
  return offsets;
}

/// Puts the terms of a stencil in order if it is a star, and returns its radius, else 0.
template <class Real>
int sort_star(Stencil& stencil) {
  const auto radius = stencil.reach()[0][0];
  const auto offsets = star_offsets(radius);
  if (radius == 0 || stencil.offsets.size() != offsets.size()) return 0;
  Stencil sorted{offsets, {}};
  for (const auto& offset : offsets) {
    const auto at = std::find(stencil.offsets.begin(), stencil.offsets.end(), offset) - stencil.offsets.begin();
    if (at == std::ssize(stencil.offsets)) return 0;
    sorted.coefficients.push_back(stencil.coefficients[static_cast<std::size_t>(at)]);
  }
  for (std::size_t k = 1; k < offsets.size(); k += 2)
    if (static_cast<Real>(sorted.coefficients[k]) != static_cast<Real>(sorted.coefficients[k + 1])) return 0;
  stencil = sorted;
  return static_cast<int>(radius);
}

}  // namespace

template <class Real>
RowStencil<Real>::RowStencil(Stencil stencil, std::int64_t components) : reach(stencil.reach()) {
  star_radius = sort_star<Real>(stencil);
  for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
    const auto& offset = stencil.offsets[k];
    auto its = std::find_if(neighbours.begin(), neighbours.end(),
                            [&](const Neighbour& one) { return one.x == offset[0] && one.y == offset[1]; });
    if (its == neighbours.end()) its = neighbours.insert(its, {offset[0], offset[1]});
    its->leaves_ends |= offset[2] != 0;
    neighbour_of_term.push_back(static_cast<std::int32_t>(its - neighbours.begin()));
    steps.push_back(offset[2] * components);
    coefficients.push_back(static_cast<Real>(stencil.coefficients[k]));
  }
}
template struct RowStencil<float>;
template struct RowStencil<double>;

template <>
void apply_stencil(const RowStencil<float>& stencil, const FieldRows<float>& from, float* to, std::int64_t first,
                   std::int64_t last, const Addend<float>& addend, bool streams) {
  HWY_DYNAMIC_DISPATCH(ApplyToFloats)(stencil, from, to, first, last, addend, streams);
}
template <>
void apply_stencil(const RowStencil<double>& stencil, const FieldRows<double>& from, double* to, std::int64_t first,
                   std::int64_t last, const Addend<double>& addend, bool streams) {
  HWY_DYNAMIC_DISPATCH(ApplyToDoubles)(stencil, from, to, first, last, addend, streams);
}

}  // namespace tessera::grid

#endif
