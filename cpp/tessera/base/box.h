// Positions as integer fractions of the box, and the box that gives them length.
//
// A position is three int32 fractions: r = H·f·2⁻³², H the matrix whose columns are the box vectors a, b, c. Wrapping
// into the box and the nearest image are integer overflow, so differences are exact anywhere in a box of any size
// (a 2000 Å box resolves 5e-7 Å) and do not depend on which rank computes them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "tessera/base/vec3.h"

namespace tessera {

/// A position: fractions of the three box vectors in units of 2⁻³², in [−½, ½) of the box.
struct Fraction {
  std::int32_t x = 0, y = 0, z = 0;

  friend constexpr bool operator==(const Fraction&, const Fraction&) = default;
};

/// a − b in the nearest image (along each box vector), by integer overflow.
constexpr Fraction operator-(const Fraction& a, const Fraction& b) {
  const auto subtract = [](std::int32_t p, std::int32_t q) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(p) - static_cast<std::uint32_t>(q));
  };
  return {subtract(a.x, b.x), subtract(a.y, b.y), subtract(a.z, b.z)};
}

/// a + b, wrapped into the box.
constexpr Fraction operator+(const Fraction& a, const Fraction& b) {
  const auto add = [](std::int32_t p, std::int32_t q) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(p) + static_cast<std::uint32_t>(q));
  };
  return {add(a.x, b.x), add(a.y, b.y), add(a.z, b.z)};
}

/// One unit of a fraction, in box vectors.
inline constexpr double fraction_unit = 1.0 / 4294967296.0;

/// The box: lower triangular vectors a = (ax,0,0), b = (bx,by,0), c = (cx,cy,cz), Å.
class Box {
 public:
  Box() = default;
  Box(const Vec3& a, const Vec3& b, const Vec3& c) : a_(a), b_(b), c_(c) {}

  const Vec3& a() const { return a_; }
  const Vec3& b() const { return b_; }
  const Vec3& c() const { return c_; }
  double volume() const { return a_.x * b_.y * c_.z; }  // Å³
  bool is_orthorhombic() const { return b_.x == 0 && c_.x == 0 && c_.y == 0; }
  std::array<double, 3> edges() const { return {norm(a_), norm(b_), norm(c_)}; }  // Å
  /// What one unit of a fraction is long along each edge, Å.
  Vec3 unit_lengths() const { return fraction_unit * Vec3{norm(a_), norm(b_), norm(c_)}; }

  /// The Cartesian vector of a fraction, Å.
  Vec3 cartesian(const Fraction& f) const {
    const double x = f.x * fraction_unit, y = f.y * fraction_unit, z = f.z * fraction_unit;
    return {a_.x * x + b_.x * y + c_.x * z, b_.y * y + c_.y * z, c_.z * z};
  }

  /// The vector from `from` to `to` in the nearest image, Å.
  Vec3 displacement(const Fraction& from, const Fraction& to) const { return cartesian(to - from); }

  /// The fraction nearest to a Cartesian vector (Å), wrapped into the box.
  Fraction fraction(const Vec3& r) const {
    const double z = r.z / c_.z;
    const double y = (r.y - c_.y * z) / b_.y;
    const double x = (r.x - b_.x * y - c_.x * z) / a_.x;
    return {wrapped(x), wrapped(y), wrapped(z)};
  }

  friend bool operator==(const Box& p, const Box& q) {
    return norm2(p.a_ - q.a_) == 0 && norm2(p.b_ - q.b_) == 0 && norm2(p.c_ - q.c_) == 0;
  }

 private:
  static std::int32_t wrapped(double fraction) {
    const double turns = fraction - std::floor(fraction + 0.5);  // [−½, ½)
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(std::llrint(turns / fraction_unit)));
  }

  Vec3 a_{1, 0, 0}, b_{0, 1, 0}, c_{0, 0, 1};
};

/// The box with edges x, y and z (Å) along the axes.
inline Box orthorhombic(double x, double y, double z) { return {{x, 0, 0}, {0, y, 0}, {0, 0, z}}; }

}  // namespace tessera
