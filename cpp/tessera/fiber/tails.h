// Tails: chains of beads that hang on a node, such as those of histones on the core of a nucleosome.
//
// The first bead is a part of its node: it has a fixed place in the node's frame. Springs hold the others:
//
//   2E = Σ k_stretch (r - l)² + Σ k_bend (θ - θ₀)²
//
// over bonds of length r, and angles θ at beads between two bonds. Each bead has a charge, which sees by the same screened
// energy those of all nodes and of all beads, and is a hard sphere. Left out are beads that a bond joins, whose springs
// stand for all between them, and the first bead beside its own node and the nodes joined to it: it is a part of the
// node, and what rigid neighbours have together is in their step. No bead is further from its node's origin than its
// tail reaches if its bonds are in a row, each longer than at rest by what a kT/2 stretches it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "tessera/fiber/cloud.h"
#include "tessera/fiber/draws.h"

namespace tessera::fiber {

struct TailSprings {
  double length = 0;   // Å
  double stretch = 0;  // kT/Å²
  double angle = 0;    // radians between two bonds; π: straight
  double bend = 0;     // kT/rad²
};

/// A tail of a kind of node: where its first bead is in the node's frame, and the charges of its beads from there on.
struct Tail {
  Vec3 place;                   // Å
  std::vector<double> charges;  // (beads) e
  TailSprings springs;

  std::size_t size() const { return charges.size(); }
  /// Returns how far from the node's origin a bead may be, Å.
  double reach() const {
    return norm(place) + static_cast<double>(size() - 1) * (springs.length + 1 / std::sqrt(springs.stretch));
  }
};

/// A tail by its node and its number there.
struct TailId {
  std::size_t node = 0, tail = 0;
};

/// Returns the energy of a tail's springs about beads `first` to before `last`: of all bonds and angles that they are part
/// of, kT.
double elastic_energy(const TailSprings& springs, std::span<const Vec3> beads, std::size_t first, std::size_t last);

/// Returns the place of a bead after some others, drawn from the springs at `heat` times the temperature.
Vec3 drawn_bead(const TailSprings& springs, std::span<const Vec3> before, double heat, Draws& draws);

/// Returns a cloud with room for the beads of tails, a group for each; none of them is there yet.
Cloud cloud_of(const std::vector<Tail>& tails);

/// Puts a tail of such a cloud at places in the node's frame.
void set_tail(Cloud& beads, std::size_t tail, std::span<const Vec3> places);

/// Takes a tail away, or puts it back where it was.
void hide_tail(Cloud& beads, std::size_t tail);
void show_tail(Cloud& beads, std::size_t tail, std::size_t size);

}  // namespace tessera::fiber
