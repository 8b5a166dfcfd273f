// Chooses the plan that all ranks of a communicator follow. Rank 0 chooses for all: it alone reads the machine file,
// and times predicted on different processors might differ in the last bit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/comm/communicator.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

struct TransformRequest {
  std::string scheme = "auto";  // or the name of a scheme
  std::string machine_file;     // written by `tessera machine measure`, read by rank 0; empty: hosts on one switch
  std::int64_t real_bytes = 8;  // per number
  std::string exchange = "auto";
};

struct Agreed {
  TransformPlan plan;
  std::string reason;                 // the reasons as text, on all ranks
  std::string exchange = "pairwise";  // for TransformOptions, with the wires, which only rank 0 has
  std::shared_ptr<const machine::Wires> wires;
};

/// Returns "auto" or an entry of exchange.h. "auto" is resolved at once if there is nothing to choose: without a map,
/// or if no host has several ranks while others exist.
std::string resolved_exchange(const std::string& asked, const comm::RankWires& wires);

/// Sends rank 0's plan to all ranks, which recompute it from the problem that all know. Collective.
TransformPlan share_plan(const comm::Communicator& comm, const TransformProblem& problem, TransformPlan plan);

/// Takes the same arguments on all ranks. Throws InputError on all ranks, like plan_transform and comm::wires_of_ranks.
/// Collective.
Agreed agree_on_plan(const comm::Communicator& comm, const TransformProblem& problem, const TransformRequest& request);

}  // namespace tessera::fft
