// Compiles the kernel once for each instruction set.
#include "tessera/grid/kernel.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/grid/kernel.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/grid/kernel-inl.h"

#if HWY_ONCE

namespace tessera::grid {

HWY_EXPORT(ApplyToFloats);
HWY_EXPORT(ApplyToDoubles);

template <>
void apply_stencil(const MemoryStencil<float>& stencil, const float* from, const Strides& from_strides, float* to,
                   const Strides& to_strides, const Index3& extents, bool streams) {
  HWY_DYNAMIC_DISPATCH(ApplyToFloats)(stencil, from, from_strides, to, to_strides, extents, streams);
}
template <>
void apply_stencil(const MemoryStencil<double>& stencil, const double* from, const Strides& from_strides, double* to,
                   const Strides& to_strides, const Index3& extents, bool streams) {
  HWY_DYNAMIC_DISPATCH(ApplyToDoubles)(stencil, from, from_strides, to, to_strides, extents, streams);
}

}  // namespace tessera::grid

#endif
