// Holds a constraint group to its distances while the energy is minimised. Motion has masses, minimisation has none:
// every atom counts alike, so that the projected force is the gradient of the energy along the moves that are left.
// Formulas and sources: constraint/shake.h, with equal masses. Units: Å.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tessera/md/constraint/shake.h"

namespace tessera::md::minimize {

/// One vector for each atom of a group; only the first ones are used.
using GroupVectors = std::array<Vec3, constraint::max_group_atoms>;

/// Returns the group with a mass of 1 for each of its atoms.
constraint::ConstraintGroup with_equal_masses(const constraint::ConstraintGroup& group);

/// Removes the part of the vectors that would change constrained distances. A group whose atoms lie so that this has no
/// solution gets zeros.
void project(const constraint::ConstraintGroup& group, std::span<const Vec3> position, std::span<Vec3> vector);

/// Moves the atoms by `displacement`, which is along the constraints, and onto them. `position` satisfies them. Where a
/// displacement is too large, it is halved; after some halvings the group stays where it is.
void move_along(const constraint::ConstraintGroup& group, std::span<Vec3> position, std::span<const Vec3> displacement,
                double tolerance);

/// Moves atoms from anywhere to constrained distances and changes little else; their centre stays. `id` of the first
/// atom chooses a direction where atoms coincide or lie in one line. Returns false where no such places were found.
[[nodiscard]] bool restore_distances(const constraint::ConstraintGroup& group, std::span<Vec3> position,
                                     std::int64_t id, double tolerance);

}  // namespace tessera::md::minimize
