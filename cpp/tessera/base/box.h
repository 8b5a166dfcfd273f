// Positions as integer fractions of the box, and the box that gives them length.
//
// A position is three int32 fractions: r = H·f·2⁻³², H the matrix whose columns are the box vectors a, b, c. Wrapping
// into the box and the nearest image are integer overflow, so differences are exact anywhere in a box of any size
// (a 2000 Å box resolves 5e-7 Å) and do not depend on which rank computes them.
//
// The difference of two fractions is the nearest image along each box vector. It is the nearest image of all if it is
// shorter than half of the least height of the box: a vector that is changed by whole box vectors passes at least one
// pair of opposite faces and is then longer. Boxes whose vectors are as short as possible (reduced ones) have the
// greatest heights. Where vectors are orthogonal, all terms beyond the diagonal are products with zero, so that sums
// keep the bits that they have without these terms.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "tessera/base/math/elementary.h"
#include "tessera/base/vec3.h"

namespace tessera {

/// A position: fractions of the three box vectors in units of 2⁻³², in [−½, ½) of the box.
struct Fraction {
  std::int32_t x = 0, y = 0, z = 0;

  constexpr Vec3 units() const { return {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)}; }
  friend constexpr bool operator==(const Fraction&, const Fraction&) = default;
};

/// Returns a − b in the nearest image (along each box vector), by integer overflow.
constexpr Fraction operator-(const Fraction& a, const Fraction& b) {
  const auto subtract = [](std::int32_t p, std::int32_t q) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(p) - static_cast<std::uint32_t>(q));
  };
  return {subtract(a.x, b.x), subtract(a.y, b.y), subtract(a.z, b.z)};
}

/// Returns a + b, wrapped into the box.
constexpr Fraction operator+(const Fraction& a, const Fraction& b) {
  const auto add = [](std::int32_t p, std::int32_t q) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(p) + static_cast<std::uint32_t>(q));
  };
  return {add(a.x, b.x), add(a.y, b.y), add(a.z, b.z)};
}

/// One unit of a fraction, in box vectors.
inline constexpr double fraction_unit = 1.0 / 4294967296.0;

/// A matrix without elements below its diagonal: the box vectors are its columns, and every deformation that turns a
/// box into another is one.
struct Triangular {
  double xx = 1, yy = 1, zz = 1, xy = 0, xz = 0, yz = 0;

  constexpr Vec3 operator*(const Vec3& r) const {
    return {xx * r.x + xy * r.y + xz * r.z, yy * r.y + yz * r.z, zz * r.z};
  }
};

constexpr Triangular inverse(const Triangular& m) {
  const double x = 1 / m.xx, y = 1 / m.yy, z = 1 / m.zz;
  return {x, y, z, -m.xy * x * y, (m.xy * m.yz - m.xz * m.yy) * x * y * z, -m.yz * y * z};
}

/// The same matrix in single precision, which takes units of a fraction.
struct SingleTriangular {
  float xx, yy, zz, xy, xz, yz;

  explicit SingleTriangular(const Triangular& m)
      : xx(static_cast<float>(m.xx)),
        yy(static_cast<float>(m.yy)),
        zz(static_cast<float>(m.zz)),
        xy(static_cast<float>(m.xy)),
        xz(static_cast<float>(m.xz)),
        yz(static_cast<float>(m.yz)) {}

  std::array<float, 3> operator*(const std::array<float, 3>& r) const {
    return {xx * r[0] + xy * r[1] + xz * r[2], yy * r[1] + yz * r[2], zz * r[2]};
  }
  std::array<float, 3> operator*(const Fraction& f) const {
    return *this * std::array{static_cast<float>(f.x), static_cast<float>(f.y), static_cast<float>(f.z)};
  }
};

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
  /// Returns α between b and c, β between a and c, γ between a and b, in degrees; 90 exactly where these are
  /// orthogonal.
  std::array<double, 3> angles() const {
    const auto degrees = [](const Vec3& p, const Vec3& q) {
      const double lengths = norm(p) * norm(q);
      return lengths > 0 ? 90.0 - math::asin(dot(p, q) / lengths) * (180.0 / std::numbers::pi) : 90.0;
    };
    return {degrees(b_, c_), degrees(a_, c_), degrees(a_, b_)};
  }
  /// Returns the distances of opposite faces, Å, in the order of the vectors that join them; edges where these are
  /// orthogonal.
  std::array<double, 3> heights() const {
    const double bx = b_.x / b_.y, cy = c_.y / c_.z, cx = (b_.x * c_.y - b_.y * c_.x) / (b_.y * c_.z);
    return {a_.x / std::sqrt(1 + bx * bx + cx * cx), b_.y / std::sqrt(1 + cy * cy), c_.z};
  }
  /// Returns the matrix that turns units of a fraction into a Cartesian vector, Å.
  Triangular unit_vectors() const {
    constexpr double u = fraction_unit;
    return {u * a_.x, u * b_.y, u * c_.z, u * b_.x, u * c_.x, u * c_.y};
  }
  /// Returns the box of one cell where this box is cut into n cells along each vector.
  Box divided(const std::array<std::int64_t, 3>& n) const {
    const auto part = [](const Vec3& v, std::int64_t by) {
      const auto count = static_cast<double>(by);
      return Vec3{v.x / count, v.y / count, v.z / count};
    };
    return {part(a_, n[0]), part(b_, n[1]), part(c_, n[2])};
  }

  /// Returns the Cartesian vector of a fraction, Å.
  Vec3 cartesian(const Fraction& f) const {
    const double x = f.x * fraction_unit, y = f.y * fraction_unit, z = f.z * fraction_unit;
    return {a_.x * x + b_.x * y + c_.x * z, b_.y * y + c_.y * z, c_.z * z};
  }

  /// Returns the vector from `from` to `to` in the nearest image along each box vector, Å.
  Vec3 displacement(const Fraction& from, const Fraction& to) const { return cartesian(to - from); }

  /// Returns the fraction nearest to a Cartesian vector (Å), wrapped into the box.
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

/// Returns the deformation that turns the vectors of a box into those of another.
inline Triangular deformation(const Box& from, const Box& to) {
  const auto &a = from.a(), &b = from.b(), &c = from.c();
  Triangular m;
  m.xx = to.a().x / a.x;
  m.yy = to.b().y / b.y;
  m.zz = to.c().z / c.z;
  m.xy = (to.b().x - m.xx * b.x) / b.y;
  m.yz = (to.c().y - m.yy * c.y) / c.z;
  m.xz = (to.c().x - m.xx * c.x - m.xy * c.y) / c.z;
  return m;
}

/// Returns a lower bound of the factor by which a deformation changes a length. It is exact (the least diagonal
/// element) for a diagonal matrix, and at most too small by the norm of the other elements.
inline double least_stretch(const Triangular& m) {
  return std::min({m.xx, m.yy, m.zz}) - std::sqrt(m.xy * m.xy + m.xz * m.xz + m.yz * m.yz);
}

/// Returns a box whose vectors are those of `box`, stretched by a factor along each Cartesian axis.
inline Box stretched(const Box& box, const std::array<double, 3>& by) {
  const auto stretch = [&](const Vec3& v) { return Vec3{by[0] * v.x, by[1] * v.y, by[2] * v.z}; };
  return {stretch(box.a()), stretch(box.b()), stretch(box.c())};
}

/// Returns the box with edges x, y and z (Å) along the axes.
inline Box orthorhombic(double x, double y, double z) { return {{x, 0, 0}, {0, y, 0}, {0, 0, z}}; }

}  // namespace tessera
