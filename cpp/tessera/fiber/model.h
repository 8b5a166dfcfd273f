// What a fibre is made of: a chain of rigid nodes, beads of linker DNA and cores of nucleosomes, that elastic steps join,
// and tails that hang on nodes.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "tessera/fiber/screened.h"
#include "tessera/fiber/step.h"
#include "tessera/fiber/tails.h"

namespace tessera::fiber {

struct Charge {
  Vec3 place;        // Å, in the frame of its node
  double value = 0;  // e
};

/// A kind of node: its charges, and the centres of the spheres that fill it, all in its frame, and its tails.
struct Kind {
  std::vector<Charge> charges;
  std::vector<Vec3> spheres;
  std::vector<Tail> tails = {};
};

/// A step from a node to the next: where it leaves the one, as that sees it, where it reaches the other, and its springs.
struct Step {
  Frame exit, entry;
  Springs springs;
};

/// A spring that holds the origin of a node near a place. Its pull grows no more from `Anchor::range` on, so that what
/// begins far away comes nearer at a bearable pace.
struct Anchor {
  static constexpr double range = 50.0;  // Å
  Vec3 place;                            // Å
  double stiffness = 0;                  // kT/Å²

  /// Returns the energy of a node that is there, kT.
  double energy(const Vec3& at) const {
    const double away2 = norm2(at - place);
    if (away2 < range * range) return stiffness * away2 / 2;
    return stiffness * range * (std::sqrt(away2) - range / 2);
  }
};

struct Model {
  std::vector<Kind> kinds;
  std::vector<std::size_t> kind;  // (n) of each node
  std::vector<Step> steps;        // (n - 1)
  Screened screened;
  double diameter = 0;  // Å of all spheres; those of nodes that are not neighbours never overlap
  double radius = 0;    // Å of a sphere about the origin which no node leaves; infinite: none
  double reach = 0;     // Å which a move shifts a node by at most; so that no part of a chain goes through another
  std::vector<Anchor> anchors = {};  // (n) of each node, or none
  double bead_diameter = 0;          // Å of beads of tails, which are spheres, too

  std::size_t size() const { return kind.size(); }
};

/// Raises `InputError` for a model whose parts do not fit together.
void check(const Model& model);

}  // namespace tessera::fiber
