// Predicts how long a broadcast takes along a tree if the cost of every edge is known: the model of Lowekamp and
// Beguelin (1995), §4, by which their Table 1 compares a minimal spanning tree with a binary one. Times are in the unit
// of the matrix.
#pragma once

#include <vector>

#include "tessera/machine/partition.h"

namespace tessera::machine {

struct BroadcastTree {
  int root = 0;
  std::vector<std::vector<int>> children;  // of each host, in sending order
};

/// Returns the tree of least total cost over the edges of known time; children are ascending. Throws InputError if the
/// known edges do not connect all hosts.
BroadcastTree minimal_spanning_tree(const TimeMatrix& times, int root);

/// Returns the binary tree over the hosts in their order, starting at the root and wrapping around: numbered from 1,
/// host i sends to 2i and 2i + 1.
BroadcastTree binary_tree(int n_hosts, int root);

/// Returns the time until the last host has the message. A host sends to its children one after another, and each
/// message takes the cost of its edge; different hosts send at the same time.
double completion_time(const BroadcastTree& tree, const TimeMatrix& times);

}  // namespace tessera::machine
