// Hydrogen-mass repartitioning: hydrogens get a part of the mass of the atom that they are bonded to, so that the
// fastest motions are slower and steps may be longer. Energies of configurations, and averages of them, stay what they
// are.
//
// Source: K. A. Feenstra, B. Hess, H. J. C. Berendsen, J. Comput. Chem. 20, 786 (1999),
// doi:10.1002/(SICI)1096-987X(199906)20:8<786::AID-JCC5>3.0.CO;2-B.
#pragma once

#include "tessera/model/system.h"

namespace tessera::model {

/// Returns whether an atom's element is hydrogen, which decides whether its bonds are constrained and its mass is
/// raised. Where an input has no elements, `tessera prepare` guesses them.
bool is_hydrogen(const Template& molecule, std::int32_t atom);

/// Sets the mass of every hydrogen (amu), at the cost of the atom it is bonded to. Rigid waters keep their masses.
/// Throws InputError that names an atom which would be left without mass.
void repartition_hydrogen_mass(System& system, double mass);

}  // namespace tessera::model
