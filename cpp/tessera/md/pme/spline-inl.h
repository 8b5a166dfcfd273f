// Computes the splines of spline.h, one atom per lane; kernel.cpp includes it once for each instruction set, and kernels
// of devices once for lanes.
#include "tessera/base/simd/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::pme {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;

HWY_INLINE V set(float value) { return hn::Set(D(), value); }

/// Holds where splines begin along one direction, in [0, n), and the rest of the mesh coordinate, in [0, 1).
struct SplinePlace {
  hn::Vec<DI> first;
  V rest;
};

/// Computes the same as mesh_coordinate() of spline.h, on n < 2¹⁶ points, and adds an offset in [0, n) to points.
HWY_INLINE SplinePlace Locate(hn::Vec<DI> fraction, std::uint32_t n_points, std::uint32_t offset) {
  const DU du;
  const DI di;
  // fraction·n is computed in two halves, because 32 × 32 → 64 bits is slow across lanes.
  const auto n = hn::Set(du, n_points);
  const auto f = hn::Xor(hn::BitCast(du, fraction), hn::Set(du, 0x80000000u));
  const auto low_bits = hn::Set(du, 0xffffu);
  const auto low = hn::Mul(hn::And(f, low_bits), n);
  const auto high = hn::Add(hn::Mul(hn::ShiftRight<16>(f), n), hn::ShiftRight<16>(low));
  const auto rest = hn::Or(hn::ShiftLeft<16>(high), hn::And(low, low_bits));
  const auto at = hn::Add(hn::ShiftRight<16>(high), hn::Set(du, offset));
  return {hn::BitCast(di, hn::Min(at, hn::Sub(at, n))),  // at − n wraps to a large number where at < n
          hn::Mul(hn::ConvertTo(D(), hn::BitCast(di, hn::ShiftRight<8>(rest))), set(1.0f / 16777216.0f))};
}

/// Computes the same as fill_spline() of spline.h, with fused multiply-adds.
template <int order>
HWY_INLINE void FillSpline(V w, V* weight, V* slope) {
  weight[0] = hn::Sub(set(1.0f), w);
  weight[1] = w;
  HWY_UNROLL(8)
  for (int p = 3; p <= order; ++p) {
    if (p == order) {
      slope[0] = hn::Neg(weight[0]);
      HWY_UNROLL(8)
      for (int j = 1; j < p - 1; ++j) slope[j] = hn::Sub(weight[j - 1], weight[j]);
      slope[p - 1] = weight[p - 2];
    }
    const V scale = set(1.0f / static_cast<float>(p - 1));
    weight[p - 1] = hn::Mul(hn::Mul(scale, w), weight[p - 2]);
    HWY_UNROLL(8)
    for (int j = p - 2; j > 0; --j) {
      const V left = hn::Mul(hn::Add(w, set(static_cast<float>(p - 1 - j))), weight[j - 1]);
      weight[j] = hn::Mul(scale, simd::MulAdd(hn::Sub(set(static_cast<float>(j + 1)), w), weight[j], left));
    }
    weight[0] = hn::Mul(hn::Mul(scale, hn::Sub(set(1.0f), w)), weight[0]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::pme
HWY_AFTER_NAMESPACE();
