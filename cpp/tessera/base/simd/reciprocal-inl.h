// Computes reciprocals without a division, and roots without a check of their range. It is included once for each instruction set.
#include "tessera/base/simd/highway.h"
#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

/// Whether RoundedReciprocal() multiplies with this instruction set.
inline constexpr bool multiplies_for_reciprocals = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;

/// Returns 1/x of each lane, with the bits of a division, for x whose reciprocal is a normal number. AVX-512 has the
/// estimates and the modes of rounding that it takes; other sets divide.
///
/// An estimate of 14 bits and one step of Newton's method give 1/x up to 2⁻²⁸. Rounded upwards, this is q, which is
/// less than a unit in the last place from 1/x. The error e = 1 − xq is exact, and q + qe = (1 − e²)/x is rounded once.
/// It would be rounded to another number than 1/x only if 1/x were less than e²/x above the middle between two numbers.
/// Then q is the upper one, half a unit away, and e is at most x/2 · 2⁻²⁴ for x in [1, 2). But a number x of 24 bits
/// that is not a power of two has 1/x at least 2⁻⁴⁸/x away from any middle, which is more than e²/x.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> RoundedReciprocal(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  static_assert(hn::MaxLanes(D()) == 16);
  const auto one = hn::Set(d, 1.0f);
  const hn::Vec<D> estimate{_mm512_rcp14_ps(x.raw)};
  const auto error = simd::HWY_NAMESPACE::NegMulAdd(x, estimate, one);
  const hn::Vec<D> q{
      _mm512_fmadd_round_ps(estimate.raw, error.raw, estimate.raw, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)};
  return simd::HWY_NAMESPACE::MulAdd(q, simd::HWY_NAMESPACE::NegMulAdd(x, q, one), q);
#elif defined(TESSERA_LANE)
  static_cast<void>(d);
  return ShortReciprocal(x);
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

/// Returns √x of each lane, rounded to the nearest. On a device x has to be of 2⁻¹⁰⁰ to 2¹⁰⁰; of 0 there is no number.
template <class V>
HWY_INLINE V RoundedRoot(V x) {
#ifdef TESSERA_LANE
  return ShortRoot(x);
#else
  return hwy::HWY_NAMESPACE::Sqrt(x);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();
