// Implements the mesh loops for float with vectors, once for each instruction set. Formulas, source and units:
// kernel.h.
//
// Weights are computed for a block of atoms, one atom per lane, then transposed so that an atom's weights along z are
// vectors of four; rows along z are contiguous in the mesh. Orders 6 and 8 use two such vectors (6 with zeros at its
// end).
// Cost: for order 4 with AVX2 about 270 instructions per atom to spread, 220 to gather.
#include "tessera/md/pme/kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/pme/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/pme/kernel-inl.h"

#if HWY_ONCE

namespace tessera::md::pme {

HWY_EXPORT(Spread);
HWY_EXPORT(Gather);
HWY_EXPORT(AddForces);
HWY_EXPORT(Convert);

void spread(const SpreadTarget<float>& target, int order, std::span<const std::int32_t> atoms, const Fraction* position,
            const float* charge) {
  HWY_DYNAMIC_DISPATCH(Spread)(target, order, atoms.data(), atoms.size(), position, charge);
}

bool gather(const MeshWindow& window, const float* mesh, int order, std::int64_t n, const Fraction* position,
            const float* charge, float* gradient) {
  return HWY_DYNAMIC_DISPATCH(Gather)(window, mesh, order, static_cast<std::size_t>(n), position, charge, gradient);
}

void add_forces(std::int64_t n, const float* charge, const float* gradient, const Vec3* to_force, std::int64_t* force) {
  HWY_DYNAMIC_DISPATCH(AddForces)(static_cast<std::size_t>(n), charge, gradient, to_force, force);
}

std::int64_t convert(const std::int32_t* fixed, float* charge, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Convert)(fixed, charge, static_cast<std::size_t>(n));
}

}  // namespace tessera::md::pme

#endif
