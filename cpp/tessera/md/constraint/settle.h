// Implements SETTLE, which restores the shape of a rigid three-site water in closed form.
//
// Formula: two tilts and a rotation of the canonical triangle about its centre of mass are found from the unconstrained
//   positions; the displacements lie in the plane of the molecule before the step and conserve both momenta.
// Source: Miyamoto, Kollman, J. Comput. Chem. 13, 952 (1992), 10.1002/jcc.540130805; velocities are left to RATTLE
//   (shake.h), whose equations for the three constraints are linear.
// Units: Å, amu.
// Cost: six square roots, no iteration.
// This version computes one water at a time. The start of a run uses it, and tests compare settle-inl.h with it, which
// has one water per lane.
#pragma once

#include <array>
#include <cmath>

#include "tessera/base/vec3.h"

namespace tessera::md::constraint {

/// Holds the canonical triangle, as make_settle() computes it. Atoms are in the order O, H, H.
struct SettleParameters {
  double oh = 0, hh = 0;                     // Å
  double weight_o = 0, weight_h = 0;         // share of the molecule's mass
  double centre_to_o = 0, centre_to_hh = 0;  // Å, along the axis of symmetry
  double half_hh = 0;                        // Å

  friend bool operator==(const SettleParameters&, const SettleParameters&) = default;
};

/// Throws InputError unless masses and distances are positive and form a triangle.
SettleParameters make_settle(double mass_o, double mass_h, double oh, double hh);

/// Corrects the unconstrained new positions `after` in place. `before` holds positions that satisfy the constraints,
/// whose bonds are the directions of the corrections; both are in the same frame. Returns false and leaves `after`
/// unchanged if the molecule was torn so far that no correction exists. Devices compute it, too.
[[nodiscard]] constexpr bool settle_positions(const SettleParameters& p, const std::array<Vec3, 3>& before,
                                              std::array<Vec3, 3>& after) {
  // All positions are relative to the oxygen or the centre of mass, so that no digits are lost to the molecule's place.
  const Vec3 b0 = before[1] - before[0], c0 = before[2] - before[0];
  const Vec3 from_o_to_b = after[1] - after[0], from_o_to_c = after[2] - after[0];
  const Vec3 from_o_to_centre = p.weight_h * (from_o_to_b + from_o_to_c);
  const Vec3 a1 = -from_o_to_centre, b1 = from_o_to_b - from_o_to_centre, c1 = from_o_to_c - from_o_to_centre;

  // The frame is that of the paper: z is normal to the old plane, and y is the direction of the new oxygen within that
  // plane.
  Vec3 z = cross(b0, c0);
  Vec3 x = cross(a1, z);
  Vec3 y = cross(z, x);
  const double x2 = norm2(x), z2 = norm2(z);
  if (!(x2 > 0 && z2 > 0)) return false;
  z *= 1 / std::sqrt(z2);
  x *= 1 / std::sqrt(x2);
  y *= 1 / std::sqrt(norm2(y));

  const double b0x = dot(x, b0), b0y = dot(y, b0), c0x = dot(x, c0), c0y = dot(y, c0);
  const double a1z = dot(z, a1);
  const double b1x = dot(x, b1), b1y = dot(y, b1), b1z = dot(z, b1);
  const double c1x = dot(x, c1), c1y = dot(y, c1), c1z = dot(z, c1);

  // The molecule tilts out of the plane, according to the heights of the atoms after the unconstrained step.
  const double sin_phi = a1z / p.centre_to_o, cos2_phi = 1 - sin_phi * sin_phi;
  if (!(cos2_phi > 0)) return false;
  const double cos_phi = std::sqrt(cos2_phi);
  const double sin_psi = (b1z - c1z) / (2 * p.half_hh * cos_phi), cos2_psi = 1 - sin_psi * sin_psi;
  if (!(cos2_psi > 0)) return false;
  const double cos_psi = std::sqrt(cos2_psi);

  const double a2y = p.centre_to_o * cos_phi;
  const double b2x = -p.half_hh * cos_psi;
  const double down = -p.centre_to_hh * cos_phi, lean = p.half_hh * sin_psi * sin_phi;
  const double b2y = down - lean, c2y = down + lean;

  // The rotation in the plane conserves angular momentum: α sin θ + β cos θ = γ.
  const double alpha = b2x * (b0x - c0x) + b0y * b2y + c0y * c2y;
  const double beta = b2x * (c0y - b0y) + b0x * b2y + c0x * c2y;
  const double gamma = b0x * b1y - b1x * b0y + c0x * c1y - c1x * c0y;
  const double length2 = alpha * alpha + beta * beta, root2 = length2 - gamma * gamma;
  if (!(root2 >= 0 && length2 > 0)) return false;
  // The cosine follows from the same α, β and γ without 1 − sin², which would lose digits for a large rotation.
  const double root = std::sqrt(root2);
  const double sin_theta = (alpha * gamma - beta * root) / length2;
  const double cos_theta = (beta * gamma + alpha * root) / length2;

  const Vec3 centre = after[0] + from_o_to_centre;
  const auto placed = [&](double px, double py, double pz) { return centre + (px * x + py * y + pz * z); };
  const Vec3 o = placed(-a2y * sin_theta, a2y * cos_theta, a1z);
  const Vec3 h1 = placed(b2x * cos_theta - b2y * sin_theta, b2x * sin_theta + b2y * cos_theta, b1z);
  const Vec3 h2 = placed(-b2x * cos_theta - c2y * sin_theta, -b2x * sin_theta + c2y * cos_theta, c1z);
  after = {o, h1, h2};
  return true;
}

}  // namespace tessera::md::constraint
