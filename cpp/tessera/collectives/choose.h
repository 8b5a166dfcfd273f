// Chooses the entry that carries out a collective operation: the fastest by the model if it is faster than the MPI
// library's own algorithm, else the library itself, so that nobody is slower because of Tessera.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collectives/registry.h"
#include "tessera/machine/survey/trial.h"

namespace tessera::collectives {

/// A choice for so many ranks takes about a second, and for four times as many a minute.
inline constexpr int most_ranks_to_choose_for = 16'384;

struct EntryChoice {
  std::optional<PricedEntry> ours;  // absent: the MPI library's own
  double native_seconds = 0;        // what the library is thought to need
  std::string reason;               // one line for people
  std::vector<PricedEntry> ranked;  // all that can do it, the preferred one first; empty where nothing was to be chosen
};

/// An entry that was tried is taken only where the lower bound of the ratio of the library's time to the entry's is at
/// least this; else it may be slower than the library.
inline constexpr double never_slower = 0.95;

/// Chooses by predicted times. `only` forces an entry by name ("native" is the MPI library's own); an unknown one
/// throws InputError. An entry that can't do the problem gives way to the library, and the reason says so. `trials`, of
/// this MPI library, correct the predictions; they are of the same operation on as many ranks that are on the same
/// hosts, of the nearest size within a factor of four. What was tried is corrected by its own measured time over the predicted one, other
/// parameters of a tried entry by that entry's mean, the rest by the mean of all; and what was not tried counts 15 %
/// more, as it may take that much longer.
EntryChoice choose(const CollectiveProblem& problem, const machine::Wires& wires,
                   const std::optional<std::string>& only = std::nullopt, std::span<const machine::Trial> trials = {});

/// Returns the problem whose choice stands for all problems of its class: those that are alike but for their sizes, which
/// differ by less than a factor of two. It has as many bytes in all as the nearest power of two (from three quarters of
/// it to less than one and a half), in blocks that are alike unless the largest is more than twice the mean; then the
/// largest block keeps its rank and (to a power of two) its ratio to the mean, and the others share the rest.
CollectiveProblem representative(const CollectiveProblem& problem);

/// Returns what was priced for the problem that stands for a class with the time for another problem of the class.
/// Throws std::length_error where that one's plan is too long.
PricedEntry priced_for(const CollectiveProblem& problem, const machine::Wires& wires, PricedEntry of_class);
/// Returns the same of the MPI library's own.
double native_seconds_for(const CollectiveProblem& problem, const machine::Wires& wires, double of_class);

/// Chooses as a run does, by the problem that stands for the class of this one, and returns this one's times: the
/// rest of `ranked` by them.
EntryChoice choose_by_class(const CollectiveProblem& problem, const machine::Wires& wires,
                            std::span<const machine::Trial> trials = {});

/// Returns the size by which trials are compared: the bytes of all blocks together.
std::int64_t bytes_of(const CollectiveProblem& problem);

/// Estimates the time of the MPI library's own algorithm: a tenth more than the best of the textbook ones with ranks in
/// the order of the job, which is less than what was measured. For an all-to-all it is the time of the direct plan, and
/// a quarter more where all its messages at once would flood an uplink.
double native_seconds(const CollectiveProblem& problem, const machine::Wires& wires);

}  // namespace tessera::collectives
