// Chooses pairs that communicate at the same time, to distinguish a shared medium from a switch and to measure a
// subnet's uplink.
#pragma once

#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

struct ContentionOptions {
  double seconds = 0.25;           // time that a flow should take alone
  double seconds_of_media = 0.25;  // the same for experiments on a medium or an uplink
  int most_flows = 16;             // at the same time, out of one subnet
};

/// Returns the experiments to do next. The caller runs them and calls again until none is left, since a leaf that turns
/// out to have parts is examined further. `alone` is filled in if times of pairs are sufficient. For the network as far
/// as it is known (`derive_network` of the measurements), the experiments are:
/// - in every leaf of four hosts or more two disjoint pairs; of three a→b with c→a, of two a→b with b→a, which
///   distinguish a wire that all share from ports that send and receive at the same time;
/// - across every subnet of four parts or more two pairs of disjoint parts;
/// - out of every subnet below the whole as many hosts as have a partner outside, to partners spread over the others;
/// - among all hosts, if there are many, those of routes/find_routes.h;
/// - in every leaf those of split_by_load.h;
/// - for hosts that share an operating system, and so its processors, all of them at once, each to its neighbour on the
///   same switch, in long messages and in short ones.
std::vector<Experiment> contention_experiments(const Measurements& measurements, const Network& network,
                                               const ContentionOptions& options = {});

/// Returns an upper bound of the seconds that the flows of an experiment need together, as far as the network is known:
/// what may be a bus counts as one, and an uplink that was not measured counts as one host's port.
double most_seconds(const Experiment& experiment, Network network);

}  // namespace tessera::machine
