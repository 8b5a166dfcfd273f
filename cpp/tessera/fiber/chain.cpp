#include "tessera/fiber/chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tessera::fiber {

namespace {

std::vector<Cloud> spheres_of(const Model& model) {
  std::vector<Cloud> clouds;
  for (const Kind& kind : model.kinds)
    clouds.push_back(cloud_of(kind.spheres, std::vector<double>(kind.spheres.size())));
  return clouds;
}

std::vector<Cloud> charges_of(const Model& model) {
  std::vector<Cloud> clouds;
  for (const Kind& kind : model.kinds) {
    std::vector<Vec3> places;
    std::vector<double> values;
    for (const Charge& charge : kind.charges) places.push_back(charge.place), values.push_back(charge.value);
    clouds.push_back(cloud_of(std::move(places), std::move(values)));
  }
  return clouds;
}

/// Returns the clouds of the tails of each node.
std::vector<Cloud> beads_of(const Model& model) {
  std::vector<Cloud> clouds;
  for (const std::size_t kind : model.kind) clouds.push_back(cloud_of(model.kinds[kind].tails));
  return clouds;
}

std::vector<std::size_t> each(std::size_t n) {
  std::vector<std::size_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// Returns the largest distance at which two nodes see each other, Å, of which `both` have tails or not.
double longest_reach(const Model& model, const std::vector<Cloud>& spheres, const std::vector<Cloud>& charges,
                     bool both) {
  double most = 0, thick = 0, wide = 0, wide_bare = 0;
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    double reach = 0;
    for (const Tail& tail : model.kinds[kind].tails) reach = std::max(reach, tail.reach());
    most = std::max(most, reach);
    thick = std::max(thick, spheres[kind].extent);
    wide = std::max(wide, charges[kind].extent);
    if (reach == 0) wide_bare = std::max({wide_bare, charges[kind].extent, spheres[kind].extent});
  }
  const double bare = std::max(2 * thick + model.diameter, 2 * wide + model.screened.cutoff());
  if (most == 0) return bare;
  const double seen = std::max({model.screened.cutoff(), model.diameter, model.bead_diameter});
  return std::max(bare, most + seen + (both ? std::max({most, wide, thick}) : wide_bare));
}

/// Sums value(i, j, r²) over the pairs of points of two bodies that are nearer than a distance, without so many points
/// at the beginning of groups of the first.
template <class Value>
double sum_near(const Placed& one, const Placed& other, double distance, std::size_t without, Value value) {
  const double furthest = square(distance);
  double sum = 0;
  all_near(one, other, distance, [&](const Group& first, const Group& second) {
    for (std::size_t i = first.first + without; i < first.last; ++i)
      for (std::size_t j = second.first; j < second.last; ++j) {
        const double r2 = norm2(one.points[i] - other.points[j]);
        if (r2 < furthest) sum += value(i, j, r2);
      }
    return true;
  });
  return sum;
}

Model checked(Model model) {
  check(model);
  return model;
}

}  // namespace

Chain::Chain(Model model)
    : model_(checked(std::move(model))),
      spheres_(fiber::spheres_of(model_)),
      charges_(fiber::charges_of(model_)),
      beads_(fiber::beads_of(model_)),
      now_{std::vector<Frame>(size()), {spheres_, model_.kind}, {charges_, model_.kind}, {beads_, each(size())}},
      trial_(now_),
      cells_(longest_reach(model_, spheres_, charges_, false), size()),
      tailed_(longest_reach(model_, spheres_, charges_, true), size()),
      radius_(model_.radius) {}

void Chain::set(Places& places, std::size_t node, const Frame& frame) const {
  places.frame[node] = frame;
  places.spheres.place(node, spheres_[kind(node)], frame);
  places.charges.place(node, charges_[kind(node)], frame);
  places.beads.place(node, beads_[node], frame);
}

void Chain::place(std::size_t node, const Frame& frame) {
  set(now_, node, frame);
  cells_.place(node, frame.origin);
  if (has_tails(node)) tailed_.place(node, frame.origin);
}

void Chain::remove(std::size_t node) {
  cells_.remove(node);
  tailed_.remove(node);
}

void Chain::accept(Range range) {
  for (std::size_t node = range.first; node < range.last; ++node) {
    const Frame& frame = trial_.frame[node];
    place(node, {frame.origin, squared(frame.rotation)});
  }
}

bool Chain::keeps_inside(Range range) const {
  double now = 0, then = 0;
  for (std::size_t node = range.first; node < range.last; ++node) then += outside(trial_, node);
  if (then == 0) return true;
  for (std::size_t node = range.first; node < range.last; ++node) now += outside(now_, node);
  return then <= now;
}

bool Chain::is_free(Range range) const {
  for (std::size_t node = range.first; node < range.last; ++node) {
    const bool has_room = all_near(node, trial_.frame[node].origin, [&](std::size_t other) {
      return range.has(other) ||
             ((are_neighbours(node, other) || !overlap(node, other)) && !do_tails_overlap(node, other));
    });
    if (!has_room) return false;
  }
  return true;
}

double Chain::furthest_outside() const {
  double most = 0;
  for (std::size_t node = 0; node < size(); ++node) most = std::max(most, outside(now_, node));
  return most;
}

/// Returns how far a node's spheres and beads reach out of that of the model, Å.
double Chain::outside(const Places& places, std::size_t node) const {
  const double most = radius_ - model_.diameter / 2;
  const auto beyond = [](const Placed& body, double limit) {
    if (norm(body.origin) + body.cloud.extent <= limit) return 0.0;
    double furthest = limit;
    for (const Group& group : body.cloud.groups)
      for (std::size_t i = group.first; i < group.last; ++i) furthest = std::max(furthest, norm(body.points[i]));
    return furthest - limit;
  };
  const double own = beyond(spheres_of(places, node), most);
  return has_tails(node) ? std::max(own, beyond(beads_of(places, node), radius_ - model_.bead_diameter / 2)) : own;
}

/// Returns whether spheres of a node on trial and of another one where it is overlap.
bool Chain::overlap(std::size_t one, std::size_t other) const {
  return meet(spheres_of(trial_, one), spheres_of(now_, other), model_.diameter);
}

double Chain::elastic_change(Range range) const {
  double change = 0;
  const auto add = [&](std::size_t at) {
    const Step& step = model_.steps[at];
    const Frame &first = (range.has(at) ? trial_ : now_).frame[at],
                &second = (range.has(at + 1) ? trial_ : now_).frame[at + 1];
    change += step_energy(first * step.exit, second * step.entry, step.springs).total() - energy_of_step(at).total();
  };
  if (range.first > 0) add(range.first - 1);
  if (range.last < size()) add(range.last - 1);
  return change;
}

double Chain::screened_change(Range range) const { return change_of(&Chain::energy_of_pair, range); }

double Chain::anchored_change(Range range) const {
  if (model_.anchors.empty()) return 0;
  double change = 0;
  for (std::size_t node = range.first; node < range.last; ++node) {
    const Anchor& anchor = model_.anchors[node];
    change += anchor.energy(trial_.frame[node].origin) - anchor.energy(now_.frame[node].origin);
  }
  return change;
}

double Chain::anchored_energy() const {
  double sum = 0;
  for (std::size_t node = 0; node < model_.anchors.size(); ++node)
    sum += model_.anchors[node].energy(now_.frame[node].origin);
  return sum;
}

double Chain::overlap_change(Range range) const { return change_of(&Chain::overlap_of_pair, range); }

double Chain::overlap() const { return sum_of(&Chain::overlap_of_pair); }

double Chain::screened_energy() const {
  double sum = sum_of(&Chain::energy_of_pair);
  for (std::size_t node = 0; node < size(); ++node)
    if (has_tails(node)) sum += energy_within(node);
  return sum;
}

/// Returns how much more nodes on trial have with all others than they have now.
double Chain::change_of(OfPair of_pair, Range range) const {
  double change = 0;
  for (std::size_t node = range.first; node < range.last; ++node)
    change += sum_beside(of_pair, trial_, node, range) - sum_beside(of_pair, now_, node, range);
  return change;
}

/// Returns what all pairs of nodes have together.
double Chain::sum_of(OfPair of_pair) const {
  double twice = 0;
  for (std::size_t node = 0; node < size(); ++node) twice += sum_beside(of_pair, now_, node, {node, node + 1});
  return twice / 2;
}

/// Returns what a node has together with all nodes but some, each where it is now.
double Chain::sum_beside(OfPair of_pair, const Places& places, std::size_t node, Range but) const {
  double sum = 0;
  all_near(node, places.frame[node].origin, [&](std::size_t other) {
    if (!but.has(other)) sum += (this->*of_pair)(places, node, other);
    return true;
  });
  return sum;
}

double Chain::overlap_of_pair(const Places& places, std::size_t one, std::size_t other) const {
  if (are_neighbours(one, other)) return 0;
  const double least = square(model_.diameter);
  return sum_near(spheres_of(places, one), spheres_of(now_, other), model_.diameter, 0,
                  [&](std::size_t, std::size_t, double r2) { return 1 - r2 / least; });
}

double Chain::energy_of_pair(const Places& places, std::size_t one, std::size_t other) const {
  const double tails = has_tails(one) || has_tails(other) ? energy_of_tails(places, one, other) : 0;
  if (are_neighbours(one, other)) return tails;
  return tails + energy_between(charges_of(places, one), charges_of(now_, other), 0);
}

/// Returns the energy of the charges of two bodies, without so many at the beginning of groups of the first.
double Chain::energy_between(const Placed& one, const Placed& other, std::size_t without) const {
  const Screened& screened = model_.screened;
  return sum_near(one, other, screened.cutoff(), without, [&](std::size_t i, std::size_t j, double r2) {
    return one.cloud.values[i] * other.cloud.values[j] * screened(r2);
  });
}

}  // namespace tessera::fiber
