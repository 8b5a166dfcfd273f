// The ranks as corners of a hypercube, and what halving and doubling do along its dimensions. Paper 000, §2: in the
// vector distributed global sum half of the vector crosses the first dimension, a quarter the second, and so on; in the
// broadcast the same in reverse. So the first dimension has to be the fastest.
#pragma once

#include <vector>

#include "tessera/comm/collectives/classical/build.h"

namespace tessera::comm::collectives {

struct Hypercube {
  std::vector<int> corners;     // the rank at each corner: as many as the largest power of two
  std::vector<int> folded;      // the rank that this corner speaks for besides its own; -1: none
  std::vector<int> dimensions;  // bits of a corner's number, in the order in which halving crosses them

  std::size_t size() const { return corners.size(); }
  std::size_t neighbour(std::size_t corner, std::size_t step) const;
  std::size_t corner_of(int rank) const;  // the one that speaks for it
};

/// Neighbours in topology order share low dimensions. Halving crosses first what is near by level and time, and of
/// equals the highest bit, so that what is sent is consecutive. Where operands must stay in rank order so do corners,
/// and bits rise.
Hypercube make_hypercube(const Problem& problem, const machine::Wires& wires);

/// A vector cut into one part for each corner, such that what halving sends in one step is consecutive.
std::vector<Range> split(const Problem& problem, const Hypercube& cube);

/// Moves parts along the cube. A corner's part is that of both ranks it speaks for.
class HypercubeParts {
 public:
  HypercubeParts(const Hypercube& cube, const std::vector<Range>& parts);

  /// Every corner has a vector; leaves each with its part combined over all. (Recursive halving.)
  void add_halving(Plan& plan, const Problem& problem) const;
  /// Every corner has its part; leaves all with all. The reverse of halving. (Recursive doubling.)
  void add_doubling(Plan& plan) const;
  /// One corner has all; leaves every corner with its part. And the reverse.
  void add_scatter(Plan& plan, std::size_t root) const;
  void add_gather(Plan& plan, std::size_t root) const;

 private:
  /// What corners that agree with this one on the first `n` dimensions have together.
  const std::vector<Range>& share(std::size_t corner, std::size_t n) const;
  bool agree_from(std::size_t step, std::size_t a, std::size_t b) const;

  const Hypercube& cube_;
  std::vector<std::vector<std::vector<Range>>> shares_;  // by number of dimensions and their bits
};

}  // namespace tessera::comm::collectives
