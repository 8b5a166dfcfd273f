// Compiles the half steps once for each instruction set; formulas, sources and units: half_step.h.
#include "tessera/md/integrate/half_step.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/random.h"
#include "tessera/base/units.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/md/integrate/half_step.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tessera/md/constraint/lanes-inl.h"
#include "tessera/md/constraint/settle-inl.h"
#include "tessera/md/constraint/shake-inl.h"
#include "tessera/md/integrate/noise-inl.h"
#include "tessera/md/lane_sums/lane_sums-inl.h"

#include "tessera/md/integrate/lanes-inl.h"
//
#include "tessera/md/integrate/half_step-inl.h"
//
#include "tessera/md/integrate/half_step_entries-inl.h"

#if HWY_ONCE

namespace tessera::md::integrate {

HWY_EXPORT(AddVirialWithin);
HWY_EXPORT(KickAndDrift);
HWY_EXPORT(KickAndDriftWithNoise);
HWY_EXPORT(KickAndProject);

namespace {

/// Calls work(list, begin, end) with this share's groups of each list.
template <class Work>
void for_share(std::span<const constraint::GroupList> lists, int share, int n_shares, Work&& work) {
  for (const auto& list : lists) {
    const auto first = [&](int s) {
      return list.size() * static_cast<std::size_t>(s) / static_cast<std::size_t>(n_shares);
    };
    work(list, first(share), first(share + 1));
  }
}

}  // namespace

void kick_and_drift(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                    Failure& failure) {
  for_share(lists, share, n_shares, [&](const auto& list, std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(KickAndDrift)(list, begin, end, step, failure);
  });
}

void kick_and_project(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                      Failure& failure, EnergyVirial* energies) {
  for_share(lists, share, n_shares, [&](const auto& list, std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(KickAndProject)(list, begin, end, step, failure, energies);
  });
}

std::int64_t kick_and_drift_with_noise(std::span<const constraint::GroupList> lists, int share, int n_shares,
                                       const HalfStep& step, const FrictionAndNoise& noise, Failure& failure) {
  std::int64_t heat = 0;
  for_share(lists, share, n_shares, [&](const auto& list, std::size_t begin, std::size_t end) {
    add_fixed(heat, HWY_DYNAMIC_DISPATCH(KickAndDriftWithNoise)(list, begin, end, step, noise, failure));
  });
  return heat;
}

void add_virial_within(std::span<const constraint::GroupList> lists, int share, int n_shares, const HalfStep& step,
                       EnergyVirial& energies) {
  for_share(lists, share, n_shares, [&](const auto& list, std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(AddVirialWithin)(list, begin, end, step, energies);
  });
}

}  // namespace tessera::md::integrate

#endif
