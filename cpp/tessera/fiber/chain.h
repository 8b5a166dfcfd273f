// Where the nodes of a fibre are, and what a rigid motion of some in a row would change: elastic energy at their ends,
// spheres that overlap, and the energy of their charges beside all others.
//
// Neighbours in the chain do not see each other's spheres and charges: their step has all of their energy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tessera/fiber/cells.h"
#include "tessera/fiber/cloud.h"
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
  Frame exit_of(std::size_t at) const { return now_.frame[at] * model_.steps[at].exit; }
  Frame entry_of(std::size_t at) const { return now_.frame[at + 1] * model_.steps[at].entry; }

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
  double screened_change(Range range) const;
  double anchored_change(Range range) const;

  /// Returns how much more nodes on trial overlap others than they do now.
  double overlap_change(Range range) const;

  /// Puts the nodes on trial there.
  void accept(Range range);

  /// Returns the energy of a step, and of all charges, kT.
  StepEnergy energy_of_step(std::size_t at) const {
    return step_energy(exit_of(at), entry_of(at), model_.steps[at].springs);
  }
  double screened_energy() const;
  double anchored_energy() const;

  /// Returns how much all nodes overlap: the sum of 1 - r²/d² over the pairs of spheres that do, r apart and d thick.
  double overlap() const;

  /// Returns how far the spheres and charges of a node reach from its origin, Å.
  double extent(std::size_t node) const {
    return std::max(spheres_[kind(node)].extent + model_.diameter / 2, charges_[kind(node)].extent);
  }

 private:
  struct Places {
    std::vector<Frame> frame;
    Clouds spheres, charges;
  };

  void set(Places& places, std::size_t node, const Frame& frame) const;
  double outside(const Places& places, std::size_t node) const;
  bool overlap(std::size_t one, std::size_t other) const;

  /// What a node of some places has together with another one where it is now: how much they overlap, or the energy of
  /// their charges.
  using OfPair = double (Chain::*)(const Places& places, std::size_t one, std::size_t other) const;
  double change_of(OfPair of_pair, Range range) const;
  double sum_of(OfPair of_pair) const;
  double sum_beside(OfPair of_pair, const Places& places, std::size_t node, Range but) const;
  double overlap_of_pair(const Places& places, std::size_t one, std::size_t other) const;
  double energy_of_pair(const Places& places, std::size_t one, std::size_t other) const;

  Placed spheres_of(const Places& places, std::size_t node) const {
    return {spheres_[kind(node)], places.frame[node].origin, places.spheres.points(node), places.spheres.middles(node)};
  }
  Placed charges_of(const Places& places, std::size_t node) const {
    return {charges_[kind(node)], places.frame[node].origin, places.charges.points(node), places.charges.middles(node)};
  }
  std::size_t kind(std::size_t node) const { return model_.kind[node]; }
  static bool are_neighbours(std::size_t one, std::size_t other) { return one <= other + 1 && other <= one + 1; }

  Model model_;
  std::vector<Cloud> spheres_, charges_;  // of each kind
  Places now_, trial_;
  Cells cells_;
  double radius_;
};

}  // namespace tessera::fiber
