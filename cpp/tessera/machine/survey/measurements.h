// What a survey of a machine has measured: times between hosts and inside them, and what happens when several pairs
// talk at once. Raw and mergeable; the network is derived from it (derive_network.h).
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
  std::vector<int> ranks;  // that were on it
  Machine node;            // as hwloc sees it
  int kernel = -1;         // number of the operating system that it runs on, as containers share one; -1: unknown

  friend bool operator==(const MeasuredHost&, const MeasuredHost&) = default;
};

/// Bytes that a link carries in about so many seconds, 64 KiB to 64 MiB.
std::int64_t bytes_of_flow(const Link& link, double seconds);

struct Measurements {
  std::vector<MeasuredHost> hosts;
  std::vector<std::int64_t> sizes;          // bytes of the messages, ascending
  std::vector<TimeMatrix> times;            // s, of each size: least half round trips; NaN: not measured
  std::vector<std::vector<double>> inside;  // s, [size][host]: the same between two ranks of a host; NaN: not measured
  std::vector<Experiment> experiments;

  /// Nothing measured yet: matrices of NaN of the right sizes.
  static Measurements of(std::vector<MeasuredHost> hosts, std::vector<std::int64_t> sizes);
  /// Throws InputError: a matrix of the wrong size, a time that is not positive and finite, an unknown host in a flow.
  void check(const std::string& name) const;
};

/// The least time of each pair and size in two surveys of the same hosts (in any order; sizes of both are kept), as
/// what disturbs a measurement only adds to it. Hosts stand as in `first`. Throws InputError where the hosts differ.
Measurements merge(const Measurements& first, const Measurements& second);

/// One round trip measured now, to see whether a survey still holds.
struct SpotCheck {
  int from = 0;  // by index in Measurements::hosts
  int to = 0;
  std::int64_t bytes = 0;
  double seconds = 0;
};

struct HostNow {
  std::string name;
  int n_ranks = 1;
};

/// A spot check that differs by more than this factor, either way, is a difference: it is done in a hurry, so more than
/// the partition's 20 % is needed, while another class of link differs by 2 and more.
constexpr double stale_factor = 1.5;

/// What differs between a survey and a job, one line each; empty: it holds. Hosts that the job does not use don't
/// matter. A spot check of a size or pair that was not measured is compared with what `network` predicts.
std::vector<std::string> what_is_stale(const Measurements& measurements, const Network& network,
                                       const std::vector<HostNow>& hosts, const std::vector<SpotCheck>& checks);

}  // namespace tessera::machine
