// Shifts lanes through a pair of registers. It is included once for each instruction set.
#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

/// Returns as many lanes as a register has from number `kFirst` on of those of `low`, which `high` follows.
template <std::size_t kFirst, class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V LanesFrom(D d, V low, V high) {
  namespace hn = hwy::HWY_NAMESPACE;
  using Lane = hn::TFromD<D>;
  constexpr std::size_t n = hn::MaxLanes(D());
  static_assert(kFirst <= n);
  if constexpr (kFirst == 0) {
    return low;
  } else if constexpr (kFirst == n) {
    return high;
  } else {
    constexpr std::size_t bytes = kFirst * sizeof(Lane);
#if HWY_TARGET <= HWY_AVX3
    // Highway has no shift through a pair of whole registers of 64 bytes.
    if constexpr (n * sizeof(Lane) == 64) {
      const hn::RebindToSigned<D> di;
      const auto low_bits = hn::BitCast(di, low), high_bits = hn::BitCast(di, high);
      if constexpr (sizeof(Lane) == 8)
        return hn::BitCast(d, hn::Vec<decltype(di)>{_mm512_alignr_epi64(high_bits.raw, low_bits.raw, int{kFirst})});
      else
        return hn::BitCast(d, hn::Vec<decltype(di)>{_mm512_alignr_epi32(high_bits.raw, low_bits.raw, int{kFirst})});
    } else  // NOLINT(readability-else-after-return)
#endif
        if constexpr (n * sizeof(Lane) == 16) {
      return hn::CombineShiftRightBytes<bytes>(d, high, low);
    } else {
      static_assert(n * sizeof(Lane) == 32);
      const V middle = hn::ConcatLowerUpper(d, high, low);  // halves: the upper one of low, the lower one of high
      if constexpr (bytes < 16)
        return hn::CombineShiftRightBytes<bytes>(d, middle, low);
      else if constexpr (bytes == 16)
        return middle;
      else
        return hn::CombineShiftRightBytes<bytes - 16>(d, high, middle);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();
