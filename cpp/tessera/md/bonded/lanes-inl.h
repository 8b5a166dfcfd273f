// Contains what all bonded loops share: batches of terms, one term per lane, in double precision. It is included once
// for each instruction set. A lane's result does not depend on the other lanes, so a term gives the same bits in any
// batch.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numbers>
#include <span>

#include "tessera/base/box.h"
#include "tessera/base/simd/rounding-inl.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/terms.h"
#include "tessera/md/lane_sums/lane_sums-inl.h"

#undef TESSERA_UNROLL
#define TESSERA_UNROLL _Pragma("GCC unroll 8")

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

constexpr std::size_t lanes = hn::MaxLanes(D());

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

/// Holds a batch of terms of one kind, one per lane. Lanes from `count` on repeat a term, and their results are not
/// used.
template <int arity>
struct Batch {
  const std::array<std::int32_t, arity>* slots;  // (lanes)
  const std::int32_t* rows;                      // (lanes) of the parameters' table
  std::size_t count;
};

/// Calls add(batch) for the terms [begin, end) of a list.
template <int arity, class Add>
HWY_INLINE void ForBatches(const TermList<arity>& terms, std::int64_t begin, std::int64_t end, Add&& add) {
  std::array<std::array<std::int32_t, arity>, lanes> slots;
  std::array<std::int32_t, lanes> rows;
  const auto stop = static_cast<std::size_t>(end);
  for (auto t = static_cast<std::size_t>(begin); t < stop; t += lanes) {
    Batch<arity> batch{&terms.slots[t], &terms.parameter[t], std::min(lanes, stop - t)};
    if (batch.count < lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        slots[lane] = terms.slots[std::min(t + lane, stop - 1)];
        rows[lane] = terms.parameter[std::min(t + lane, stop - 1)];
      }
      batch.slots = slots.data();
      batch.rows = rows.data();
    }
    add(batch);
  }
}

/// Returns *at(lane) of each lane. Loading lanes one by one takes fewer operations than processors make of a gather.
template <class At>
HWY_INLINE V LoadLanes(const At& at) {
  const hn::FixedTag<double, 2> d2;
  const auto two = [&](std::size_t lane)
                       HWY_ATTR { return hn::InterleaveLower(d2, hn::Set(d2, *at(lane)), hn::Set(d2, *at(lane + 1))); };
  if constexpr (lanes == 8) {
    const hn::Half<D> half;
    return hn::Combine(D(), hn::Combine(half, two(6), two(4)), hn::Combine(half, two(2), two(0)));
  } else if constexpr (lanes == 4) {
    return hn::Combine(D(), two(2), two(0));
  } else {
    return two(0);
  }
}

using Rows = const std::int32_t*;  // (lanes) a row of a table of each lane

/// Returns a column of a table of doubles at each lane's row: `first` is the column's value in row 0, and rows are
/// `Row`s.
template <class Row>
HWY_INLINE V Column(const double& first, Rows rows) {
  static_assert(sizeof(Row) % sizeof(double) == 0);
  return LoadLanes(
      [&](std::size_t lane) { return &first + rows[lane] * std::ptrdiff_t{sizeof(Row) / sizeof(double)}; });
}
template <class Row>
HWY_INLINE V Column(std::span<const Row> table, double Row::*member, Rows rows) {
  return Column<Row>(table[0].*member, rows);
}

/// Holds positions of one atom of each term, and the box that converts their differences to lengths.
class Places {
 public:
  HWY_INLINE Places(const Box& box, std::span<const Fraction> position)
      : position_(position.data()),
        ax_(set(box.a().x * fraction_unit)),
        bx_(set(box.b().x * fraction_unit)),
        by_(set(box.b().y * fraction_unit)),
        cx_(set(box.c().x * fraction_unit)),
        cy_(set(box.c().y * fraction_unit)),
        cz_(set(box.c().z * fraction_unit)) {}

  struct Place {
    VI x, y, z;
  };

  template <int arity>
  HWY_INLINE Place operator()(const Batch<arity>& batch, std::size_t atom) const {
    const DI d;
    if constexpr (lanes < 4) {
      alignas(64) std::int32_t x[lanes], y[lanes], z[lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const Fraction& p = position_[batch.slots[lane][atom]];
        x[lane] = p.x;
        y[lane] = p.y;
        z[lane] = p.z;
      }
      return {hn::Load(d, x), hn::Load(d, y), hn::Load(d, z)};
    } else {
      // The fractions of four lanes (or twice four lanes) are loaded as rows and transposed to columns. Writing lanes
      // one by one and then reading the vector would wait for all the writes.
      const auto p0 = fractions(d, batch, atom, 0), p1 = fractions(d, batch, atom, 1);
      const auto p2 = fractions(d, batch, atom, 2), p3 = fractions(d, batch, atom, 3);
      const hn::RepartitionToWide<DI> pairs;
      const auto xy01 = hn::BitCast(pairs, hn::InterleaveLower(d, p0, p1));
      const auto xy23 = hn::BitCast(pairs, hn::InterleaveLower(d, p2, p3));
      const auto z01 = hn::BitCast(pairs, hn::InterleaveUpper(d, p0, p1));
      const auto z23 = hn::BitCast(pairs, hn::InterleaveUpper(d, p2, p3));
      return {hn::BitCast(d, hn::InterleaveLower(pairs, xy01, xy23)),
              hn::BitCast(d, hn::InterleaveUpper(pairs, xy01, xy23)),
              hn::BitCast(d, hn::InterleaveLower(pairs, z01, z23))};
    }
  }

  /// Returns the vectors from `from` to `to` in the nearest image, Å.
  HWY_INLINE V3 displacement(const Place& from, const Place& to) const {
    const D d;
    const V x = hn::PromoteTo(d, hn::Sub(to.x, from.x)), y = hn::PromoteTo(d, hn::Sub(to.y, from.y)),
            z = hn::PromoteTo(d, hn::Sub(to.z, from.z));
    return {simd::MulAdd(cx_, z, simd::MulAdd(bx_, y, hn::Mul(ax_, x))), simd::MulAdd(cy_, z, hn::Mul(by_, y)),
            hn::Mul(cz_, z)};
  }

 private:
  /// Returns the fraction of lane `lane`; the upper half of eight lanes holds that of lane + 4.
  template <class Tag, int arity>
  HWY_INLINE hn::Vec<Tag> fractions(Tag d, const Batch<arity>& batch, std::size_t atom, std::size_t lane) const {
    const hn::FixedTag<std::int32_t, 4> d4;
    const auto one = [&](std::size_t l)
                         HWY_ATTR { return hn::MaskedLoad(hn::FirstN(d4, 3), d4, &position_[batch.slots[l][atom]].x); };
    if constexpr (hn::MaxLanes(d) == 8) {
      return hn::Combine(d, one(lane + 4), one(lane));
    } else {
      return one(lane);
    }
  }

  const Fraction* position_;
  V ax_, bx_, by_, cx_, cy_, cz_;
};

using lane_sums::HWY_NAMESPACE::FixedForce;

/// Adds the forces on n of a term's atoms, and the negative of their rounded sum to atom `balance`, so that the net
/// force of a term is exactly zero.
template <int n, int arity>
HWY_INLINE void AddBalanced(Accumulator& accumulator, const Batch<arity>& batch, const std::size_t (&atoms)[n],
                            const V3 (&forces)[n], std::size_t balance) {
  const DL d;
  alignas(64) std::int64_t fixed[n + 1][3][lanes];
  VL x = hn::Zero(d), y = x, z = x;
  for (std::size_t a = 0; a < n; ++a) {
    const VL fx = FixedForce(forces[a].x), fy = FixedForce(forces[a].y), fz = FixedForce(forces[a].z);
    hn::Store(fx, d, fixed[a][0]);
    hn::Store(fy, d, fixed[a][1]);
    hn::Store(fz, d, fixed[a][2]);
    x = hn::Sub(x, fx);
    y = hn::Sub(y, fy);
    z = hn::Sub(z, fz);
  }
  hn::Store(x, d, fixed[n][0]);
  hn::Store(y, d, fixed[n][1]);
  hn::Store(z, d, fixed[n][2]);
  const auto add_lanes = [&](auto&& force_of) {
    for (std::size_t lane = 0; lane < batch.count; ++lane) {
      const auto& slots = batch.slots[lane];
      TESSERA_UNROLL
      for (std::size_t a = 0; a <= n; ++a) {
        std::int64_t* const force = force_of(slots[a < n ? atoms[a] : balance]);
        add_fixed(force[0], fixed[a][0][lane]);
        add_fixed(force[1], fixed[a][1][lane]);
        add_fixed(force[2], fixed[a][2][lane]);
      }
    }
  };
  // The choice is made once for a batch, not for each atom.
  if (auto* const own = accumulator.own)
    add_lanes([own](std::int32_t slot) { return own->of(slot); });
  else
    add_lanes([total = accumulator.total.data()](std::int32_t slot) { return total + 3 * std::ptrdiff_t{slot}; });
}

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

using lane_sums::HWY_NAMESPACE::AddEnergy;
HWY_INLINE void AddVirial(EnergyVirial& energies, const TermVirial& virial, std::size_t count) {
  lane_sums::HWY_NAMESPACE::AddVirial(energies, virial.w, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
