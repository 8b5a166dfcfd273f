// The registry of collective algorithms: name, restrictions, plan. What an entry costs is what its plan costs
// (predict.h), so no entry has a cost formula of its own.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/collectives/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::comm::collectives {

/// What may be chosen inside an entry. An entry ignores what it does not know.
struct Parameters {
  std::int64_t segment = 0;  // bytes of a piece of the vector that travels by itself; 0: whole
  int degree = 2;            // of k-ary trees
  int depth = 0;             // of k-ary trees: levels below the root; 0: no limit
  std::string pattern;       // of `subnets`: delivery_tree.h; of `hierarchical`: "ring", …
};

struct Entry {
  const char* name;
  const char* about;  // one line, with its source
  bool (*can)(const Problem& problem, const machine::Wires& wires);
  Plan (*plan)(const Problem& problem, const machine::Wires& wires, const Parameters& parameters);
  /// Parameters worth trying for this problem, the best guess first; never empty.
  std::vector<Parameters> (*candidates)(const Problem& problem, const machine::Wires& wires);
};

std::span<const Entry> entries();
/// Throws InputError naming the nearest known entry.
const Entry& entry(const std::string& name);

/// Ranks in an order that follows the network: those of a host side by side, hosts of a subnet side by side. Classical
/// algorithms number ranks by it, so that neighbours in a ring, and the low dimensions of a hypercube, are near.
std::vector<int> topology_order(const machine::Wires& wires);

/// The rank whose messages of so many bytes reach the others soonest, were each alone on the network; of equals the
/// lowest. What needs a root and was given none has it there (paper 002, §7).
int central_rank(const machine::Wires& wires, double bytes);

/// An entry with what was chosen inside it, as people write it: "k_ary:degree=3", "subnets:segment=8192:pattern=chain".
struct NamedEntry {
  std::string name;
  std::optional<Parameters> parameters;  // absent: the best
};
std::string text_of(const NamedEntry& named);
/// The name is not looked up: "auto" and "native" are names too. Throws InputError for a parameter that there is not.
NamedEntry named_entry(const std::string& text);

struct Candidate {
  const Entry* entry = nullptr;
  Parameters parameters;
  double seconds = 0;
  std::size_t n_messages = 0;
  bool is_least = false;  // it takes longer than `seconds`: it was not priced to the end
};

/// Times closer than this are alike to the model; then fewer messages are better, as each takes a core's time.
inline constexpr double alike = 1.04;

/// Messages of all plans that are priced for one choice, about: more would take a second.
inline constexpr std::size_t most_priced = 250'000;

/// Candidates of all entries (or of the one named) that can do the problem, fastest first. Ties keep the order of the
/// registry. The first shape of an entry (its pattern, degree, depth) is tried with smaller and smaller pieces while
/// that helps clearly, other shapes with the best of these sizes and with the vector whole. What takes more than
/// `slack` times as long as the best so far is left at a lower bound of its time. Where all plans together are too long
/// (`most_priced`, of an entry that was named the longest plan there may be), some are left out.
std::vector<Candidate> rank_candidates(const Problem& problem, const machine::Wires& wires,
                                       const std::optional<std::string>& only = std::nullopt,
                                       double slack = std::numeric_limits<double>::infinity());
/// Fastest first; ties keep their order.
void sort_by_time(std::vector<Candidate>& candidates);

}  // namespace tessera::comm::collectives
