// Represents constrained atoms one group at a time, for the start of a run (steps use integrate/half_step.h).
// RigidWater and BondGroup have the same interface, so that one loop serves both; they are two types, because the
// compiler then knows that a water has three atoms.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "tessera/base/box.h"
#include "tessera/md/constraint/settle.h"
#include "tessera/md/constraint/shake.h"

namespace tessera::md::constraint {

struct RigidWater {
  using Vectors = std::array<Vec3, 3>;  // one for each of `slots`
  static constexpr std::string_view too_far = "belongs to a water too far from its rigid shape";

  const SettleParameters& kind;
  std::span<const std::int32_t, 3> slots;

  [[nodiscard]] bool correct_positions(const Vectors& before, Vectors& after, double /*tolerance*/) const {
    return settle_positions(kind, before, after);
  }
};

struct BondGroup {
  using Vectors = std::array<Vec3, max_group_atoms>;  // only the first ones are used, one for each of `slots`
  static constexpr std::string_view too_far = "has bonds too far from their lengths";

  const ConstraintGroup& kind;
  std::span<const std::int32_t> slots;

  [[nodiscard]] bool correct_positions(const Vectors& before, Vectors& after, double tolerance) const {
    return shake_positions(kind, std::span(before).first(slots.size()), std::span(after).first(slots.size()),
                           tolerance);
  }
};

/// Returns `get` of each slot.
template <class Atoms, class Get>
typename Atoms::Vectors collect(const Atoms& atoms, Get&& get) {
  typename Atoms::Vectors vectors;
  for (std::size_t k = 0; k < atoms.slots.size(); ++k) vectors[k] = get(atoms.slots[k]);
  return vectors;
}

/// Returns the positions relative to the first atom, Å.
template <class Atoms>
typename Atoms::Vectors places(const Atoms& atoms, const Box& box, std::span<const Fraction> position) {
  const auto first = position[static_cast<std::size_t>(atoms.slots[0])];
  return collect(atoms,
                 [&](std::int32_t slot) { return box.displacement(first, position[static_cast<std::size_t>(slot)]); });
}

}  // namespace tessera::md::constraint
