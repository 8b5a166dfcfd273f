// Defines the ways to carry out an exchange. Each entry moves the same values to the same places.
//
//   pairwise      ranks of one host read from shared memory; others send one message for each pair
//   alltoall      the MPI library's own all-to-all, within hosts too
//   collectives   the plan with the least predicted time on the map: blocks go straight to their ranks, over the
//                 slowest links first, or all blocks from one host to another go in one message
//
// "auto" decides for each exchange: it is pairwise unless the plan is predicted to take less than `least_gain` of the
// time; without a map it is pairwise. The model does not know the MPI library's algorithm, so only a trial can choose
// that.
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

/// Returns the names of the entries, without "auto".
const std::vector<std::string>& exchanges();

/// Throws InputError if there is no such entry.
void check_exchange(const std::string& name);

/// Holds the state that the exchanges of one transform share.
struct Exchanges {
  const comm::Communicator& comm;
  const comm::SharedMemory& shared;
  std::string name;                             // an entry, or "auto"
  std::shared_ptr<const machine::Wires> wires;  // on rank 0 only
  bool is_large = false;                        // the transform exceeds a host's caches
  std::optional<comm::PlannedMoves> moves;      // made with the first plan
};

/// Returns the model's plan for these blocks (rank 0 alone has all of them) on all ranks; nothing means pairwise.
/// Collective.
std::optional<collectives::MessagePlan> plan_blocks(const Exchanges& exchanges,
                                                    const std::vector<collectives::ExchangeBlock>& blocks);

}  // namespace tessera::fft
