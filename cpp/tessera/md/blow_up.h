// Finds the force that tore an atom away, for the message of a run that blew up.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/md/bonded/tables.h"
#include "tessera/md/bonded/terms.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/pair_forces.h"

namespace tessera::md {

/// Returns a phrase such as "the strongest force on it is lj, 3.1e+09 kcal/mol/Å (nearest: atom 12 (ALA 2 CB) at 0.213
/// Å)". It evaluates every term of this rank that acts on the owned atom, in double precision; `external` is what
/// functions of the user added to it last, kcal/mol/Å, as these can't be called once more.
std::string find_strongest_force(const domain::Domain& domain, const bonded::LocalTerms& terms,
                                 const bonded::ForceTables& tables, const pair::PairForces& pair, std::int32_t slot,
                                 const Vec3& external);

}  // namespace tessera::md
