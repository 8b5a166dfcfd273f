// The registry of collective algorithms holds the name, the restrictions and the plan of each. The cost of an entry is
// the cost of its plan (predict.h), so no entry has a cost formula of its own.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::collectives {

/// The parameters that an entry may have. An entry ignores those that it does not know.
struct Parameters {
  std::int64_t segment = 0;  // bytes of a piece of the vector that travels by itself; 0: whole
  int degree = 2;            // of k-ary trees
  int depth = 0;             // of k-ary trees: levels below the root; 0: no limit
  std::string pattern;       // of `subnets`: delivery_tree.h; of `hierarchical`: "ring", …
  bool by_ranks = false;     // "order=ranks": the plan knows nothing of the network
};

struct Entry {
  const char* name;
  const char* about;  // one line, with its source
  bool (*can)(const CollectiveProblem& problem, const machine::Wires& wires);
  MessagePlan (*plan)(const CollectiveProblem& problem, const machine::Wires& wires, const Parameters& parameters);
  /// Returns parameters that are worth trying for this problem, the best guess first; there is at least one.
  std::vector<Parameters> (*candidates)(const CollectiveProblem& problem, const machine::Wires& wires);
};

/// Returns the wires of ranks that are each alone on a host, where all hosts are alike on one switch.
machine::Wires wires_of_ranks_alone(int n_ranks);

/// Tells whether an entry can carry out a problem with these parameters.
bool can(const Entry& entry, const CollectiveProblem& problem, const machine::Wires& wires,
         const Parameters& parameters);
/// Makes an entry's plan. With `by_ranks` it is made for `wires_of_ranks_alone`, so that neighbours in a ring, a tree or a hypercube follow from ranks' numbers alone, as in MPI
/// libraries: `recursive_halving` is then the vector distributed sum of Borštnik et al. (2004), §2.
MessagePlan plan_of(const Entry& entry, const CollectiveProblem& problem, const machine::Wires& wires,
                    const Parameters& parameters);

std::span<const Entry> entries();
/// Finds an entry by its name. Throws InputError, which names the nearest known entry, where there is none.
const Entry& entry(const std::string& name);

/// Returns the ranks in an order that follows the network: those of a host are side by side, and so are hosts of a
/// subnet. Classical algorithms number ranks by it, so that neighbours in a ring, and along the low dimensions of a
/// hypercube, are near each other.
std::vector<int> topology_order(const machine::Wires& wires);

/// Returns the rank whose messages of so many bytes reach the others soonest if each is alone on the network, and of
/// equal ranks the lowest. An operation that needs a root but was given none has it there (Lowekamp and Beguelin 1995,
/// §7).
int central_rank(const machine::Wires& wires, double bytes);

/// An entry with its parameters, as people write it: "k_ary:degree=3", "subnets:segment=8192:pattern=chain".
struct NamedEntry {
  std::string name;
  std::optional<Parameters> parameters;  // absent: the best
};
std::string text_of(const NamedEntry& named);
/// Parses such a text. The name is not looked up, as "auto" and "native" are names, too. Throws InputError for a
/// parameter that does not exist, and where `hierarchical` is to use an entry between hosts that does not exist.
NamedEntry named_entry(const std::string& text);

struct PricedEntry {
  const Entry* entry = nullptr;
  Parameters parameters;
  double seconds = 0;
  std::size_t n_messages = 0;
  bool is_least = false;  // it takes longer than `seconds`: it was not priced to the end
};

/// The model can't tell times apart whose ratio is less than this; then the plan with fewer messages is better, as each
/// message takes a core's time.
inline constexpr double alike = 1.04;

/// About so many messages of all plans together are priced for one choice; more would take a second.
inline constexpr std::size_t most_priced = 250'000;

/// Prices all entries (or the one that is named) that can do the problem, with their parameters, and sorts them, the
/// fastest first. Ties keep the order of the registry. The first shape of an entry (its pattern, degree, depth) is
/// tried with smaller and smaller pieces while that helps clearly, other shapes with the best of these sizes and with
/// the whole vector. Where a plan takes more than `slack` times as long as the best so far, only a lower bound of its
/// time is known. Where all plans together are too long (`most_priced`; for an entry that was named, the longest plan
/// that is allowed), some are left out.
std::vector<PricedEntry> rank_candidates(const CollectiveProblem& problem, const machine::Wires& wires,
                                         const std::optional<std::string>& only = std::nullopt,
                                         double slack = std::numeric_limits<double>::infinity());
/// Sorts by time, the fastest first; ties keep their order.
void sort_by_time(std::span<PricedEntry> candidates);

}  // namespace tessera::collectives
