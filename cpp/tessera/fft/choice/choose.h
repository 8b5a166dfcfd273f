// Which scheme, and which rank takes which place of its layout: the plan that takes least time on the wires of the
// machine, by the model that prices collectives.
//
// An exchange takes as long as its busiest wire, and its busiest rank to start messages; a pass over a rank's points as
// long as its core copies them at the rate that the map gives for the inside of its host (5 GB/s where that was not
// measured). Source of the model: machine/wires.h. Of more than 1,024 ranks the messages of 256 are counted,
// and subnets are taken to be alike; where routes are known, 600,000 messages that ranks receive and as many that they
// send, and every link is counted on its own. Cost: O(ranks + messages that are counted) of every plan that is looked
// at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

struct Prediction {
  double exchanges = 0;  // s, of a forward and a backward transform
  double passes = 0;     // over the memory of the rank that has most

  double seconds() const { return exchanges + passes; }
};

/// Of numbers of `real_bytes` (float 4, double 8).
Prediction predict(const Plan& plan, std::int64_t real_bytes, const machine::Wires& wires);

struct RankedPlan {
  Plan plan;
  std::string order;  // how ranks stand in the layout, for people
  Prediction predicted;
};

/// Ranks of more than this many keep the order that they have: looking at every order would take seconds.
inline constexpr int most_ranks_to_order = 2048;

/// A plan of every scheme that has work for the ranks (or of the one named), each with its best order of ranks, the
/// quickest first; equal times in the registry's order. Throws InputError as plan_transform.
///
/// Orders: the ranks' own numbers; ranks along the network (hosts of a subnet, ranks of a host side by side) with each
/// direction of the layout as the nearest in turn; and blocks of the layout on a host (machine/orders.h), where every
/// rank has a place.
std::vector<RankedPlan> rank_schemes(const Problem& problem, std::int64_t real_bytes, const machine::Wires& wires,
                                     std::string_view only = "auto");

/// "slab 1.2 ms, pencil 1.3 ms; ranks stand as numbered": what was chosen from, in one line.
std::string text_of(const std::vector<RankedPlan>& candidates);

/// What is assumed where nothing is known: all ranks on one host.
machine::Wires wires_of_one_host(int ranks);

}  // namespace tessera::fft
