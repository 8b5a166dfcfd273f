#include "tessera/fiber/chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::fiber {

namespace {

constexpr double square(double x) { return x * x; }

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

/// Returns the largest distance at which two nodes see each other, Å.
double longest_reach(const Model& model, const std::vector<Cloud>& spheres, const std::vector<Cloud>& charges) {
  const auto extent = [](const std::vector<Cloud>& clouds) {
    double most = 0;
    for (const Cloud& cloud : clouds) most = std::max(most, cloud.extent);
    return most;
  };
  return std::max(2 * extent(spheres) + model.diameter, 2 * extent(charges) + model.screened.cutoff());
}

/// Sums value(i, j, r²) over the pairs of points of two bodies that are nearer than a distance.
template <class Value>
double sum_near(const Placed& one, const Placed& other, double distance, Value value) {
  const double furthest = square(distance);
  double sum = 0;
  all_near(one, other, distance, [&](const Group& first, const Group& second) {
    for (std::size_t i = first.first; i < first.last; ++i)
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
      now_{std::vector<Frame>(size()), {spheres_, model_.kind}, {charges_, model_.kind}},
      trial_(now_),
      cells_(longest_reach(model_, spheres_, charges_), size()),
      radius_(model_.radius) {}

void Chain::set(Places& places, std::size_t node, const Frame& frame) const {
  places.frame[node] = frame;
  places.spheres.place(node, spheres_[kind(node)], frame);
  places.charges.place(node, charges_[kind(node)], frame);
}

void Chain::place(std::size_t node, const Frame& frame) {
  set(now_, node, frame);
  cells_.place(node, frame.origin);
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
    const bool has_room = cells_.all_near(trial_.frame[node].origin, [&](std::size_t other) {
      return range.has(other) || are_neighbours(node, other) || !overlap(node, other);
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

/// Returns how far a node's spheres reach out of that of the model, Å.
double Chain::outside(const Places& places, std::size_t node) const {
  const double most = radius_ - model_.diameter / 2;
  const Placed spheres = spheres_of(places, node);
  if (norm(spheres.origin) + spheres.cloud.extent <= most) return 0;
  double furthest = most;
  for (std::size_t i = 0; i < spheres.cloud.points.size(); ++i) furthest = std::max(furthest, norm(spheres.points[i]));
  return furthest - most;
}

/// Returns whether spheres of a node on trial and of another one where it is overlap.
bool Chain::overlap(std::size_t one, std::size_t other) const {
  const double least = square(model_.diameter);
  const Placed a = spheres_of(trial_, one), b = spheres_of(now_, other);
  return !all_near(a, b, model_.diameter, [&](const Group& first, const Group& second) {
    for (std::size_t i = first.first; i < first.last; ++i)
      for (std::size_t j = second.first; j < second.last; ++j)
        if (norm2(a.points[i] - b.points[j]) < least) return false;
    return true;
  });
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

double Chain::screened_energy() const { return sum_of(&Chain::energy_of_pair); }

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
  cells_.all_near(places.frame[node].origin, [&](std::size_t other) {
    if (!but.has(other) && !are_neighbours(node, other)) sum += (this->*of_pair)(places, node, other);
    return true;
  });
  return sum;
}

double Chain::overlap_of_pair(const Places& places, std::size_t one, std::size_t other) const {
  const double least = square(model_.diameter);
  return sum_near(spheres_of(places, one), spheres_of(now_, other), model_.diameter,
                  [&](std::size_t, std::size_t, double r2) { return 1 - r2 / least; });
}

double Chain::energy_of_pair(const Places& places, std::size_t one, std::size_t other) const {
  const Screened& screened = model_.screened;
  const Placed a = charges_of(places, one), b = charges_of(now_, other);
  return sum_near(a, b, screened.cutoff(), [&](std::size_t i, std::size_t j, double r2) {
    return a.cloud.values[i] * b.cloud.values[j] * screened(r2);
  });
}

}  // namespace tessera::fiber
