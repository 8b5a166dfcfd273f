// How an exchange is carried out. Each entry moves the same values to the same places.
//
//   pairwise      ranks of one host read from shared memory, others send each other one message for each pair
//   alltoall      the MPI library's own all-to-all, within hosts too
//   collectives   by the plan that takes least predicted time on the map: blocks straight to their ranks, slowest links
//                 first, or all that one host has for another in one message
//
// "auto": for each exchange, pairwise, or the plan where that is predicted to take less than `least_gain` of its time;
// without a map, pairwise. What the MPI library's algorithm would take is not known to the model: a trial finds out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/collectives/exchange.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/planned_moves.h"
#include "tessera/comm/shared_memory.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

inline constexpr double least_gain = 0.9;

/// Names of the entries, without "auto".
const std::vector<std::string>& exchanges();

/// Throws InputError where there is no such entry.
void check_exchange(const std::string& name);

/// What the exchanges of one transform share.
struct Exchanges {
  const comm::Communicator& comm;
  const comm::SharedMemory& shared;
  std::string name;                             // of an entry, or "auto"
  std::shared_ptr<const machine::Wires> wires;  // on rank 0
  bool is_large = false;                        // the transform is more than the caches of a host hold
  std::optional<comm::PlannedMoves> moves;      // made with the first plan
};

/// The plan for these blocks (rank 0 alone has all of them) by the model, on all ranks; none: pairwise. Collective.
std::optional<collectives::MessagePlan> plan_blocks(const Exchanges& exchanges,
                                                    const std::vector<collectives::ExchangeBlock>& blocks);

}  // namespace tessera::fft
