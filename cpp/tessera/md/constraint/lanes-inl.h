// Defines vectors of doubles with one molecule per lane, and three-vectors of them. It is included once for each
// instruction set, and for lanes of a device.
//
// Every operation acts on each lane alone, so that a molecule's bits do not depend on which others share its batch.
#include "tessera/base/simd/rounding-inl.h"

// Stands before loops over the atoms and constraints of a group, whose values a device can only keep in registers where
// no loop is left.
#undef TESSERA_UNROLL
#ifdef __CUDACC__
#define TESSERA_UNROLL HWY_UNROLL(8)
#else
#define TESSERA_UNROLL
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::md::constraint {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;
using Mask = hn::Mask<D>;

constexpr std::size_t lanes = hn::MaxLanes(D());

HWY_INLINE V set(double value) { return hn::Set(D(), value); }

struct Vectors {
  V x, y, z;
};

HWY_INLINE Vectors Add(const Vectors& a, const Vectors& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
HWY_INLINE Vectors Sub(const Vectors& a, const Vectors& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
HWY_INLINE Vectors Mul(V s, const Vectors& a) { return {s * a.x, s * a.y, s * a.z}; }
/// Returns s·a + b.
HWY_INLINE Vectors MulAdd(V s, const Vectors& a, const Vectors& b) {
  return {simd::MulAdd(s, a.x, b.x), simd::MulAdd(s, a.y, b.y), simd::MulAdd(s, a.z, b.z)};
}
/// Returns b − s·a.
HWY_INLINE Vectors NegMulAdd(V s, const Vectors& a, const Vectors& b) {
  return {simd::NegMulAdd(s, a.x, b.x), simd::NegMulAdd(s, a.y, b.y), simd::NegMulAdd(s, a.z, b.z)};
}
HWY_INLINE V Dot(const Vectors& a, const Vectors& b) {
  return simd::MulAdd(a.x, b.x, simd::MulAdd(a.y, b.y, a.z * b.z));
}
HWY_INLINE Vectors Cross(const Vectors& a, const Vectors& b) {
  return {simd::MulSub(a.y, b.z, a.z * b.y), simd::MulSub(a.z, b.x, a.x * b.z), simd::MulSub(a.x, b.y, a.y * b.x)};
}
HWY_INLINE Vectors IfThenElseZero(Mask mask, const Vectors& a) {
  return {hn::IfThenElseZero(mask, a.x), hn::IfThenElseZero(mask, a.y), hn::IfThenElseZero(mask, a.z)};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::constraint
HWY_AFTER_NAMESPACE();
