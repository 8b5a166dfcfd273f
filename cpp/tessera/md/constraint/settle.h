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
/// unchanged if the molecule was torn so far that no correction exists.
[[nodiscard]] bool settle_positions(const SettleParameters&, const std::array<Vec3, 3>& before,
                                    std::array<Vec3, 3>& after);

}  // namespace tessera::md::constraint
