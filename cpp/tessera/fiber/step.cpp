#include "tessera/fiber/step.h"

#include <cmath>
#include <limits>

#include "tessera/base/math/elementary.h"

namespace tessera::fiber {

StepEnergy step_energy(const Frame& first, const Frame& second, const Springs& springs) {
  const Rotation& a = first.rotation;
  const Rotation& b = second.rotation;
  const Vec3 middle = a.z + b.z;
  const double size = norm(middle);
  if (!(size > 1e-6)) return {std::numeric_limits<double>::infinity()};
  const Vec3 away = second.origin - first.origin;
  const double rise = dot(away, middle) / size, stretch = rise - springs.length;
  const double aside = norm2(away) - rise * rise;
  const double bend = 2 * math::asin(std::fmin(norm(b.z - a.z) / 2, 1.0));
  const double twist = math::atan2(dot(a.y, b.x) - dot(a.x, b.y), dot(a.x, b.x) + dot(a.y, b.y));
  return {springs.across * aside / 2, springs.along * stretch * stretch / 2, springs.bend * bend * bend / 2,
          springs.twist * twist * twist / 2};
}

Frame step_frame(const std::array<double, 6>& parameters) {
  const auto [shift, slide, rise, tilt, roll, twist] = parameters;
  const auto about_z = [](double angle) { return turn({0, 0, 1}, angle); };
  const double bend = std::sqrt(tilt * tilt + roll * roll), phase = math::atan2(tilt, roll);
  const Rotation half = turn({0, 1, 0}, bend / 2), begin = about_z(twist / 2 - phase);
  const Rotation middle = begin * half * about_z(phase);
  return {middle * Vec3{shift, slide, rise}, begin * half * half * about_z(twist / 2 + phase)};
}

}  // namespace tessera::fiber
