#include "tessera/md/virtual_site/formulas.h"

#include <cmath>

namespace tessera::md::virtual_site {

namespace {

/// Squares of lengths (Å²) and of sines below this leave a direction undetermined.
constexpr double least_square = 1e-10;

struct Axes {
  Vec3 origin, x, y;  // O, X, Y
};

Axes axes_of(const model::VirtualSite& site, std::span<const Vec3> atoms) {
  Axes axes;
  for (const auto& parent : site.parents) {
    const auto& r = atoms[static_cast<std::size_t>(parent.atom)];
    axes.origin += parent.origin * r;
    axes.x += parent.x * r;
    axes.y += parent.y * r;
  }
  return axes;
}

/// The unit vectors of an orthonormal frame; e2 and e3 only where the site needs its plane.
struct UnitVectors {
  Vec3 e1, e2, e3;
  double length_x = 0;
  bool is_determined = true;
};

UnitVectors unit_vectors(const model::VirtualSite& site, const Axes& axes) {
  UnitVectors unit, undetermined;
  undetermined.is_determined = false;
  const double x2 = norm2(axes.x);
  if (!(x2 > least_square)) return undetermined;
  unit.length_x = std::sqrt(x2);
  unit.e1 = (1 / unit.length_x) * axes.x;
  if (!site.has_plane()) return unit;
  const Vec3 z = cross(axes.x, axes.y);
  const double z2 = norm2(z);
  if (!(z2 > least_square * x2) || !(z2 > least_square * x2 * norm2(axes.y))) return undetermined;
  unit.e3 = (1 / std::sqrt(z2)) * z;
  unit.e2 = cross(unit.e3, unit.e1);
  return unit;
}

}  // namespace

Vec3 place(const model::VirtualSite& site, std::span<const Vec3> atoms, bool& is_determined) {
  const auto axes = axes_of(site, atoms);
  const auto& [p1, p2, p3] = site.position;
  if (site.frame == model::SiteFrame::none) return axes.origin;
  if (site.frame == model::SiteFrame::plain)
    return axes.origin + p1 * axes.x + p2 * axes.y + p3 * cross(axes.x, axes.y);
  const auto unit = unit_vectors(site, axes);
  is_determined &= unit.is_determined;
  return axes.origin + p1 * unit.e1 + p2 * unit.e2 + p3 * unit.e3;
}

void spread(const model::VirtualSite& site, std::span<const Vec3> atoms, const Vec3& force,
            std::span<Vec3> on_parents) {
  const auto n = site.parents.size();
  if (site.frame == model::SiteFrame::none) {
    for (std::size_t i = 0; i < n; ++i) on_parents[i] = site.parents[i].origin * force;
    return;
  }
  const auto axes = axes_of(site, atoms);
  const auto& [p1, p2, p3] = site.position;
  Vec3 on_x, on_y;
  if (site.frame == model::SiteFrame::plain) {
    on_x = p1 * force + p3 * cross(axes.y, force);
    on_y = p2 * force + p3 * cross(force, axes.x);
  } else if (const auto unit = unit_vectors(site, axes); unit.is_determined) {
    if (site.has_plane()) {
      const Vec3 torque = cross(p1 * unit.e1 + p2 * unit.e2 + p3 * unit.e3, force);
      const double y1 = dot(axes.y, unit.e1), y2 = dot(axes.y, unit.e2), about_1 = dot(torque, unit.e1) / y2;
      on_x = (1 / unit.length_x) * (dot(torque, unit.e3) * unit.e2 - (dot(torque, unit.e2) + about_1 * y1) * unit.e3);
      on_y = about_1 * unit.e3;
    } else {
      on_x = (p1 / unit.length_x) * (force - dot(force, unit.e1) * unit.e1);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto& parent = site.parents[i];
    on_parents[i] = parent.origin * force + parent.x * on_x + parent.y * on_y;
  }
}

}  // namespace tessera::md::virtual_site
