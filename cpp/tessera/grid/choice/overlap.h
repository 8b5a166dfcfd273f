// How far messages progress while a rank computes: measured on real messages, with and without computing beside them.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

/// Seconds of as many batches by double buffering. Packing is left out.
struct OverlapTimes {
  double exchange = 0;  // of all batches, one after the other, without computing
  double apart = 0;     // of both, one after the other
  double together = 0;  // of both: the messages of a batch travel while the one before is computed
  std::int64_t batches = 0;
};

/// Where the shorter one of exchange and computing is less than this part of the other, overlap can't be told.
inline constexpr double least_hidden = 0.05;

/// Returns the time that is gained over all that could be: that of all batches but the first, which nothing hides. None
/// where there is one batch, or so little to hide, or to hide it behind, that it can't be told.
std::optional<double> overlap_of(const OverlapTimes& times);

/// Measures the overlap of this stencil on this layout, on all ranks at the same time: FieldCost::overlap, the same on
/// all ranks. None where no rank sends messages (ranks of one host share memory), or it can't be told. Takes a few
/// dozen exchanges of one field, fewer where these take long, and the memory of two fields. Collective.
template <class Real>
std::optional<double> measure_overlap(const Stencil& stencil, std::int64_t components, const GridLayout& layout,
                                      const comm::Communicator& comm, ThreadPool& threads);

extern template std::optional<double> measure_overlap<float>(const Stencil&, std::int64_t, const GridLayout&,
                                                             const comm::Communicator&, ThreadPool&);
extern template std::optional<double> measure_overlap<double>(const Stencil&, std::int64_t, const GridLayout&,
                                                              const comm::Communicator&, ThreadPool&);

}  // namespace tessera::grid
