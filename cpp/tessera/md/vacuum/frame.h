// The frame of a vacuum: a box that does not repeat, with all atoms in the middle quarter of each edge.
//
// Positions are fractions of a box (base/box.h), whose differences wrap. In a vacuum none may. So at the start and at
// each search, an edge doubles about its middle as often as is needed where an atom is an eighth of it or more from the
// middle, or where it is shorter than eight ranges of the pair list; fractions are halved, ties to even. Until the next
// search atoms stay within a quarter of the edge from the middle: the difference of two fractions is the vector between
// them, and nothing has an image. What decides is the least and the greatest fraction of all atoms, which are integers:
// the same on any ranks and after a restart, for which the rule has nothing left to do.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "tessera/base/box.h"
#include "tessera/comm/communicator.h"

namespace tessera::md::vacuum {

/// No edge of this length or longer doubles, Å, as positions would be rounded to more than 1.5e-5 Å.
inline constexpr double longest_edge = 32768;

/// The least and the greatest fraction of atoms along each edge.
struct Extent {
  std::array<std::int32_t, 3> lower, upper;

  void add(const Fraction& f);
  /// Returns the diagonal of the box around the atoms, Å.
  double diagonal(const Box& frame) const;
};
inline constexpr std::int32_t eighth = 1 << 29;  // of the frame
/// The extent of no atoms.
inline constexpr Extent nowhere = {{std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::max()},
                                   {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::min()}};
/// The extent of atoms that are anywhere where a search may find them.
inline constexpr Extent anywhere = {{-eighth, -eighth, -eighth}, {eighth - 1, eighth - 1, eighth - 1}};

/// Returns the extent of the atoms of all ranks. Collective.
Extent extent_of_all(const Extent& own, const comm::Communicator& comm);

/// Returns how far from each other two atoms of this extent that interact may be at most, Å: the cut-off, or the
/// diagonal, in steps so that cells seldom change.
double range(const Extent& atoms, const Box& frame, double cutoff);

/// How often each edge doubles.
using Doublings = std::array<int, 3>;
struct Fit {
  Doublings doublings{};
  bool is_full = false;  // an edge is or would have to be too long
};
/// Doubles the edges of a frame as the atoms need it, which `atoms` and `buffer` (Å, beyond the range) tell.
Fit fit(Box& frame, Extent& atoms, double cutoff, double buffer);

/// Returns the frame with edges doubled until a place (Å from the middle) is well within.
Box around(Box frame, const Vec3& place);

/// Returns the fraction after its edges have doubled so often.
Fraction halved(const Fraction& f, const Doublings& doublings);
/// Returns a value in units of a fraction of one frame along an edge as that of another, which differs by doublings.
/// Exact.
std::array<double, 3> scale_between(const Box& from, const Box& to);

}  // namespace tessera::md::vacuum
