// Finds the force that tore an atom away, for the message of a run that blew up.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/md/bonded/tables.h"
#include "tessera/md/bonded/terms.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/pair/pair_forces.h"

namespace tessera::md {

/// The strongest of the forces on an atom, by the names that reports use.
struct StrongestForce {
  std::string term;                 // of forces that count to several terms, "lj_14 and coulomb_14"
  double force = -1;                // kcal/mol/Å
  std::vector<std::int64_t> atoms;  // of the strongest interaction of a bonded term; empty: of another
  std::int64_t partner = -1;  // the other atom of the strongest non-bonded pair; −1: the force is of another kind
  double distance_to_partner = 0;  // Å
  std::int64_t nearest = -1;       // the nearest atom that is not excluded; −1: none is within the cut-off
  double distance = 0;             // of that, Å

  /// Returns a phrase such as "the strongest force on it is lj, 3.1e+09 kcal/mol/Å (nearest non-bonded: atom 12 (ALA 2
  /// CB) at 0.213 Å)". A partner that is not the nearest is named, too.
  std::string describe(const model::System& system) const;
};

/// What forces are computed from.
struct ForceSources {
  const domain::Domain& domain;
  const bonded::LocalTerms& terms;
  const bonded::ForceTables& tables;
  const pair::PairForces& pair;
};

/// An atom as other ranks need it to compute their forces on it.
struct AtomInQuestion {
  std::int64_t id;
  Fraction position;
  std::int32_t type;
  double charge;  // e
};

/// The force of one source on an atom, as ranks tell each other; units of force_unit.
struct PartOfForce {
  std::int32_t source;  // kinds of bonded terms in their order, then those below
  std::array<double, 3> force;
  double strongest = 0;                                                  // of one interaction
  std::array<std::int64_t, 8> atoms = {-1, -1, -1, -1, -1, -1, -1, -1};  // of that, where it is of a bonded term
  double partner_distance2 = 0;  // of the other atom of that, where it is a non-bonded pair, Å²
  std::int64_t partner = -1;
  double distance2 = 1e30;  // of the nearest non-bonded atom, Å²
  std::int64_t nearest = -1;
};
enum class OtherSource : std::int32_t { lj, coulomb_real, external, restraint };

PartOfForce part_of(OtherSource source, const Vec3& force);

/// Computes in double precision what the terms of this rank and the pairs with its atoms, or with all that it knows, do
/// to an atom.
std::vector<PartOfForce> parts_of_force(const ForceSources& sources, const AtomInQuestion& atom, bool owned_alone);

/// Finds the strongest source in what one or all ranks have computed.
StrongestForce strongest_of(const std::vector<PartOfForce>& parts);

}  // namespace tessera::md
