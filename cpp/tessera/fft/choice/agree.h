// The plan that all ranks of a communicator follow. Rank 0 chooses for all: it alone reads the map of the machine, and
// times predicted on unlike processors might differ in the last bit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

struct Request {
  std::string scheme = "auto";  // or the name of one
  std::string machine_file;     // of `tessera machine measure`, seen by rank 0; empty: hosts on one switch
  std::int64_t real_bytes = 8;  // of a number
  std::string exchange = "auto";
};

struct Agreed {
  Plan plan;
  std::string reason;                 // for people, on all ranks: lines that say why
  std::string exchange = "pairwise";  // for TransformOptions, with the wires, which rank 0 has
  std::shared_ptr<const machine::Wires> wires;
};

/// "auto" or an entry of exchange.h: what "auto" comes to where the map has nothing to choose from, no map or no host
/// with several ranks beside others, is said at once.
std::string resolved_exchange(const std::string& asked, const comm::RankWires& wires);

/// Rank 0's plan on all ranks, made anew from the problem that all know. Collective.
Plan share_plan(const comm::Communicator& comm, const Problem& problem, Plan plan);

/// The same arguments on all ranks. Throws InputError on all: as plan_transform and comm::wires_of_ranks. Collective.
Agreed agree_on_plan(const comm::Communicator& comm, const Problem& problem, const Request& request);

}  // namespace tessera::fft
