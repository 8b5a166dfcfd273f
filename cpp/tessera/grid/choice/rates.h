// What the cores of this machine take for a stencil, measured by a short trial.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/base/index_box.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// What the model needs to know of cores. The defaults stand for machines on which nothing is measured: a point is read
/// and written, and a face's point copied twice, at 5 GB/s.
struct CoreRates {
  double point = 3.2e-9;        // s that one core needs for a point of a field, while all compute
  double packing = 0.4e-9;      // s for a byte of a face, into a message and out of one
  double synchronising = 2e-6;  // s until the threads of a rank have met
  double overlap = 1;           // FieldCost::overlap
};

/// What a trial computes.
struct RateTrial {
  Index3 extents{};  // of a rank's box
  std::array<bool, 3> is_periodic{true, true, true};
  std::array<bool, 3> is_divided{true, true, true};  // over ranks, so that faces are copied
  std::int64_t components = 1;                       // reals of a point
};

/// Applies the stencil to fields of the box's size, which are more than a core's caches hold where they would be in a
/// calculation, too, with the copies that faces of other ranks need, on all threads. Takes up to a few 10 ms and 24
/// MiB; of a larger box some planes are taken. What can't be measured, as there is nothing to copy or to compute, is 0.
template <class Real>
CoreRates measure_rates(const Stencil& stencil, const RateTrial& trial, ThreadPool& threads);

/// Returns the seconds until all threads have met, 0 of one thread.
double measure_synchronising(ThreadPool& threads);

/// Returns the rates of the slowest rank, the same on all, with the overlap of messages between hosts (overlap.h; 1
/// where it can't be told). The ranks measure at the same time, if one of them has not measured such a stencil on such
/// a box, of as many ranks, before in this process. Collective.
template <class Real>
CoreRates agree_on_rates(const Stencil& stencil, std::int64_t components, const GridLayout& layout,
                         const comm::Communicator& comm, ThreadPool& threads);

/// Returns how many trials this process has made.
std::int64_t rate_trials();

extern template CoreRates measure_rates<float>(const Stencil&, const RateTrial&, ThreadPool&);
extern template CoreRates measure_rates<double>(const Stencil&, const RateTrial&, ThreadPool&);
extern template CoreRates agree_on_rates<float>(const Stencil&, std::int64_t, const GridLayout&,
                                                const comm::Communicator&, ThreadPool&);
extern template CoreRates agree_on_rates<double>(const Stencil&, std::int64_t, const GridLayout&,
                                                 const comm::Communicator&, ThreadPool&);

}  // namespace tessera::grid
