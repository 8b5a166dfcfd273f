// Which entry carries out a collective: the fastest by the model, if it is faster than what the MPI library would do;
// else the library itself, so that nobody is ever slower for having Tessera.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/collectives/registry.h"
#include "tessera/machine/survey/trial.h"

namespace tessera::comm::collectives {

struct Choice {
  std::optional<Candidate> ours;  // absent: the MPI library's own
  double native_seconds = 0;      // what the library is thought to need
  std::string reason;             // one line for people
  std::vector<Candidate> ranked;  // all that can do it, fastest first; empty where nothing was to be chosen
};

/// An entry that was tried and may, for all that the turns tell, be slower than this beside the library is no gain.
inline constexpr double never_slower = 0.95;

/// `only`: an entry forced by name ("native": the MPI library's own); throws InputError for an unknown one. An entry
/// that can't do the problem gives way to the library, and the reason says so. `trials`, of this MPI library, correct
/// the predictions: of the same operation on as many ranks, of the nearest size within a factor of four; what was tried
/// by its own measured time over the predicted one, other parameters of a tried entry by that entry's mean, the rest by
/// the mean of all, and what was not tried counts 15 % more, as it may be.
Choice choose(const Problem& problem, const machine::Wires& wires,
              const std::optional<std::string>& only = std::nullopt, std::span<const machine::Trial> trials = {});

/// What a trial is filed under: bytes of all blocks together.
std::int64_t bytes_of(const Problem& problem);

/// The time of the MPI library's own algorithm: a tenth more than the best of the textbook ones with ranks in the order
/// of the job, which is kinder to the library than what was measured. Of an all-to-all: that of the direct plan, a
/// quarter more where all its messages at once would flood an uplink.
double native_seconds(const Problem& problem, const machine::Wires& wires);

}  // namespace tessera::comm::collectives
