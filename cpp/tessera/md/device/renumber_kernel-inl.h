// Follows atoms to other slots.
#pragma once

#include "tessera/base/simd/lane/run.h"
#include "tessera/md/device/renumber_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tessera::simd::HWY_NAMESPACE;

/// A slot to a lane.
struct MoveKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = MoveArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n_slots, [&](const auto& slot, const auto& exists) HWY_ATTR {
      const auto source = hn::GatherIndex(hn::Tag<std::int32_t>(), a.source, slot);
      const auto is_atom = hn::Ge(source, simd::Integer(0));
      const auto words = simd::Integer(a.words), first = hn::Mul(hn::Max(source, simd::Integer(0)), words);
      for (std::int32_t word = 0; word < a.words; ++word) {
        const hn::Tag<std::uint32_t> d;
        const auto value = hn::GatherIndex(d, a.from, hn::Add(first, simd::Integer(word)));
        simd::Scatter(hn::IfThenElse(is_atom, value, hn::Set(d, a.padding)), a.to,
                      hn::Add(hn::Mul(slot, words), simd::Integer(word)), exists);
      }
    });
  }
};

/// A value to a lane.
struct RenumberKernel {
  static constexpr int n_phases = 1, warps_of_block = 4, blocks_at_once = 8;
  using Arguments = RenumberArguments;
  struct Shared {};

  template <int phase>
  static HWY_INLINE void Run(const Arguments& a, Shared&, const simd::Place& place) {
    simd::ForLanesOfAll(place, a.n, [&](const auto& at, const auto& exists) HWY_ATTR {
      const hn::Tag<std::int32_t> d;
      simd::Scatter(hn::GatherIndex(d, a.slot, hn::GatherIndex(d, a.values, at)), a.values, at, exists);
    });
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md
HWY_AFTER_NAMESPACE();
