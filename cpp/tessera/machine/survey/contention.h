// Chooses pairs that communicate at once, to distinguish a shared medium from a switch and to measure a subnet's
// uplink.
#pragma once

#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

struct ContentionOptions {
  double seconds = 0.25;           // that a flow should take alone
  double seconds_of_media = 0.25;  // the same where it is about a medium or an uplink
  int most_flows = 16;             // at once, out of one subnet
};

/// Experiments to do next; call, run, call again until none is left, as a leaf that turns out to have parts is looked
/// at more closely. `alone` is filled in where times of pairs tell it. For the network as far as it is known:
/// - in every leaf of four hosts or more two disjoint pairs; of three a→b with c→a, of two a→b with b→a, which tell a
///   wire that all share from ports that send and receive at once;
/// - across every subnet of four parts or more two pairs of disjoint parts;
/// - out of every subnet below the whole as many hosts as have a partner outside, to partners spread over the others;
/// - among all hosts, where there are many, those of routes/find_routes.h;
/// - in every leaf those of split_by_load.h;
/// - where hosts share an operating system, and so its processors, all of them at once, each to its neighbour on the
///   same switch, in long messages and in short ones.
std::vector<Experiment> contention_experiments(const Measurements& measurements, const ContentionOptions& options = {});

/// Seconds that the flows of an experiment need together at most, as far as the network is known: what may be a bus
/// counts as one, and an uplink that was not measured as one host's port.
double most_seconds(const Experiment& experiment, Network network);

}  // namespace tessera::machine
