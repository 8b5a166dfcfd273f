// Holds what a survey of a machine has measured: times between hosts and inside them, and the effects of several pairs
// communicating at the same time. The values are raw and can be merged; the network is derived from them
// (derive_network.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/machine/experiment.h"
#include "tessera/machine/machine.h"
#include "tessera/machine/network.h"
#include "tessera/machine/partition.h"

namespace tessera::machine {

struct MeasuredHost {
  std::string name;
  int slots = 1;
  std::vector<int> ranks;  // those that were on it
  Machine node;            // according to hwloc
  int kernel = -1;         // number of its operating system, which containers share; -1: unknown

  friend bool operator==(const MeasuredHost&, const MeasuredHost&) = default;
};

/// Returns the bytes that a link carries in about `seconds`, 64 KiB to 64 MiB.
std::int64_t bytes_of_flow(const Link& link, double seconds);

struct Measurements {
  std::vector<MeasuredHost> hosts;
  std::vector<std::int64_t> sizes;          // bytes per message, ascending
  std::vector<TimeMatrix> times;            // s, by size: least half round trips; NaN: not measured
  std::vector<std::vector<double>> inside;  // s, [size][host]: the same between two ranks of a host; NaN: not measured
  std::vector<Experiment> experiments;

  /// Returns measurements without results: matrices of NaN of the right sizes.
  static Measurements of(std::vector<MeasuredHost> hosts, std::vector<std::int64_t> sizes);
  /// Throws InputError for a matrix of the wrong size, a time that is not positive and finite, or an unknown host in a
  /// flow.
  void check(const std::string& name) const;
};

/// Returns the least time of each pair and size in two surveys of the same hosts (in any order; sizes of both are
/// kept), as disturbances only add to a time. Hosts are in the order of `first`. Throws InputError if the hosts differ.
Measurements merge(const Measurements& first, const Measurements& second);

/// Describes a round trip that is measured now, to check whether a survey is still valid.
struct SpotCheck {
  int from = 0;  // index in Measurements::hosts
  int to = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
};

struct HostNow {
  std::string name;
  int n_ranks = 1;
};

/// A spot check that differs by more than this factor, either way, counts as a difference. It is measured quickly, so
/// the factor exceeds the partition's 20 %, while another class of link differs by a factor of 2 or more.
constexpr double stale_factor = 1.5;

/// Returns the differences between a survey and a job, one line each; empty if the survey is valid. Hosts that the job
/// does not use are ignored. A spot check of a size or pair that was not measured is compared with the prediction of
/// `network`.
std::vector<std::string> what_is_stale(const Measurements& measurements, const Network& network,
                                       const std::vector<HostNow>& hosts, const std::vector<SpotCheck>& checks);

}  // namespace tessera::machine
