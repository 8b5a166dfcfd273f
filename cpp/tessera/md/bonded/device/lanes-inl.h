// Contains what loops over bonded terms call, for lanes of a device: a warp has 32 terms of one kind at once. It stands in
// for lanes-inl.h, whose names it has.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/bonded/device/bonded_kernel.h"
#include "tessera/md/bonded/vectors-inl.h"
#include "tessera/md/lane_sums/device/split-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

using simd::Integer;

/// Holds a rank's atoms as terms read them.
struct Atoms {
  EdgesOfBox box;
  const Fraction* position;
  const double* charge;
};

template <int arity>
struct TermList {
  const std::int32_t* slots;      // (terms,arity)
  const std::int32_t* parameter;  // (terms)
};

/// Says what terms add to; `energies` may be null.
struct Accumulator {
  std::int64_t* total;  // (slots,3) force_unit
  BondedSums* energies;
};

using Rows = VI;

/// Holds a term of each lane. Lanes beyond the last term repeat it, and their results are not used.
template <int arity>
struct Batch {
  VI slots[arity];
  VI rows;  // of the parameters' table
  M count;  // the lanes whose results are used
};

/// Calls add(batch) for the terms of a warp, those from `begin` on that are before `end`.
template <int arity, class Add>
HWY_INLINE void ForBatches(const TermList<arity>& terms, std::int64_t begin, std::int64_t end, Add&& add) {
  const auto last = static_cast<std::int32_t>(end) - 1;
  const VI any = hn::Add(simd::LaneNumbers(), Integer(static_cast<std::int32_t>(begin)));
  const VI term = hn::Min(any, Integer(last)), first = hn::Mul(term, Integer(arity));
  Batch<arity> batch;
  HWY_UNROLL(8)
  for (int atom = 0; atom < arity; ++atom) batch.slots[atom] = hn::GatherIndex(DI(), terms.slots + atom, first);
  batch.rows = hn::GatherIndex(DI(), terms.parameter, term);
  batch.count = hn::Le(any, Integer(last));
  add(batch);
}

#ifndef __CUDA_ARCH__
constexpr std::size_t lanes = hn::warp_size;

/// Returns the row of a table of a lane's term.
template <int arity>
HWY_INLINE std::ptrdiff_t RowOf(const Batch<arity>& batch, std::size_t lane) {
  return batch.rows.raw[lane];
}
#endif

/// Returns a column of a table of doubles at each lane's row: `first` is the column's value in row 0, and rows are `Row`s.
template <class Row>
HWY_INLINE V Column(const double& first, Rows rows) {
  static_assert(sizeof(Row) % sizeof(double) == 0);
  constexpr auto stride = static_cast<std::int32_t>(sizeof(Row) / sizeof(double));
  return hn::GatherIndex(D(), &first, hn::Mul(rows, Integer(stride)));
}
template <class Row>
HWY_INLINE V Column(std::span<const Row> table, double Row::*member, Rows rows) {
  return Column<Row>(table.data()->*member, rows);
}

/// Returns the charges of one atom of each term, e.
template <int arity>
HWY_INLINE V Charges(const Atoms& atoms, const Batch<arity>& batch, std::size_t atom) {
  return hn::GatherIndex(D(), atoms.charge, batch.slots[atom]);
}

/// Loads where atoms of terms are.
class Places : public Edges {
 public:
  HWY_INLINE Places(const EdgesOfBox& box, const Fraction* position) : Edges(box), position_(position) {}

  template <int arity>
  HWY_INLINE Place operator()(const Batch<arity>& batch, std::size_t atom) const {
    const VI at = hn::Mul(batch.slots[atom], Integer(3));
    const auto value = [&](const std::int32_t& first) HWY_ATTR { return hn::GatherIndex(DI(), &first, at); };
    return {value(position_->x), value(position_->y), value(position_->z)};
  }

 private:
  const Fraction* position_;
};

using lane_sums::HWY_NAMESPACE::AddSplit;
using lane_sums::HWY_NAMESPACE::FixedForce;

/// Adds the forces on n of a term's atoms, and the negative of their rounded sum to atom `balance`, so that the net force
/// of a term is exactly zero.
template <int n, int arity>
HWY_INLINE void AddBalanced(Accumulator& accumulator, const Batch<arity>& batch, const std::size_t (&atoms)[n],
                            const V3 (&forces)[n], std::size_t balance) {
  VL sum[3] = {hn::Zero(DL()), hn::Zero(DL()), hn::Zero(DL())};
  const auto add = [&](std::size_t atom, int d, VL force) HWY_ATTR {
    const VI at = hn::Add(hn::Mul(batch.slots[atom], Integer(3)), Integer(d));
    simd::AtomicAdd(force, accumulator.total, at, batch.count);
  };
  HWY_UNROLL(4)
  for (int a = 0; a < n; ++a) {
    const VL fixed[3] = {FixedForce(forces[a].x), FixedForce(forces[a].y), FixedForce(forces[a].z)};
    HWY_UNROLL(3)
    for (int d = 0; d < 3; ++d) {
      add(atoms[a], d, fixed[d]);
      sum[d] = hn::Sub(sum[d], fixed[d]);
    }
  }
  HWY_UNROLL(3)
  for (int d = 0; d < 3; ++d) add(balance, d, sum[d]);
}

HWY_INLINE void AddEnergy(BondedSums& sums, Term term, V values, M count) {
  const auto t = static_cast<std::size_t>(term);
  const M limited = AddSplit(sums.energy[t], sums.energy_of_clashes[t], values, count);
  simd::AtomicAdd(Integer(1), &sums.n_limited, Integer(0), limited);
}

HWY_INLINE void AddVirial(BondedSums& sums, const TermVirial& virial, M count) {
  lane_sums::HWY_NAMESPACE::AddVirial(sums.virial, sums.virial_of_clashes, virial.w, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
