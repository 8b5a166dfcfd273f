// Turns fractions of the box into lengths, for processors and lanes of a device. Highway includes it once for each
// instruction set.
#include "tessera/base/box.h"
#include "tessera/base/simd/highway.h"

#if defined(TESSERA_MD_DOMAIN_PLACE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_MD_DOMAIN_PLACE_INL_H
#undef TESSERA_MD_DOMAIN_PLACE_INL_H
#else
#define TESSERA_MD_DOMAIN_PLACE_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::md::domain {
namespace HWY_NAMESPACE {

template <class V>
struct PlaceOfLanes {
  V x, y, z;
};

/// Returns the vectors of units of a fraction, with the operations of SingleTriangular.
template <class D, class V>
HWY_INLINE PlaceOfLanes<V> PlaceOf(D d, const SingleTriangular& m, V x, V y, V z) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto times = [&](float factor, V v) HWY_ATTR { return hn::Mul(hn::Set(d, factor), v); };
  return {hn::Add(hn::Add(times(m.xx, x), times(m.xy, y)), times(m.xz, z)), hn::Add(times(m.yy, y), times(m.yz, z)),
          times(m.zz, z)};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::domain
HWY_AFTER_NAMESPACE();
#endif
