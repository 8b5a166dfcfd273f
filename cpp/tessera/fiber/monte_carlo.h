// Samples a fibre by the method of Metropolis et al. (1953), with the moves of Beard and Schlick (2001): pivot,
// crankshaft, and rotation and translation of a node.
//
// A move is accepted in two stages, with min(1, exp -E) of its springs and then of its charges: their product is
// in detailed balance as well, and most of what is refused is refused before it costs time.
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
  enum Kind : std::uint8_t { bead, core, pivot, crankshaft };
  static constexpr std::size_t kinds = 4;

  struct Counted {
    std::uint64_t tried = 0, accepted = 0;
    double size = 0.2;  // radians of the largest turn
  };

  /// Raises `InputError` for a model whose parts do not fit together.
  MonteCarlo(Model model, std::uint64_t seed) : chain_(std::move(model)), seed_(seed) {}

  Chain& chain() { return chain_; }

  /// Builds the chain from its first node on: pieces that end at these nodes (increasing, the last node at the end) are
  /// drawn from their springs until they have room; of those that have, the one whose end is nearest to its target, if
  /// there are targets, one for each end. Returns false if there was no room after many attempts.
  bool grow(std::span<const std::size_t> ends, std::span<const Vec3> targets);

  /// Makes this many moves at `heat` times the temperature. With `tune` the sizes of moves follow how often they are
  /// accepted, and what is sampled is not quite in equilibrium.
  void run(std::uint64_t moves, double heat, bool tune);

  /// Limits moves to short stretches about these nodes; with none, to nothing.
  void set_focus(std::vector<std::size_t> nodes) { focus_ = std::move(nodes); }

  /// Lets spheres overlap at a cost of so many kT for a pair whose centres meet, and leaves charges out, so that a chain
  /// whose nodes were put anywhere unfolds; infinite: what does not overlap never comes to.
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
  void tune_size(Counted& counted) const;

  Chain chain_;
  std::uint64_t seed_, number_ = 0;
  Vec3 start_;  // of the first node
  std::vector<std::size_t> focus_;
  double hardness_ = std::numeric_limits<double>::infinity();
  std::array<Counted, kinds> counted_{};
  Kind last_ = bead;
};

}  // namespace tessera::fiber
