// How a three-dimensional Fourier transform of a periodic mesh is laid out over ranks: a plan, pure and the same on
// every rank, tested without MPI.
//
// A plan is a list of stages. At each stage every rank holds a box of the mesh; the directions that a stage sweeps are
// whole in every box, so lines along them are transformed where they are. Between two stages values move to the boxes
// of the next. Forward goes down the list, from the input boxes to the spectrum (the boxes of the last stage); backward
// goes up, to the output boxes. A scheme (schemes.h) only chooses the boxes; all else follows from them.
//
// Points run over [0,nx)×[0,ny)×[0,nz). The spectrum of real points is Hermitian, so half of it is kept: of the
// direction n that is swept first, waves [0, n/2]. Every box is stored with z fastest.
//
// Cost: planning is O(ranks); the messages of all ranks are found in time proportional to their number.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/index_box.h"

namespace tessera::fft {

enum class Kind {
  real,    // r2c forward, c2r backward
  complex  // c2c
};

/// What is to be transformed.
struct Problem {
  Index3 grid{};
  Kind kind = Kind::real;
  std::array<int, 3> order{0, 1, 2};  // directions as forward sweeps them; real points are halved along the first
  int ranks = 1;
  std::vector<IndexBox> input{};   // by rank: points, disjoint, cover the mesh; none: as the scheme likes best
  std::vector<IndexBox> output{};  // by rank: points, may overlap and stick out (periodic images); none: the input
  std::vector<int> places{};       // by rank: whose boxes of the scheme's layout it takes, each once; none: its own

  /// Waves along each direction.
  Index3 spectrum_grid() const;
};

struct Stage {
  std::vector<int> sweeps;      // directions that forward transforms here, one after the other; may be none
  std::vector<IndexBox> boxes;  // by rank: before the sweeps of forward; disjoint, cover the mesh
  std::vector<IndexBox> swept;  // by rank: after them (differs where real points become waves)
};

/// Values that go from the boxes of one stage to those of the next.
struct Redistribution {
  const std::vector<IndexBox>& from;
  const std::vector<IndexBox>& to;
  int components;  // numbers a value has: 1 (real) or 2 (complex)
};

struct Plan {
  std::string scheme;
  Problem problem;     // with the boxes that were chosen
  Index3 processes{};  // ranks along the three directions of the layout, for people to read
  std::vector<Stage> stages;

  int ranks() const { return problem.ranks; }
  const std::vector<IndexBox>& spectrum() const { return stages.back().swept; }
  /// One before each stage; where from equals to, nothing moves.
  std::vector<Redistribution> forward() const;
  /// One after each stage, the last stage's first: forward's in reverse order but for the output boxes.
  std::vector<Redistribution> backward() const;
  /// A few lines for people: layout, largest boxes.
  std::string summary() const;
};

/// A box that one rank sends to another. The sender has it at `box`, the receiver at box + shift
/// (shift is not zero only where the receiver's box sticks out of the mesh).
struct MovedBox {
  int peer = 0;
  IndexBox box;
  Index3 shift{};
};

/// One rank's part in a redistribution, by peer. Two ranks list the pieces between them in the same order; what a rank
/// keeps is in both lists.
struct Exchange {
  std::vector<MovedBox> send, receive;
};

/// From disjoint boxes inside the mesh to any boxes. O(ranks).
Exchange plan_exchange(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to,
                       int rank);

/// All that one rank sends another in a redistribution, in one message of values · components · bytes of a number.
struct Message {
  int from = 0, to = 0;
  std::int64_t values = 0;

  friend bool operator==(const Message&, const Message&) = default;
};

/// Calls function(message) for what the receivers receive, one after the other, by sender, and holds O(ranks): all
/// messages of tens of thousands of ranks would not fit into memory. What stays on a rank is none. Boxes of either side
/// may stick out of the mesh, so what ranks send is what they would receive with `from` and `to` exchanged.
void for_messages(const Index3& grid, const Redistribution& redistribution, std::span<const int> receivers,
                  const std::function<void(const Message&)>& function);

/// The messages of all ranks by sender, then receiver.
std::vector<Message> plan_messages(const Index3& grid, const Redistribution& redistribution);

}  // namespace tessera::fft
