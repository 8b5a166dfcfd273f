// Plans an exchange in which every pair of ranks has a block of any size, and all sizes are known, which an MPI
// library's all-to-all with counts can't know. Elements are bytes, moved from the plan's input to its output.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::collectives {

/// The bytes that one rank sends to another.
struct ExchangeBlock {
  int from = 0, to = 0;
  std::int64_t begin = 0;  // in the sender's input
  std::int64_t at = 0;     // in the receiver's output
  std::int64_t size = 0;
};

/// Sends each block straight to its rank, those over the slowest links first; pairs are in the order of the network.
MessagePlan plan_direct_exchange(std::vector<ExchangeBlock> blocks, const machine::Wires& wires);

/// Sends all that the ranks of one host have for those of another host in one message between two of these ranks, which
/// are chosen in turn; blocks inside a host go directly. There are far fewer messages between hosts, at the price of
/// two more copies at either end.
MessagePlan plan_gathered_exchange(std::vector<ExchangeBlock> blocks, const machine::Wires& wires);

}  // namespace tessera::collectives
