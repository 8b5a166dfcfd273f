// Moves chosen lanes to the front of a register. It is included once for each instruction set.
#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tessera::simd {
namespace HWY_NAMESPACE {

/// Holds, for each set of eight lanes, their indices in order. Highway's own table is a local constant, which GCC
/// copies to the stack each time: a kilobyte for every register.
inline constexpr auto lanes_in_order = [] {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits) {
    std::size_t n = 0;
    for (std::uint8_t lane = 0; lane < 8; ++lane)
      if ((bits >> lane & 1) != 0) table[bits][n++] = lane;
  }
  return table;
}();

/// Returns a bit for each lane of a mask of 32-bit lanes, of which there are at most 16.
template <class D>
HWY_INLINE std::uint32_t BitsOf(D d, hwy::HWY_NAMESPACE::Mask<D> mask) {
  std::uint8_t bytes[8] = {};
  hwy::HWY_NAMESPACE::StoreMaskBits(d, mask, bytes);
  return static_cast<std::uint32_t>(bytes[0] | (bytes[1] << 8));
}

/// Returns the mask of 32-bit lanes whose bits are set.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Mask<D> MaskOfBits(D d, std::uint32_t bits) {
  const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
  return hwy::HWY_NAMESPACE::LoadMaskBits(d, bytes);
}

/// Moves the 32-bit lanes whose bits are set to the front, in order. The other lanes hold anything.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> CompressByBits(D d, hwy::HWY_NAMESPACE::Vec<D> values, std::uint32_t bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (hn::MaxLanes(D()) == 8) {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<std::uint8_t, D> bytes;
    const auto order = hn::PromoteTo(di, hn::LoadU(bytes, lanes_in_order[bits].data()));
    return hn::TableLookupLanes(values, hn::IndicesFromVec(d, order));
  } else {
    return hn::Compress(values, MaskOfBits(d, bits));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::simd
HWY_AFTER_NAMESPACE();
