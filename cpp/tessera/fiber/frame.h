// Places and orientations in space, and their rotations.
#pragma once

#include "tessera/base/math/elementary.h"
#include "tessera/base/vec3.h"

namespace tessera::fiber {

/// A rotation by its columns, the axes of what is turned.
struct Rotation {
  Vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
};

constexpr Vec3 operator*(const Rotation& r, const Vec3& v) { return v.x * r.x + v.y * r.y + v.z * r.z; }
constexpr Rotation operator*(const Rotation& a, const Rotation& b) { return {a * b.x, a * b.y, a * b.z}; }
constexpr Rotation transposed(const Rotation& r) {
  return {{r.x.x, r.y.x, r.z.x}, {r.x.y, r.y.y, r.z.y}, {r.x.z, r.y.z, r.z.z}};
}

/// An origin in Å and axes.
struct Frame {
  Vec3 origin;
  Rotation rotation;
};

/// Returns where a point of the frame is.
constexpr Vec3 operator*(const Frame& f, const Vec3& v) { return f.origin + f.rotation * v; }
/// Returns the second frame, which the first one sees, as the first is seen.
constexpr Frame operator*(const Frame& a, const Frame& b) { return {a * b.origin, a.rotation * b.rotation}; }
constexpr Frame inverse(const Frame& f) {
  const Rotation back = transposed(f.rotation);
  return {-(back * f.origin), back};
}

/// Returns the rotation about a unit vector by an angle whose sine and cosine these are (Rodrigues).
constexpr Rotation turn(const Vec3& axis, double sine, double cosine) {
  const auto turned = [&](const Vec3& v) {
    return cosine * v + sine * cross(axis, v) + ((1 - cosine) * dot(axis, v)) * axis;
  };
  return {turned({1, 0, 0}), turned({0, 1, 0}), turned({0, 0, 1})};
}

/// Returns the rotation about a unit vector by an angle in radians.
inline Rotation turn(const Vec3& axis, double angle) { return turn(axis, math::sin(angle), math::cos(angle)); }

/// Returns a frame turned about a point.
constexpr Frame turned_about(const Vec3& point, const Rotation& rotation, const Frame& f) {
  return {point + rotation * (f.origin - point), rotation * f.rotation};
}

/// Returns a rotation whose axes are again unit vectors at right angles, which many turns have made less so.
inline Rotation squared(const Rotation& r) {
  const Vec3 z = (1 / norm(r.z)) * r.z;
  Vec3 x = r.x - dot(r.x, z) * z;
  x *= 1 / norm(x);
  return {x, cross(z, x), z};
}

}  // namespace tessera::fiber
