// Which scheme: the one whose plan takes least time on the wires of the machine, by the model that prices collectives,
// and never by trial.
//
// An exchange takes as long as its busiest wire, and its busiest rank to start messages; a pass over a rank's points as
// long as memory does. Source of the model: machine/wires.h. Of more than 1,024 ranks the messages of 256 are counted,
// and subnets are taken to be alike. Cost: O(ranks + messages that are counted) of every scheme's plan.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

/// s, of a forward and a backward transform of numbers of `real_bytes` (float 4, double 8).
double predict(const Plan& plan, std::int64_t real_bytes, const machine::Wires& wires);

struct Candidate {
  Plan plan;
  double seconds = 0;
};

/// A plan of every scheme that has work for the ranks, the quickest first; equal times in the registry's order.
std::vector<Candidate> rank_schemes(const Problem& problem, std::int64_t real_bytes, const machine::Wires& wires);

/// What is assumed where nothing is known: all ranks on one host.
machine::Wires wires_of_one_host(int ranks);

}  // namespace tessera::fft
