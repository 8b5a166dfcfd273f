// Adds energies and virials, one term or group to a lane of a device, to their sums in fixed point, with the bits of
// EnergyVirial's own functions.
#pragma once

#include <cstdint>

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/lane_sums/fixed_force-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::lane_sums {
namespace HWY_NAMESPACE {

/// Adds values to two sums as EnergyVirial does, of which the second has whole multiples of large_energy. Returns which
/// values had to be limited.
HWY_INLINE hn::Mask<D> AddSplit(std::int64_t& sum, std::int64_t& of_clashes, V values, hn::Mask<D> count) {
  const V size = hn::Abs(values), most = hn::Set(D(), energy_limit);
  const hn::Mask<D> fits = hn::Le(size, most);  // no number does not
  const V limited = hn::IfThenElse(fits, values, hn::IfThenElse(hn::Lt(values, hn::Set(D(), 0)), hn::Neg(most), most));
  const VL whole = hn::IfThenZeroElse(hn::And(fits, hn::Lt(size, hn::Set(D(), large_energy))),
                                      hn::ConvertTo(DL(), hn::Mul(limited, hn::Set(D(), 1 / large_energy))));
  const V rest = hn::Sub(limited, hn::Mul(hn::ConvertTo(D(), whole), hn::Set(D(), large_energy)));
  const hn::Mask<D> first = simd::IsFirstLane();
  const auto add = [&](VL of_lanes, std::int64_t& to) HWY_ATTR {
    simd::AtomicAdd(simd::SumOfWarp(hn::IfThenElseZero(count, of_lanes)), &to, simd::Integer(0), first);
  };
  add(simd::ToIntegers(hn::Mul(rest, hn::Set(D(), 1 / energy_unit))), sum);
  add(whole, of_clashes);
  return hn::AndNot(fits, count);
}

/// Adds a virial, xx yy zz xy xz yz.
HWY_INLINE void AddVirial(std::int64_t (&sum)[6], std::int64_t (&of_clashes)[6], const V (&virial)[6],
                          hn::Mask<D> count) {
  HWY_UNROLL(6)
  for (int c = 0; c < 6; ++c) AddSplit(sum[c], of_clashes[c], virial[c], count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::lane_sums
HWY_AFTER_NAMESPACE();
