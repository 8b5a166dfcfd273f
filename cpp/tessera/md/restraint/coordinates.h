// The quantities of the centres of groups that restraints hold, with their gradients; a kind has a file, and an entry
// in coordinates.cpp.
#pragma once

#include <array>
#include <span>

#include "tessera/base/vec3.h"
#include "tessera/md/restraint/settings.h"

namespace tessera::md::restraint {

struct Coordinate {
  double value = 0;                // Å, rad
  std::array<Vec3, 4> gradient{};  // by centre, Å⁻¹ of it
};

/// Computes the distance of two centres. `places`: of the centres, Å, each near the one before.
Coordinate distance(std::span<const Vec3> places);
/// Computes the angle at the second centre, from 0 to π.
Coordinate angle(std::span<const Vec3> places);
/// Computes a dihedral from −π to π, 0 where the outer centres are on the same side (cis).
Coordinate dihedral(std::span<const Vec3> places);

/// Returns how far a coordinate of this kind is from its target: for dihedrals the nearest turn, from −π to π.
double difference(RestraintKind kind, double value, double target);

/// Computes the coordinate of a kind that has groups.
Coordinate compute(RestraintKind kind, std::span<const Vec3> places);

}  // namespace tessera::md::restraint
