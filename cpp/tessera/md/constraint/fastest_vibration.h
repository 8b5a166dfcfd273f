// Finds the fastest vibration that the constraints of a run leave, which limits its time step.
#pragma once

#include <optional>
#include <string>

#include "tessera/md/constraint/groups.h"

namespace tessera::md::constraint {

/// Describes a bond or an angle by its harmonic vibration alone.
struct Vibration {
  double period;     // ps
  std::string what;  // "the bond of O and H1 in residue TIP3"
};

/// Returns the vibration with the shortest period of all bonds and angles that are not rigid, each as if the rest of
/// the molecule stood still in its other coordinates: ω² = 2kG for a term k(q − q₀)² with Wilson's G (E. B. Wilson,
/// J. C. Decius, P. C. Cross, Molecular Vibrations, McGraw-Hill (1955), appendix VI). Nothing if there are none.
std::optional<Vibration> find_fastest_vibration(const model::System& system, ConstraintMode mode);

}  // namespace tessera::md::constraint
