// Contains vectors that the half steps are computed with, one group to a lane. It is included once for each instruction
// set, and for lanes of a device.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::integrate {
namespace HWY_NAMESPACE {

namespace lanewise = constraint::HWY_NAMESPACE;
namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using lanewise::lanes;
using lanewise::Mask;
using DI32 = hn::Rebind<std::int32_t, D>;
using DI64 = hn::Rebind<std::int64_t, D>;

/// Multiplies vectors by the box's matrix. What is beyond its diagonal adds zeros to the products where the box is
/// orthorhombic, which costs less than a branch and changes no bit.
HWY_INLINE Vectors Transform(const Triangular& m, const Vectors& r) {
  return {simd::MulAdd(set(m.xz), r.z, simd::MulAdd(set(m.xy), r.y, set(m.xx) * r.x)),
          simd::MulAdd(set(m.yz), r.z, set(m.yy) * r.y), set(m.zz) * r.z};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::integrate
HWY_AFTER_NAMESPACE();
