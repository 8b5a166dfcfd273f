#include "tessera/fiber/chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::fiber {

namespace {

double square(double x) { return x * x; }

/// Returns the largest distance at which two nodes see each other, Å.
double longest_reach(const Model& model) {
  double spheres = 0, charges = 0;
  for (const Kind& kind : model.kinds) {
    for (const Vec3& sphere : kind.spheres) spheres = std::max(spheres, norm(sphere));
    for (const Charge& charge : kind.charges) charges = std::max(charges, norm(charge.place));
  }
  return std::max(2 * spheres + model.diameter, 2 * charges + model.screened.cutoff());
}

Model checked(Model model) {
  check(model);
  return model;
}

}  // namespace

Chain::Chain(Model model) : model_(checked(std::move(model))), cells_(longest_reach(model_), model_.size()), radius_(model_.radius) {
  for (const Kind& kind : model_.kinds) {
    Extent extent;
    for (const Vec3& sphere : kind.spheres) extent.spheres = std::max(extent.spheres, norm(sphere));
    for (const Charge& charge : kind.charges) extent.charges = std::max(extent.charges, norm(charge.place));
    extent.all = std::max(extent.spheres + model_.diameter / 2, extent.charges);
    extent_.push_back(extent);
  }
  std::size_t spheres = 0, charges = 0;
  for (std::size_t node = 0; node < size(); ++node) {
    first_sphere_.push_back(spheres);
    first_charge_.push_back(charges);
    spheres += kind(node).spheres.size();
    charges += kind(node).charges.size();
  }
  now_ = trial_ = {std::vector<Frame>(size()), std::vector<Vec3>(spheres), std::vector<Vec3>(charges)};
}

void Chain::set(Places& places, std::size_t node, const Frame& frame) const {
  places.frame[node] = frame;
  const Kind& own = kind(node);
  for (std::size_t i = 0; i < own.spheres.size(); ++i) places.spheres[first_sphere_[node] + i] = frame * own.spheres[i];
  for (std::size_t i = 0; i < own.charges.size(); ++i)
    places.charges[first_charge_[node] + i] = frame * own.charges[i].place;
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
  if (norm(places.frame[node].origin) + extents(node).spheres <= most) return 0;
  double furthest = most;
  const std::size_t first = first_sphere_[node];
  for (std::size_t i = first; i < first + kind(node).spheres.size(); ++i)
    furthest = std::max(furthest, norm(places.spheres[i]));
  return furthest - most;
}

/// Returns whether spheres of a node on trial and of another one where it is overlap.
bool Chain::overlap(std::size_t one, std::size_t other) const {
  const Vec3 &a = trial_.frame[one].origin, &b = now_.frame[other].origin;
  const double diameter = model_.diameter, reach = extents(other).spheres + diameter;
  if (norm2(a - b) >= square(extents(one).spheres + reach)) return false;
  const std::size_t begin = first_sphere_[other], end = begin + kind(other).spheres.size();
  for (std::size_t i = first_sphere_[one], last = i + kind(one).spheres.size(); i < last; ++i) {
    const Vec3& sphere = trial_.spheres[i];
    if (norm2(sphere - b) >= square(reach)) continue;
    for (std::size_t j = begin; j < end; ++j)
      if (norm2(sphere - now_.spheres[j]) < square(diameter)) return true;
  }
  return false;
}

double Chain::elastic_change(Range range) const {
  double change = 0;
  const auto add = [&](std::size_t at) {
    const Step& step = model_.steps[at];
    const Frame &first = (range.has(at) ? trial_ : now_).frame[at], &second = (range.has(at + 1) ? trial_ : now_).frame[at + 1];
    change += step_energy(first * step.exit, second * step.entry, step.springs).total() - energy_of_step(at).total();
  };
  if (range.first > 0) add(range.first - 1);
  if (range.last < size()) add(range.last - 1);
  return change;
}

double Chain::screened_change(Range range) {
  double change = 0;
  for (std::size_t node = range.first; node < range.last; ++node)
    change += energy_beside(trial_, node, range) - energy_beside(now_, node, range);
  return change;
}

double Chain::screened_energy() {
  double twice = 0;
  for (std::size_t node = 0; node < size(); ++node) twice += energy_beside(now_, node, {node, node + 1});
  return twice / 2;
}

/// Returns the energy of the charges of a node beside those of all nodes but some.
double Chain::energy_beside(const Places& places, std::size_t node, Range but) {
  double sum = 0;
  cells_.all_near(places.frame[node].origin, [&](std::size_t other) {
    if (!but.has(other) && !are_neighbours(node, other)) sum += energy_of_pair(places, node, other);
    return true;
  });
  return sum;
}

double Chain::energy_of_pair(const Places& places, std::size_t one, std::size_t other) {
  const double cutoff = model_.screened.cutoff();
  const Vec3 &a = places.frame[one].origin, &b = now_.frame[other].origin;
  if (norm2(a - b) >= square(extents(one).charges + extents(other).charges + cutoff)) return 0;
  find_near(places, one, b, extents(other).charges + cutoff, one_);
  find_near(now_, other, a, extents(one).charges + cutoff, other_);
  double sum = 0;
  for (std::size_t i = 0; i < one_.x.size(); ++i) {
    double own = 0;
    for (std::size_t j = 0; j < other_.x.size(); ++j) {
      const double x = one_.x[i] - other_.x[j], y = one_.y[i] - other_.y[j], z = one_.z[i] - other_.z[j];
      const double r2 = x * x + y * y + z * z;
      if (r2 < cutoff * cutoff) own += other_.value[j] * model_.screened(r2);
    }
    sum += one_.value[i] * own;
  }
  return sum;
}

void Chain::find_near(const Places& places, std::size_t node, const Vec3& centre, double distance, Near& found) const {
  found.clear();
  const auto& charges = kind(node).charges;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const Vec3& at = places.charges[first_charge_[node] + i];
    if (norm2(at - centre) >= square(distance)) continue;
    found.x.push_back(at.x), found.y.push_back(at.y), found.z.push_back(at.z);
    found.value.push_back(charges[i].value);
  }
}

}  // namespace tessera::fiber
