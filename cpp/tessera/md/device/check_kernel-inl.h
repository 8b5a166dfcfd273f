// Finds how far atoms have moved since the last search, as Domain::greatest_displacement2() does.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/device/check_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

/// A slot to a lane.
struct DisplacementKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = DisplacementArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](const auto& slot, const auto&) HWY_ATTR { Raise(a, slot); });
  }

 private:
  static HWY_INLINE void Raise(const Arguments& a, const simd::Numbers& slot) {
    using V = hn::Vec<hn::Tag<double>>;
    const auto index = hn::Mul(slot, simd::Integer(3));
    const auto moved = [&](const std::int32_t& now, const std::int32_t& then) HWY_ATTR {
      const hn::Tag<std::int32_t> d;
      return hn::PromoteTo(hn::Tag<double>(),
                           hn::Sub(hn::GatherIndex(d, &now, index), hn::GatherIndex(d, &then, index)));
    };
    const V x = moved(a.position->x, a.reference->x), y = moved(a.position->y, a.reference->y),
            z = moved(a.position->z, a.reference->z);
    const auto set = [](double value) HWY_ATTR { return hn::Set(hn::Tag<double>(), value); };
    const auto& m = a.to_length;
    const V rx = set(m.xx) * x + set(m.xy) * y + set(m.xz) * z, ry = set(m.yy) * y + set(m.yz) * z, rz = set(m.zz) * z;
    // Squares are not negative, and such doubles compare like the integers of their bits.
    simd::AtomicMax(hn::BitCast(hn::Tag<std::int64_t>(), rx * rx + ry * ry + rz * rz), &a.check->displacement2);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md
HWY_AFTER_NAMESPACE();
