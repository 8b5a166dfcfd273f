// Chooses the scheme and the rank for each place of its layout: the plan that takes least time on the wires of the
// machine, by the model that also prices collectives.
//
// An exchange takes as long as its busiest wire, plus the time its busiest rank needs to start messages. A pass over a
// rank's points takes as long as its core needs to copy them at the rate that the map gives for the inside of its host
// (5 GB/s if that was not measured). Source of the model: machine/wires.h. Of more than 1,024 ranks only the messages
// of 256 are counted, and subnets are assumed to be alike. If routes are known, 600,000 messages that ranks receive and
// as many that they send are counted, and each link on its own. Cost: O(ranks + messages counted) for every plan that
// is considered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

struct Prediction {
  double exchanges = 0;  // s, per forward and backward transform
  double passes = 0;     // s, over the memory of the rank with most points

  double seconds() const { return exchanges + passes; }
};

/// Predicts times for numbers of `real_bytes` (float 4, double 8).
Prediction predict(const TransformPlan& plan, std::int64_t real_bytes, const machine::Wires& wires);

struct RankedPlan {
  TransformPlan plan;
  std::string order;  // the order of ranks in the layout, as text
  Prediction predicted;
};

/// Beyond this number of ranks only the given order is considered, because trying every order would take seconds.
inline constexpr int most_ranks_to_order = 2048;

/// Returns a plan of every scheme with work for the ranks (or of the named one), each with its best order of ranks,
/// fastest first; equal times are in the registry's order. Throws InputError like plan_transform.
///
/// These orders are considered: the ranks' own numbers; ranks along the network (hosts of a subnet and ranks of a host
/// side by side) with each direction of the layout in turn as the fastest; and blocks of the layout on each host
/// (machine/orders.h), if every rank has a place.
std::vector<RankedPlan> rank_schemes(const TransformProblem& problem, std::int64_t real_bytes,
                                     const machine::Wires& wires, std::string_view only = "auto");

/// Returns one line such as "slab 1.2 ms, pencil 1.3 ms; ranks stand as numbered" about the candidates.
std::string text_of(const std::vector<RankedPlan>& candidates);

/// Returns the wires that are assumed if nothing is known: all ranks on one host.
machine::Wires wires_of_one_host(int ranks);

}  // namespace tessera::fft
