// Adds energies, virials and forces, one term or atom per lane, to their sums in fixed point: the bits are those of
// EnergyVirial's own functions and of to_fixed_force(). It is included once for each instruction set.
#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/md/accumulator.h"
#include "tessera/md/lane_sums/fixed_force-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::lane_sums {
namespace HWY_NAMESPACE {

/// Adds x, y and z of forces on atoms that follow each other, one atom per lane, to `force`, (lanes,3).
template <class Tag>
HWY_INLINE void AddToRow(Tag d, hn::Vec<Tag> x, hn::Vec<Tag> y, hn::Vec<Tag> z, std::int64_t* force) {
  auto sum_x = hn::Zero(d), sum_y = sum_x, sum_z = sum_x;
  hn::LoadInterleaved3(d, force, sum_x, sum_y, sum_z);
  hn::StoreInterleaved3(hn::Add(sum_x, x), hn::Add(sum_y, y), hn::Add(sum_z, z), d, force);
}

/// Calls add(value) for the first `count` lanes.
template <class Add>
HWY_NOINLINE void AddOneByOne(V values, std::size_t count, Add&& add) {
  HWY_ALIGN double of_lane[hn::MaxLanes(D())];
  hn::Store(values, D(), of_lane);
  for (std::size_t lane = 0; lane < count; ++lane) add(of_lane[lane]);
}

/// Adds the first `count` lanes to a sum in units of energy_unit, unless one of them is as large as energies of clashes
/// are. Tells whether it has added them.
HWY_INLINE bool AddUsual(std::int64_t& sum, V values, std::size_t count) {
  const D d;
  const V used = hn::IfThenElseZero(hn::FirstN(d, count), values);
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(hn::Abs(used), hn::Set(d, large_energy))))) return false;
  const VL fixed = simd::ToIntegers(hn::Mul(used, hn::Set(d, 1 / energy_unit)));
  add_fixed(sum, hn::GetLane(hn::SumOfLanes(DL(), fixed)));
  return true;
}

HWY_INLINE void AddEnergy(EnergyVirial& energies, Term term, V values, std::size_t count) {
  if (!AddUsual(energies.energy[static_cast<std::size_t>(term)], values, count))
    AddOneByOne(values, count, [&](double value) { energies.add(term, value); });
}

/// Adds a virial, xx yy zz xy xz yz.
HWY_INLINE void AddVirial(EnergyVirial& energies, const V (&virial)[6], std::size_t count) {
  for (std::size_t c = 0; c < 6; ++c)
    if (!AddUsual(energies.virial[c], virial[c], count))
      AddOneByOne(virial[c], count, [&](double value) { energies.add_virial(c, value); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::lane_sums
HWY_AFTER_NAMESPACE();
