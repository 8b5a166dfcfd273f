// Chooses the approach, the batch and the slope of a stencil on a layout, by the map of the machine (machine/wires.h)
// and the rates of its cores.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/grid/choice/cost.h"
#include "tessera/grid/choice/rates.h"
#include "tessera/grid/halo.h"
#include "tessera/grid/layout.h"
#include "tessera/machine/wires.h"

namespace tessera::grid {

/// What a field costs the busiest rank, and what that sends.
struct LayoutCost {
  FieldCost field;
  std::int64_t messages = 0;  // of an exchange, all faces at once
  double bytes = 0;           // of a field
};

/// Returns what a field costs whose points have so many bytes. The ranks of `wires` are one such layout, or several of
/// different fields, each on as many ranks that follow each other; all exchange at the same time. Between hosts an
/// exchange takes as long as machine::ExchangeLoad says, and at least a latency, in which cores are free. Inside a host
/// the receiver's core copies messages, which counts as packing; of more than 256 ranks, only some ranks' copies are
/// counted, and of more than 16,384, only the messages to the first of them.
LayoutCost cost_of_layout(const GridLayout& layout, const HaloShape& shape, std::int64_t bytes,
                          const machine::Wires& wires, const CoreRates& rates);

/// Returns each approach with its best batches, the quickest first; of equal ones the first named.
std::vector<Choice> rank_approaches(const std::vector<std::string_view>& approaches, const FieldCost& cost,
                                    std::int64_t fields, int threads, const Batching& given = {});

/// Returns the wires of ranks that have so many of a host's slots each, as one has threads, and copy as much faster.
/// Hosts are filled in turn. Throws InputError if there are too few slots.
machine::Wires wires_of_threads(machine::Network network, int ranks, int threads);

}  // namespace tessera::grid
