// Ranks as the corners of a hypercube, and the messages of halving and doubling along its dimensions. Borštnik et al.
// (2004), §2: in the vector distributed global sum half of the vector crosses the first dimension, a quarter the
// second, and so on; in the broadcast the same in reverse. So the first dimension has to be the fastest.
#pragma once

#include <vector>

#include "tessera/collectives/classical/build.h"

namespace tessera::collectives {

struct Hypercube {
  std::vector<int> corners;     // the rank at each corner: as many as the largest power of two
  std::vector<int> folded;      // the rank that this corner represents besides its own; -1: none
  std::vector<int> dimensions;  // bits of a corner's number, in the order in which halving crosses them

  std::size_t size() const { return corners.size(); }
  std::size_t neighbour(std::size_t corner, std::size_t step) const;
  std::size_t corner_of(int rank) const;  // the one that represents it
};

/// Makes a hypercube in which neighbours in topology order share low dimensions. Halving first crosses the dimensions
/// whose ranks are near by level and time, and of equal ones the highest bit, so that what is sent is consecutive.
/// Where operands must stay in rank order, corners are in rank order, and bits rise.
Hypercube make_hypercube(const CollectiveProblem& problem, const machine::Wires& wires);

/// Cuts a vector into one part for each corner, such that what halving sends in one step is consecutive.
std::vector<ElementRange> split(const CollectiveProblem& problem, const Hypercube& cube);

/// Moves parts along the cube. A corner's part is that of both ranks that it represents.
class HypercubeParts {
 public:
  HypercubeParts(const Hypercube& cube, const std::vector<ElementRange>& parts);

  /// Starts with a vector on every corner and ends with each corner's part combined over all corners (recursive
  /// halving).
  void add_halving(MessagePlan& plan, const CollectiveProblem& problem) const;
  /// Starts with each corner's part and ends with all parts on every corner, the reverse of halving (recursive
  /// doubling).
  void add_doubling(MessagePlan& plan) const;
  /// Starts with all parts on one corner and ends with its part on every corner; the second function does the reverse.
  void add_scatter(MessagePlan& plan, std::size_t root) const;
  void add_gather(MessagePlan& plan, std::size_t root) const;

 private:
  /// Returns the parts of all corners that agree with this one on the first `n` dimensions.
  const std::vector<ElementRange>& share(std::size_t corner, std::size_t n) const;
  bool agree_from(std::size_t step, std::size_t a, std::size_t b) const;

  const Hypercube& cube_;
  std::vector<std::vector<std::vector<ElementRange>>> shares_;  // by number of dimensions and their bits
};

}  // namespace tessera::collectives
