#include "tessera/fiber/tails.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/base/math/elementary.h"

namespace tessera::fiber {

namespace {

constexpr double widest = 6.0;  // deviations of a bond's length, beyond which none is drawn

/// Returns the angle at the middle one of three points.
double angle_of(const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 back = a - b, on = c - b;
  return math::atan2(norm(cross(back, on)), dot(back, on));
}

/// Returns a length from its distribution, r² exp(-k (r - l)²/2).
double drawn_length(const TailSprings& springs, double heat, Draws& draws) {
  const double spread = std::sqrt(heat / springs.stretch), most = springs.length + widest * spread;
  while (true) {
    const double r = springs.length + spread * draws.normal();
    if (r > 0 && r < most && square(r / most) > draws.uniform()) return r;
  }
}

/// Returns an angle from its distribution, sin θ exp(-k (θ - θ₀)²/2).
double drawn_angle(const TailSprings& springs, double heat, Draws& draws) {
  const double spread = std::sqrt(heat / springs.bend);
  while (true) {
    const double angle = spread > 1 ? std::numbers::pi * draws.uniform() : springs.angle + spread * draws.normal();
    if (!(angle > 0 && angle < std::numbers::pi)) continue;
    const double even = spread > 1 ? math::exp(-square((angle - springs.angle) / spread) / 2) : 1.0;
    if (even * math::sin(angle) > draws.uniform()) return angle;
  }
}

/// Returns how far the furthest bead of the tails that are there is from the origin.
double extent_of(const Cloud& beads) {
  double most2 = 0;
  for (const Group& group : beads.groups)
    for (std::size_t i = group.first; i < group.last; ++i) most2 = std::max(most2, norm2(beads.points[i]));
  return std::sqrt(most2);
}

}  // namespace

double elastic_energy(const TailSprings& springs, std::span<const Vec3> beads, std::size_t first, std::size_t last) {
  double twice = 0;
  for (std::size_t i = std::max(first, std::size_t{1}); i < std::min(last + 1, beads.size()); ++i)
    twice += springs.stretch * square(norm(beads[i] - beads[i - 1]) - springs.length);
  for (std::size_t i = std::max(first, std::size_t{2}); i < std::min(last + 2, beads.size()); ++i)
    twice += springs.bend * square(angle_of(beads[i - 2], beads[i - 1], beads[i]) - springs.angle);
  return twice / 2;
}

Vec3 drawn_bead(const TailSprings& springs, std::span<const Vec3> before, double heat, Draws& draws) {
  const double length = drawn_length(springs, heat, draws);
  const Vec3 direction = draws.direction();
  if (before.size() < 2) return before.back() + length * direction;
  const Vec3 bond = before[before.size() - 2] - before.back();
  const Vec3 along = (1 / norm(bond)) * bond;
  Vec3 across = direction - dot(direction, along) * along;
  across *= 1 / norm(across);
  const double angle = drawn_angle(springs, heat, draws);
  return before.back() + length * (math::cos(angle) * along + math::sin(angle) * across);
}

Cloud cloud_of(const std::vector<Tail>& tails) {
  Cloud beads;
  for (const Tail& tail : tails) {
    beads.groups.push_back({beads.values.size(), beads.values.size(), {}, 0});
    beads.values.insert(beads.values.end(), tail.charges.begin(), tail.charges.end());
  }
  beads.points.resize(beads.values.size());
  return beads;
}

void set_tail(Cloud& beads, std::size_t tail, std::span<const Vec3> places) {
  Group& group = beads.groups[tail];
  std::copy(places.begin(), places.end(), beads.points.begin() + static_cast<std::ptrdiff_t>(group.first));
  group.middle = {};
  for (const Vec3& place : places) group.middle += place;
  group.middle *= 1.0 / static_cast<double>(places.size());
  group.radius = 0;
  for (const Vec3& place : places) group.radius = std::max(group.radius, norm(place - group.middle));
  show_tail(beads, tail, places.size());
}

void hide_tail(Cloud& beads, std::size_t tail) { beads.groups[tail].last = beads.groups[tail].first; }

void show_tail(Cloud& beads, std::size_t tail, std::size_t size) {
  beads.groups[tail].last = beads.groups[tail].first + size;
  beads.extent = extent_of(beads);
}

}  // namespace tessera::fiber
