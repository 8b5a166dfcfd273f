// Finds subnets that pairs alone can't show. Two switches joined by one cable, or Ethernet segments behind a bridge,
// pass a single message as fast as one that stays on its side; only many flows at the same time show the difference.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/network.h"
#include "tessera/machine/survey/measurements.h"

namespace tessera::machine {

/// Returns the experiments for a leaf of four hosts or more, given what was done. At first every host sends to another
/// one drawn at random, three times, and two flows are drawn at random, four times; if one switch explains the times,
/// nothing else is needed. Otherwise more of both follow: the former show cables between switches, the latter
/// distinguish buses. `alone` is filled in from the link. The result is always the same for the same hosts.
std::vector<Experiment> load_experiments(const std::vector<int>& hosts, const Link& link,
                                         const std::vector<Experiment>& done, double seconds);

struct Part {
  std::vector<int> hosts;
  Medium medium = Medium::unknown;
};

/// Returns the parts of a leaf that explain its experiments: each is a switch (fabric) that others reach over one cable
/// of the same rate, or a bus. If there is nothing to explain, it is one part of unknown medium. Flows share wires by
/// max-min fairness until they end. The search starts from one part, from single hosts, from the groups that slow each
/// other down and from parts drawn at random, and moves one host at a time.
std::vector<Part> split_by_load(const std::vector<int>& hosts, const std::vector<Experiment>& experiments);

/// Returns the seconds until each of the flows, of one unit of data each, ends if they share wires by max-min fairness.
/// `wires[f]` are those of flow f; each carries one unit per second.
std::vector<double> fair_times(const std::vector<std::vector<int>>& wires, int n_wires);

}  // namespace tessera::machine
