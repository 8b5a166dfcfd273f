// Holds what changes in a run. A State is plain data: the box, the step and the atoms of this rank in their slots.
// Domain sorts the atoms into slots, Forces read the state, an Integrator moves it, and checkpoints hold it as a
// Snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/fixed_point.h"

namespace tessera::md {

/// A velocity in units of 2⁻²⁰ Å/ps has a range of ±2048 Å/ps and a resolution of 1e-6 Å/ps.
struct Velocity {
  std::int32_t x = 0, y = 0, z = 0;

  friend constexpr bool operator==(const Velocity&, const Velocity&) = default;
};
inline constexpr double velocity_unit = 1.0 / 1048576.0;  // Å/ps

/// Tells the time of the velocities relative to the positions of the same state. Each integrator declares its own, and
/// checkpoints record it.
enum class VelocityTime : std::int32_t { whole_step, half_step_before };

/// Holds the part of a state that belongs to all atoms and is the same on every rank.
struct GlobalState {
  Box box;         // current
  Box search_box;  // box at the last search, from which the cell grid follows
  std::int64_t step = 0, last_search = 0;
  VelocityTime velocity_time = VelocityTime::whole_step;
  std::map<std::string, std::vector<double>> coupling;  // variables of thermostats and barostats, by name
};

/// Holds values that a run adds to each atom, such as the reference of a restraint or a flag. They stay with their atom
/// through searches, moves to other ranks and checkpoints. All ranks have the same fields in the same order.
struct AtomField {
  std::string name;
  std::size_t width = 1;       // values per atom
  std::vector<double> values;  // (atoms, width)
};

/// Holds an atom as ranks, files and checkpoints exchange it.
struct Particle {
  std::int64_t id = -1;
  Fraction position;  // at the last search; it decides the cell and the order in the cell
  Velocity velocity;
  Fraction displacement;  // since the last search
};

/// Holds atoms without slots, in any order.
struct Particles {
  std::vector<Particle> atoms;
  std::vector<AtomField> fields;  // by atom

  std::size_t size() const { return atoms.size(); }
};

/// Holds a state without slots, for any subset of the atoms. Checkpoints, load balancing, trajectory writers and Python
/// exchange it.
struct Snapshot : GlobalState, Particles {};

/// Shows the atoms that a rank owns, by slot, as long as nobody asks for other things of theirs. Padding has the id −1.
struct OwnAtoms {
  std::int64_t n_atoms = 0;
  std::span<const std::int64_t> id;
  std::span<const Fraction> position, reference;  // reference: at the last search
  std::span<const Velocity> velocity;
  std::span<const std::int64_t> force;  // (slots,3) units of force_unit, as they were last computed
  std::span<const AtomField> fields;

  /// Returns the force on a slot, kcal/mol/Å.
  Vec3 force_on(std::size_t slot) const {
    const auto* f = &force[3 * slot];
    return {from_fixed(f[0], force_unit), from_fixed(f[1], force_unit), from_fixed(f[2], force_unit)};
  }
};

/// Holds the state of one rank. Its slots are clusters of four atoms in cells (domain/domain.h); owned cells come
/// first, then halo cells.
struct State : GlobalState {
  // These are indexed by slot, owned and halo.
  std::vector<std::int64_t> id;        // −1: padding
  std::vector<Fraction> position;      // halo slots: as last received
  std::vector<std::int32_t> molecule;  // template index of the atom's molecule
  std::vector<std::int32_t> local;     // index in the template
  std::vector<Velocity> velocity;      // halo slots: at the last search
  // These are indexed by owned slot.
  std::vector<Fraction> reference;  // position at the last search
  std::vector<AtomField> fields;

  std::size_t bytes() const;
  /// Returns what bytes() would be with so many slots and no fields.
  static std::size_t planned_bytes(std::int64_t slots, std::int64_t owned_slots);
};

}  // namespace tessera::md
