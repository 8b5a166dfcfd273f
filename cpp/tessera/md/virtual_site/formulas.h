// Where a virtual site is, and how the force on it acts on its parents.
//
// Formula: r = O + p₁X + p₂Y + p₃Z (model/virtual_site.h). A force F on the site does the work of the forces
//   Fᵢ = oᵢF + xᵢA + yᵢB on the parents, A and B the derivatives of r·F with respect to X and Y:
//
//   plain         A = p₁F + p₃ Y×F,  B = p₂F + p₃ F×X
//   orthonormal   with the unit vectors e₁ e₂ e₃ of the frame, d = r − O and the torque τ = d×F:
//                 A = [(τ·e₃)e₂ − (τ·e₂)e₃ − (τ·e₁)(Y·e₁)/(Y·e₂) e₃]/|X|,  B = (τ·e₁)/(Y·e₂) e₃
//
// For an orthonormal frame the site turns about O with the frame: a change of X turns it about e₂ and e₃, and what
// moves Y out of the plane turns it about e₁. Forces and torques of the parents sum to those of the site.
// Units: Å, kcal/mol/Å.
#pragma once

#include <span>

#include "tessera/base/vec3.h"
#include "tessera/model/virtual_site.h"

namespace tessera::md::virtual_site {

/// Returns the place of the site. `atoms` are the positions that the parents' indices refer to, in one frame near the
/// origin. Where the parents' positions leave a direction undetermined, returns O and sets `is_determined` to false.
Vec3 place(const model::VirtualSite& site, std::span<const Vec3> atoms, bool& is_determined);

/// Writes the forces on the parents, one for each, that do the work of `force` on the site. Their sum is `force` but
/// for rounding.
void spread(const model::VirtualSite& site, std::span<const Vec3> atoms, const Vec3& force, std::span<Vec3> on_parents);

}  // namespace tessera::md::virtual_site
