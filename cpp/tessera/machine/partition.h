// Divides hosts into subnets by the times between them: Lowekamp and Beguelin (1995), §4.1 and Figure 2, applied again
// to the subnets for networks of several levels.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "tessera/machine/network.h"

namespace tessera::machine {

/// Holds times between hosts in any one unit, half of a round trip; NaN: not measured. Directions may differ; the
/// diagonal is ignored.
class TimeMatrix {
 public:
  explicit TimeMatrix(int n_hosts = 0);

  int n_hosts() const { return n_hosts_; }
  double& at(int from, int to) { return times_[index(from, to)]; }
  double at(int from, int to) const { return times_[index(from, to)]; }
  void set_both(int a, int b, double time) { at(a, b) = at(b, a) = time; }
  /// Returns the lesser time of the two directions, as disturbances only add to it; NaN if both are unknown.
  double between(int a, int b) const { return std::fmin(at(a, b), at(b, a)); }
  bool is_known(int a, int b) const { return !std::isnan(at(a, b)) || !std::isnan(at(b, a)); }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(n_hosts_) + static_cast<std::size_t>(to);
  }

  int n_hosts_;
  std::vector<double> times_;
};

/// Returns the partition of Figure 2 of Lowekamp and Beguelin (1995): hosts are in one group if they reach each other
/// within `tolerance` times the least time of either and of their subnets so far. An unknown time never joins two
/// hosts; a few that are too long do no harm. Groups are in the order of their first hosts, hosts ascending.
std::vector<std::vector<int>> partition(const TimeMatrix& times, double tolerance = 1.20);

/// Returns the tree of subnets, like Network::subnets without links and rates. First hosts are partitioned, then the
/// subnets (the time between two is the least between their hosts), until one is left. Groups between which nothing was
/// measured are put side by side under one root. Every subnet except leaves has at least two parts, and the time
/// between its parts is less, by more than the tolerance, than that between the parts of its parent.
std::vector<Subnet> hierarchy(const TimeMatrix& times, double tolerance = 1.20);

/// Does the same for times of several message sizes, each with its tolerance. The rule must hold at every size at which
/// an edge is known, because a further switch shows in short messages and a thin link in long ones. Edges are sorted by
/// the mean logarithm of their times, each relative to the least of its size.
std::vector<std::vector<int>> partition(std::span<const TimeMatrix> by_size, std::span<const double> tolerances);
std::vector<Subnet> hierarchy(std::span<const TimeMatrix> by_size, std::span<const double> tolerances);

}  // namespace tessera::machine
