// Rounds forces to fixed point, one to a lane; included once for each instruction set, and for lanes of a device.
#include "tessera/base/fixed_point.h"
#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::lane_sums {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;
using DL = hn::RebindToSigned<D>;
using VL = hn::Vec<DL>;

/// Computes to_fixed_force() of fixed_point.h.
HWY_INLINE VL FixedForce(V value) {
  const D d;
  const V scaled = hn::Mul(value, hn::Set(d, 1 / force_unit)), limit = hn::Set(d, force_limit / force_unit);
  // Values that are not less than the limit include NaN.
  const V bounded = hn::Max(hn::IfThenElse(hn::Lt(scaled, limit), scaled, limit), hn::Neg(limit));
  return simd::ToIntegers(bounded);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::lane_sums
HWY_AFTER_NAMESPACE();
