// Subnets that pairs alone can't show: two switches joined by one cable, or Ethernet segments behind a bridge, let a
// message pass as if it had stayed on its side, until others want to cross too. Many flows at once tell.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

/// What is asked of a leaf of four hosts or more, given what was done:
/// first every host sends to another one drawn at random, three times, and two flows drawn at random, four times; if
/// one switch explains the times, that is all. Else more of these: the former show cables between
/// switches, the latter tell buses apart. `alone` is filled in from the link. Always the same for the same hosts.
std::vector<Experiment> load_experiments(const std::vector<int>& hosts, const Link& link,
                                         const std::vector<Experiment>& done, double seconds);

struct Part {
  std::vector<int> hosts;
  Medium medium = Medium::unknown;
};

/// The parts of a leaf that explain its experiments: each a switch (fabric) that others reach over one cable of the
/// same rate, or a bus. One part, of unknown medium, where there is nothing to explain. Flows share wires in max-min
/// fairness until they are over; searched from one part, from single hosts, from the groups that slow each other down
/// and from parts drawn at random, one host at a time.
std::vector<Part> split_by_load(const std::vector<int>& hosts, const std::vector<Experiment>& experiments);

/// Seconds until each of the flows, of one unit of data each, is over when they share wires in max-min fairness:
/// `wires[f]` are those of flow f; each carries one unit a second.
std::vector<double> fair_times(const std::vector<std::vector<int>>& wires, int n_wires);

}  // namespace tessera::machine
