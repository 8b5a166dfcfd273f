// Contains what all bonded loops of processors share: batches of terms, one term per lane, in double precision. It is
// included once for each instruction set. A lane's result does not depend on the other lanes, so a term gives the same bits
// in any batch. Lanes of a device have device/lanes-inl.h in its place, with the same names.
#ifdef TESSERA_LANE
#include "tessera/md/bonded/device/lanes-inl.h"
#else
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/box.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/bonded/kernel.h"
#include "tessera/md/bonded/vectors-inl.h"
#include "tessera/md/lane_sums/lane_sums-inl.h"

#undef TESSERA_UNROLL
#define TESSERA_UNROLL _Pragma("GCC unroll 8")

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

constexpr std::size_t lanes = hn::MaxLanes(D());

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

/// Returns the row of a table of a lane's term.
template <int arity>
HWY_INLINE std::ptrdiff_t RowOf(const Batch<arity>& batch, std::size_t lane) {
  return batch.rows[lane];
}

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

/// Returns the charges of one atom of each term, e.
template <int arity>
HWY_INLINE V Charges(const Atoms& atoms, const Batch<arity>& batch, std::size_t atom) {
  return LoadLanes([&](std::size_t lane) { return &atoms.charge[static_cast<std::size_t>(batch.slots[lane][atom])]; });
}

/// Loads where atoms of terms are.
class Places : public Edges {
 public:
  HWY_INLINE Places(const Box& box, std::span<const Fraction> position)
      : Edges(edges_of(box)), position_(position.data()) {}

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

using lane_sums::HWY_NAMESPACE::AddEnergy;
HWY_INLINE void AddVirial(EnergyVirial& energies, const TermVirial& virial, std::size_t count) {
  lane_sums::HWY_NAMESPACE::AddVirial(energies, virial.w, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
#endif
