// Where the nodes of a fibre are, and what a rigid motion of some in a row would change: elastic energy at their ends,
// spheres that overlap, and the energy of their charges beside all others.
//
// Neighbours in the chain do not see each other's spheres and charges: their step has all of their energy. Tails are
// places in the frames of their nodes, with which they move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
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
  void remove(std::size_t node);

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

  /// Returns how much more nodes on trial overlap others than they do now, tails left out.
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

  /// Returns how many tails a node has.
  std::size_t tails(std::size_t node) const { return beads_[node].groups.size(); }
  /// Returns a tail of a node, and where its beads are, if it is there: it has no place at first.
  const Tail& tail(TailId id) const { return model_.kinds[kind(id.node)].tails[id.tail]; }
  std::span<const Vec3> beads(TailId id) const {
    const Group& group = beads_[id.node].groups[id.tail];
    return {now_.beads.points(id.node) + group.first, group.last - group.first};
  }
  /// Returns where the first bead of a tail is.
  Vec3 root(TailId id) const { return now_.frame[id.node] * tail(id).place; }
  /// Puts the beads of a tail at places.
  void set_tail(TailId id, std::span<const Vec3> places);
  /// Takes a tail away, or puts it back where it was.
  void hide_tail(TailId id) { fiber::hide_tail(beads_[id.node], id.tail); }
  void show_tail(TailId id) { fiber::show_tail(beads_[id.node], id.tail, tail(id).size()); }

  /// Returns the nodes that a tail may reach.
  std::vector<std::size_t> around(TailId id) const;
  /// Returns whether the first bead of a tail, which is taken away, overlaps none of those nodes and other tails.
  bool has_room(TailId id, std::span<const std::size_t> around) const;
  /// Returns the energy of the charge of a bead of a tail, which is taken away, at a place beside all charges of those
  /// nodes and of other tails. Infinite where it overlaps any or is outside the sphere.
  double energy_at(const Vec3& place, std::size_t bead, TailId id, std::span<const std::size_t> around) const;
  /// Returns the energy of two beads with charges at places. Infinite where they overlap.
  double energy_of_beads(const Vec3& a, double charge, const Vec3& b, double other) const;

  /// Returns how far the spheres and charges of a node reach from its origin, Å.
  double extent(std::size_t node) const {
    return std::max(spheres_[kind(node)].extent + model_.diameter / 2, charges_[kind(node)].extent);
  }

 private:
  struct Places {
    std::vector<Frame> frame;
    Clouds spheres, charges, beads;
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
  double energy_between(const Placed& one, const Placed& other, std::size_t without) const;
  double energy_within(std::size_t node) const;
  double energy_of_groups(const Placed& beads, std::size_t one, std::size_t other) const;
  bool do_tails_overlap(std::size_t one, std::size_t other) const;
  double energy_of_tails(const Places& places, std::size_t one, std::size_t other) const;
  template <class Visit>
  bool all_near(std::size_t node, const Vec3& at, Visit visit) const {  // for all nodes that one at a place may see
    if (!has_tails(node)) return cells_.all_near(at, visit);
    return cells_.all_near(at, [&](std::size_t other) { return has_tails(other) || visit(other); }) &&
           tailed_.all_near(at, visit);
  }

  Placed spheres_of(const Places& places, std::size_t node) const {
    return {spheres_[kind(node)], places.frame[node].origin, places.spheres.points(node), places.spheres.middles(node)};
  }
  Placed charges_of(const Places& places, std::size_t node) const {
    return {charges_[kind(node)], places.frame[node].origin, places.charges.points(node), places.charges.middles(node)};
  }
  Placed beads_of(const Places& places, std::size_t node) const {
    return {beads_[node], places.frame[node].origin, places.beads.points(node), places.beads.middles(node)};
  }
  std::size_t kind(std::size_t node) const { return model_.kind[node]; }
  bool has_tails(std::size_t node) const { return !beads_[node].groups.empty(); }
  double between() const { return (model_.diameter + model_.bead_diameter) / 2; }
  static bool are_neighbours(std::size_t one, std::size_t other) { return one <= other + 1 && other <= one + 1; }

  Model model_;
  std::vector<Cloud> spheres_, charges_;  // of each kind
  std::vector<Cloud> beads_;              // of each node, in its frame
  Places now_, trial_;
  Cells cells_, tailed_;  // of all nodes, and of those with tails, which see each other from further
  double radius_;
};

}  // namespace tessera::fiber
