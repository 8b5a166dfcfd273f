// Operations that round once, to the nearest, on every instruction set. Highway's multiply-add rounds twice where there
// is no such instruction, its emulation (EMU128) rounds some numbers to the wrong integer, and elsewhere its
// conversions cost more, as they also handle numbers that do not fit. The file may be included several times for each
// instruction set.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tessera/base/simd/highway.h"

#if defined(TESSERA_BASE_SIMD_ROUNDING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BASE_SIMD_ROUNDING_INL_H
#undef TESSERA_BASE_SIMD_ROUNDING_INL_H
#else
#define TESSERA_BASE_SIMD_ROUNDING_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

// The functions call each other by full names: an argument's own namespace holds those of Highway.

/// Returns a·b + c of each lane.
template <class V>
HWY_INLINE V MulAdd(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hwy::HWY_NAMESPACE::MulAdd(a, b, c);
#else
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  HWY_ALIGN hn::TFromV<V> lanes[3][hn::MaxLanes(d)];
  hn::Store(a, d, lanes[0]);
  hn::Store(b, d, lanes[1]);
  hn::Store(c, d, lanes[2]);
  for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) lanes[0][i] = std::fma(lanes[0][i], lanes[1][i], lanes[2][i]);
  return hn::Load(d, lanes[0]);
#endif
}

/// Returns c − a·b of each lane.
template <class V>
HWY_INLINE V NegMulAdd(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hwy::HWY_NAMESPACE::NegMulAdd(a, b, c);
#else
  return simd::HWY_NAMESPACE::MulAdd(hwy::HWY_NAMESPACE::Neg(a), b, c);
#endif
}

/// Returns a·b − c of each lane.
template <class V>
HWY_INLINE V MulSub(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hwy::HWY_NAMESPACE::MulSub(a, b, c);
#else
  return simd::HWY_NAMESPACE::MulAdd(a, b, hwy::HWY_NAMESPACE::Neg(c));
#endif
}

/// Rounds doubles to whole numbers.
template <class V>
HWY_INLINE V Round(V v) {
#if HWY_TARGET == HWY_EMU128
  for (auto& one : v.raw) one = std::nearbyint(one);
  return v;
#else
  return hwy::HWY_NAMESPACE::Round(v);
#endif
}

/// Returns the nearest integers, as wide as the lanes, of numbers that fit.
template <class V>  // a template, so that only the branch of this width is compiled
HWY_INLINE auto ToIntegers(V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  using D = hn::DFromV<V>;
  using Integers [[maybe_unused]] = hn::Vec<hn::RebindToSigned<D>>;
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
#if HWY_TARGET <= HWY_AVX3
    if constexpr (hn::MaxLanes(D()) == 8) return Integers{_mm512_cvtpd_epi64(v.raw)};
#endif
    // Sets before AVX-512 have no such conversion. Here the number and its rest after the multiple of 2³² are rounded
    // one after the other: added to 1.5·2⁵², whose last digit is worth one, they become integers in the last bits.
    const D d;
    const hn::RebindToSigned<D> integers;
    const V shift = hn::Set(d, 0x1.8p52);
    const V high = hn::Add(hn::Mul(v, hn::Set(d, 0x1p-32)), shift);
    const V low = hn::Add(hn::Sub(v, hn::Mul(hn::Sub(high, shift), hn::Set(d, 0x1p32))), shift);
    return hn::Add(hn::ShiftLeft<32>(hn::BitCast(integers, high)),
                   hn::Sub(hn::BitCast(integers, low), hn::BitCast(integers, shift)));
#else
    return hn::ConvertTo(hn::RebindToSigned<D>(), simd::HWY_NAMESPACE::Round(v));
#endif
  } else {
#if HWY_TARGET == HWY_EMU128
    Integers integers;
    for (std::size_t i = 0; i < hn::MaxLanes(D()); ++i)
      integers.raw[i] = static_cast<std::int32_t>(std::lrint(v.raw[i]));
    return integers;
#elif HWY_ARCH_X86
    if constexpr (hn::MaxLanes(D()) == 4) return Integers{_mm_cvtps_epi32(v.raw)};
#if HWY_TARGET <= HWY_AVX2
    if constexpr (hn::MaxLanes(D()) == 8) return Integers{_mm256_cvtps_epi32(v.raw)};
#endif
#if HWY_TARGET <= HWY_AVX3
    if constexpr (hn::MaxLanes(D()) == 16) return Integers{_mm512_cvtps_epi32(v.raw)};
#endif
#else
    return hn::NearestInt(v);
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();

#endif
