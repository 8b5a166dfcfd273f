// Samples a fibre by the method of Metropolis et al. (1953), with the moves of Beard and Schlick (2001): pivot,
// crankshaft, and rotation and translation of a node.
//
// A move is accepted in two stages, with min(1, exp -E) of its springs and then of its charges: their product is
// in detailed balance as well, and most of what is refused is refused before it costs time.
//
// Tails have moves of their own. One grows again from a bead on by the scheme of Rosenbluth: each bead is drawn several
// times from its springs, one of the draws is taken by its weight exp -E beside all else, and the whole is accepted with
// the ratio of the sums of weights on the new and on the old way (Frenkel and Smit 2002, chapter 13). Or one bead is shifted.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "tessera/fiber/chain.h"
#include "tessera/fiber/draws.h"

namespace tessera::fiber {

class MonteCarlo {
 public:
  enum Kind : std::uint8_t { bead, core, pivot, crankshaft, regrowth, shift };
  static constexpr std::size_t kinds = 6;

  struct Counted {
    std::uint64_t tried = 0, accepted = 0;
    double size = 0.2;  // radians of the largest turn
  };

  /// Raises `InputError` for a model whose parts do not fit together.
  MonteCarlo(Model model, std::uint64_t seed);

  Chain& chain() { return chain_; }

  /// Builds the chain from its first node on: pieces that end at these nodes (increasing, the last node at the end) are
  /// drawn from their springs until they have room; of those that have, the one whose end is nearest to its target, if
  /// there are targets, one for each end. Returns false if there was no room after many attempts.
  bool grow(std::span<const std::size_t> ends, std::span<const Vec3> targets);

  /// Puts tails where they have room on nodes that have a place. Returns how many found none.
  std::size_t grow_tails();

  /// Makes this many moves of nodes, and as many of tails where any are there, at `heat` times the temperature. With tails
  /// that is the temperature of steps and anchors alone, since in the cold tails would pull all together. With `tune` the
  /// sizes of moves follow how often they are accepted, and what is sampled is not quite in equilibrium.
  void run(std::uint64_t moves, double heat, bool tune);

  /// Makes moves of tails alone, of one kind.
  void run_tails(Kind kind, std::uint64_t moves, double heat, bool tune);

  /// Limits moves to short stretches about these nodes, and to their tails; with none, to nothing.
  void set_focus(std::vector<std::size_t> nodes);

  /// Lets spheres overlap at a cost of so many kT for a pair whose centres meet, and leaves charges out, so that a chain
  /// whose nodes were put anywhere unfolds; infinite: what does not overlap never comes to. Tails are for an infinite one.
  void set_hardness(double hardness) { hardness_ = hardness; }

  const std::array<Counted, kinds>& counted() const { return counted_; }

 private:
  Vec3 ahead(std::size_t node) const;
  bool grow_piece(Range piece, const Vec3* target);
  bool draw_piece(Range piece, Draws& draws);
  bool draw_node(std::size_t node, Draws& draws);
  void move(double heat, bool tune);
  Range move_node(Draws& draws);
  Range move_end(Draws& draws);
  Range move_middle(Draws& draws);
  void turn_all(Range range, const Vec3& point, const Vec3& axis, double arm, Kind kind, Draws& draws);
  bool is_accepted(Range range, double heat, Draws& draws);
  void count(bool is_accepted, bool tune);
  void tune_size(Counted& counted) const;

  /// What a tail that is taken away sees while it grows or a bead of it is shifted: the nodes around, and its beads.
  struct Growing {
    TailId id;
    std::vector<std::size_t> around;
    std::vector<Vec3> beads;
  };
  Growing growing(TailId id) const;
  bool grow_tail(TailId id);
  double energy_of(const Growing& tail, const Vec3& place, std::size_t at, std::size_t beads) const;
  double grow_on(Growing& tail, std::size_t first, std::span<const Vec3> taken, double heat, Draws& draws) const;
  void move_tail(Kind kind, double heat, bool tune, Draws& draws);
  bool regrow(TailId id, double heat, Draws& draws);
  bool shift_bead(TailId id, double heat, Draws& draws);

  Chain chain_;
  std::uint64_t seed_, number_ = 0;
  Vec3 start_;  // of the first node
  std::vector<std::size_t> focus_;
  std::vector<TailId> tails_;   // of more than one bead, which are there
  std::vector<TailId> moving_;  // of them, those that move
  double hardness_ = std::numeric_limits<double>::infinity();
  std::array<Counted, kinds> counted_{};
  Kind last_ = bead;
};

}  // namespace tessera::fiber
