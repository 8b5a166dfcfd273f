// Contains what bonded terms are computed with: vectors of three doubles, one term to a lane. It is included once for each
// instruction set, and for lanes of a device.
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "tessera/base/box.h"
#include "tessera/base/simd/rounding-inl.h"
#include "tessera/md/bonded/kernel.h"

// Stands before loops over terms, which on a device are a part of its kernel.
#undef TESSERA_LOOP
#ifdef TESSERA_LANE
#define TESSERA_LOOP HWY_INLINE
#else
#define TESSERA_LOOP
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using DL = hn::RebindToSigned<D>;
using VL = hn::Vec<DL>;
using DI = hn::Rebind<std::int32_t, D>;
using VI = hn::Vec<DI>;

HWY_INLINE V set(double value) { return hn::Set(D(), value); }
HWY_INLINE V Where(M mask, V v) { return hn::IfThenElseZero(mask, v); }

struct V3 {
  V x, y, z;
};

HWY_INLINE V3 Add(const V3& a, const V3& b) { return {hn::Add(a.x, b.x), hn::Add(a.y, b.y), hn::Add(a.z, b.z)}; }
HWY_INLINE V3 Sub(const V3& a, const V3& b) { return {hn::Sub(a.x, b.x), hn::Sub(a.y, b.y), hn::Sub(a.z, b.z)}; }
HWY_INLINE V3 Neg(const V3& a) { return {hn::Neg(a.x), hn::Neg(a.y), hn::Neg(a.z)}; }
HWY_INLINE V3 Mul(V s, const V3& a) { return {hn::Mul(s, a.x), hn::Mul(s, a.y), hn::Mul(s, a.z)}; }
HWY_INLINE V3 MulAdd(V s, const V3& a, const V3& b) {
  return {simd::MulAdd(s, a.x, b.x), simd::MulAdd(s, a.y, b.y), simd::MulAdd(s, a.z, b.z)};
}
HWY_INLINE V3 MulSub(V s, const V3& a, const V3& b) {
  return {simd::MulSub(s, a.x, b.x), simd::MulSub(s, a.y, b.y), simd::MulSub(s, a.z, b.z)};
}
HWY_INLINE V Dot(const V3& a, const V3& b) { return simd::MulAdd(a.z, b.z, simd::MulAdd(a.y, b.y, hn::Mul(a.x, b.x))); }
HWY_INLINE V3 Cross(const V3& a, const V3& b) {
  return {simd::MulSub(a.y, b.z, hn::Mul(a.z, b.y)), simd::MulSub(a.z, b.x, hn::Mul(a.x, b.z)),
          simd::MulSub(a.x, b.y, hn::Mul(a.y, b.x))};
}

/// Returns atan2(y, x) within two units of the last place; 0 if both are 0.
///
/// Formula: |y|/|x| is reduced to |q| ≤ tan π/8 by a rotation of π/4 or π/2; atan q = q + q³P(q²), where P of degree 10
///   interpolates at Chebyshev's points of [0, tan² π/8] with an error of 7e-18
HWY_INLINE V Atan2(V y, V x) {
  constexpr double p[] = {-0.3333333333333333,   0.19999999999995516, -0.14285714284665682, 0.11111111015187018,
                          -0.0909090457530649,   0.07692183125376892, -0.06664510525508936, 0.05858140904866328,
                          -0.050854078345894844, 0.03923044778479309, -0.019175404711104932};
  const V narrow = set(std::numbers::sqrt2 - 1), ax = hn::Abs(x), ay = hn::Abs(y);
  const M near_x = hn::Le(ay, hn::Mul(narrow, ax)), near_y = hn::Le(ax, hn::Mul(narrow, ay));
  const V numerator = hn::IfThenElse(near_x, ay, hn::IfThenElse(near_y, hn::Neg(ax), hn::Sub(ay, ax)));
  const V denominator = hn::IfThenElse(near_x, ax, hn::IfThenElse(near_y, ay, hn::Add(ay, ax)));
  const V turn = Where(hn::Not(near_x), hn::IfThenElse(near_y, set(std::numbers::pi / 2), set(std::numbers::pi / 4)));
  const V q = hn::Div(numerator, hn::Max(denominator, set(1e-300))), z = hn::Mul(q, q), z2 = hn::Mul(z, z);
  V even = set(p[10]), odd = set(p[9]);
  HWY_UNROLL(4)
  for (int i = 8; i >= 0; i -= 2) even = simd::MulAdd(even, z2, set(p[i]));
  HWY_UNROLL(4)
  for (int i = 7; i >= 1; i -= 2) odd = simd::MulAdd(odd, z2, set(p[i]));
  const V angle = hn::Add(turn, simd::MulAdd(hn::Mul(q, z), simd::MulAdd(odd, z, even), q));
  return hn::CopySign(hn::IfThenElse(hn::Lt(x, set(0)), hn::Sub(set(std::numbers::pi), angle), angle), y);
}

/// Holds where one atom of each term is, in fractions of the box.
struct Place {
  VI x, y, z;
};

/// Holds the edges of the box, each over the number of its fractions, Å.
struct Edges {
  V ax, bx, by, cx, cy, cz;

  HWY_INLINE Edges(const EdgesOfBox& edges)
      : ax(set(edges.ax)),
        bx(set(edges.bx)),
        by(set(edges.by)),
        cx(set(edges.cx)),
        cy(set(edges.cy)),
        cz(set(edges.cz)) {}

  /// Returns the vectors from `from` to `to` in the nearest image, Å.
  HWY_INLINE V3 displacement(const Place& from, const Place& to) const {
    const D d;
    const V x = hn::PromoteTo(d, hn::Sub(to.x, from.x)), y = hn::PromoteTo(d, hn::Sub(to.y, from.y)),
            z = hn::PromoteTo(d, hn::Sub(to.z, from.z));
    return {simd::MulAdd(cx, z, simd::MulAdd(bx, y, hn::Mul(ax, x))), simd::MulAdd(cy, z, hn::Mul(by, y)),
            hn::Mul(cz, z)};
  }
};

/// Holds the virial Σ r⊗F of each lane's term in floating point, xx yy zz xy xz yz in kcal/mol; it is rounded to fixed
/// point once per term.
struct TermVirial {
  V w[6];

  HWY_INLINE TermVirial() {
    for (V& component : w) component = hn::Zero(D());
  }
  HWY_INLINE void add(const V3& r, const V3& f) {
    w[0] = simd::MulAdd(r.x, f.x, w[0]);
    w[1] = simd::MulAdd(r.y, f.y, w[1]);
    w[2] = simd::MulAdd(r.z, f.z, w[2]);
    w[3] = simd::MulAdd(r.x, f.y, w[3]);
    w[4] = simd::MulAdd(r.x, f.z, w[4]);
    w[5] = simd::MulAdd(r.y, f.z, w[5]);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
