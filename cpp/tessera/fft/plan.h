// Plans how a three-dimensional Fourier transform of a periodic mesh is laid out over ranks. A plan is pure and the
// same on every rank, and it is tested without MPI.
//
// A plan is a list of stages. At each stage every rank holds a box of the mesh. Along the directions that a stage
// sweeps every box spans the mesh, so lines along them are transformed in place. Between two stages values move to the
// boxes of the next. Forward goes down the list, from the input boxes to the spectrum (the boxes of the last stage);
// backward goes up, to the output boxes. A scheme (schemes.h) only chooses the boxes; everything else follows from
// them.
//
// Points run over [0,nx)×[0,ny)×[0,nz). The spectrum of real points is Hermitian, so half of it is kept: waves [0, n/2]
// of the direction (with n points) that is swept first. Every box is stored with z fastest.
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

enum class TransformKind {
  real,    // r2c forward, c2r backward
  complex  // c2c
};

/// Tells what to transform, and how it is distributed.
struct TransformProblem {
  Index3 grid{};
  TransformKind kind = TransformKind::real;
  std::array<int, 3> order{0, 1, 2};  // directions in forward order; real points are halved along the first
  int ranks = 1;
  std::vector<IndexBox> input{};   // by rank: points, disjoint, cover the mesh; empty: the scheme's choice
  std::vector<IndexBox> output{};  // by rank: points, may overlap and leave the mesh (periodic images); empty: input
  std::vector<int> places{};       // by rank: whose boxes of the scheme's layout it takes, each once; empty: its own

  /// Returns the number of waves along each direction.
  Index3 spectrum_grid() const;
};

struct Stage {
  std::vector<int> sweeps;      // directions that forward transforms here, in this order; may be empty
  std::vector<IndexBox> boxes;  // by rank: before forward's sweeps; disjoint, cover the mesh
  std::vector<IndexBox> swept;  // by rank: after them (differs where real points become waves)
};

/// Describes a move of values from the boxes of one stage to those of the next.
struct Redistribution {
  const std::vector<IndexBox>& from;
  const std::vector<IndexBox>& to;
  int components;  // numbers per value: 1 (real) or 2 (complex)
};

struct TransformPlan {
  std::string scheme;
  TransformProblem problem;  // including the chosen boxes
  Index3 processes{};        // number of ranks along each direction of the layout, for reports
  std::vector<Stage> stages;

  int ranks() const { return problem.ranks; }
  const std::vector<IndexBox>& spectrum() const { return stages.back().swept; }
  /// Returns one redistribution before each stage; nothing moves if its boxes are equal.
  std::vector<Redistribution> forward() const;
  /// Returns one redistribution after each stage, the last stage's first: those of forward in reverse, except for the
  /// output boxes.
  std::vector<Redistribution> backward() const;
  /// Returns a few lines of text about layout and largest boxes.
  std::string summary() const;
};

/// Describes a box that one rank sends to another. It is at `box` for the sender and at box + shift for the receiver;
/// shift is not zero only where the receiver's box leaves the mesh.
struct MovedBox {
  int peer = 0;
  IndexBox box;
  Index3 shift{};
};

/// Lists one rank's part in a redistribution, by peer. Two ranks list the pieces between them in the same order; pieces
/// that a rank keeps are in both lists.
struct Exchange {
  std::vector<MovedBox> send, receive;
};

/// Plans the exchange from disjoint boxes inside the mesh to any boxes. O(ranks).
Exchange plan_exchange(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to,
                       int rank);

/// Describes everything that one rank sends to another in a redistribution, in one message of values · components ·
/// bytes per number.
struct RedistributionMessage {
  int from = 0, to = 0;
  std::int64_t values = 0;

  friend bool operator==(const RedistributionMessage&, const RedistributionMessage&) = default;
};

/// Calls function(message) for the messages of one receiver after the other, by sender. It needs O(ranks) memory,
/// because all messages of tens of thousands of ranks would not fit. Values that stay on a rank make no message. Boxes
/// of either side may leave the mesh, so the messages that ranks send are found by exchanging `from` and `to`.
void for_messages(const Index3& grid, const Redistribution& redistribution, std::span<const int> receivers,
                  const std::function<void(const RedistributionMessage&)>& function);

}  // namespace tessera::fft
