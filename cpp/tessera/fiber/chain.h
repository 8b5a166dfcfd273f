// Where the nodes of a fibre are, and what a rigid motion of some in a row would change: elastic energy at their ends,
// spheres that overlap, and the energy of their charges beside all others.
//
// Neighbours in the chain do not see each other's spheres and charges: their step has all of their energy.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/fiber/cells.h"
#include "tessera/fiber/model.h"

namespace tessera::fiber {

/// Nodes in a row, from `first` to before `last`.
struct Range {
  std::size_t first = 0, last = 0;
  bool has(std::size_t node) const { return first <= node && node < last; }
};

class Chain {
 public:
  /// Raises `InputError` for a model whose parts do not fit together. No node is anywhere yet.
  explicit Chain(Model model);

  const Model& model() const { return model_; }
  std::size_t size() const { return model_.size(); }
  const Frame& frame(std::size_t node) const { return now_.frame[node]; }

  /// Returns the frame where step `at` leaves its first node, or reaches its second.
  Frame exit(std::size_t at) const { return now_.frame[at] * model_.steps[at].exit; }
  Frame entry(std::size_t at) const { return now_.frame[at + 1] * model_.steps[at].entry; }

  /// Puts a node at a frame, or nowhere.
  void place(std::size_t node, const Frame& frame);
  void remove(std::size_t node) { cells_.remove(node); }

  /// Puts nodes at frames on trial.
  void try_at(std::size_t node, const Frame& frame) { set(trial_, node, frame); }

  /// Returns whether nodes on trial are no further outside the sphere about the origin than they were, all together: what
  /// is inside stays there, what is outside comes in.
  bool keeps_inside(Range range) const;
  /// Returns whether a node on trial is inside.
  bool is_inside(std::size_t node) const { return outside(trial_, node) == 0; }
  /// Returns how far nodes reach out of that sphere, Å.
  double furthest_outside() const;
  /// Gives the sphere another radius in Å.
  void set_radius(double radius) { radius_ = radius; }

  /// Returns whether nodes on trial overlap none of the others.
  bool is_free(Range range) const;

  /// Returns how much energy a trial adds, kT.
  double elastic_change(Range range) const;
  double screened_change(Range range);

  /// Puts the nodes on trial there.
  void accept(Range range);

  /// Returns the energy of a step, and of all charges, kT.
  StepEnergy energy_of_step(std::size_t at) const { return step_energy(exit(at), entry(at), model_.steps[at].springs); }
  double screened_energy();

  /// Returns how far the spheres and charges of a node reach from its origin, Å.
  double extent(std::size_t node) const { return extent_[model_.kind[node]].all; }

 private:
  struct Places {
    std::vector<Frame> frame;
    std::vector<Vec3> spheres, charges;  // of all nodes, one after another
  };
  struct Extent {
    double spheres = 0, charges = 0, all = 0;
  };
  struct Near {  // charges of a node within the cutoff of another one
    std::vector<double> x, y, z, value;
    void clear() { x.clear(), y.clear(), z.clear(), value.clear(); }
  };

  void set(Places& places, std::size_t node, const Frame& frame) const;
  double outside(const Places& places, std::size_t node) const;
  bool overlap(std::size_t one, std::size_t other) const;
  double energy_beside(const Places& places, std::size_t node, Range but);
  double energy_of_pair(const Places& places, std::size_t one, std::size_t other);
  void find_near(const Places& places, std::size_t node, const Vec3& centre, double distance, Near& found) const;
  const Kind& kind(std::size_t node) const { return model_.kinds[model_.kind[node]]; }
  const Extent& extents(std::size_t node) const { return extent_[model_.kind[node]]; }
  static bool are_neighbours(std::size_t one, std::size_t other) { return one <= other + 1 && other <= one + 1; }

  Model model_;
  std::vector<Extent> extent_;  // of each kind
  std::vector<std::size_t> first_sphere_, first_charge_;
  Places now_, trial_;
  Cells cells_;
  double radius_;
  Near one_, other_;
};

}  // namespace tessera::fiber
