// What changes in a run. A State is plain data: the box, the step, the atoms of this rank in their slots. Domain keeps
// the slots in order, Forces read the state, an Integrator moves it, checkpoints hold it as a Snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/box.h"

namespace tessera::md {

/// Velocity in units of 2⁻²⁰ Å/ps: range ±2048 Å/ps, resolution 1e-6 Å/ps.
struct Velocity {
  std::int32_t x = 0, y = 0, z = 0;

  friend constexpr bool operator==(const Velocity&, const Velocity&) = default;
};
inline constexpr double velocity_unit = 1.0 / 1048576.0;  // Å/ps

/// The time at which velocities stand, relative to the positions of the same state. An integrator says which one it
/// keeps, and a checkpoint holds it.
enum class VelocityTime : std::int32_t { whole_step, half_step_before };

/// What of a state is one for all atoms, the same on every rank.
struct GlobalState {
  Box box;         // now
  Box search_box;  // at the last search: the cell grid follows from it
  std::int64_t step = 0, last_search = 0;
  VelocityTime velocity_time = VelocityTime::whole_step;
  std::map<std::string, std::vector<double>> coupling;  // variables of thermostats and barostats, by name
};

/// Values that a run adds to each atom, such as the reference of a restraint or a flag. They go where their atom goes:
/// through searches, to other ranks, into checkpoints. All ranks have the same fields in the same order.
struct AtomField {
  std::string name;
  std::size_t width = 1;       // values an atom
  std::vector<double> values;  // (atoms, width)
};

/// An atom on its way between ranks, files and checkpoints.
struct Particle {
  std::int64_t id = -1;
  Fraction position;  // at the last search: it decides the cell and the order in the cell
  Velocity velocity;
  Fraction displacement;  // since the last search
};

/// Atoms outside slots, in any order.
struct Particles {
  std::vector<Particle> atoms;
  std::vector<AtomField> fields;  // by atom

  std::size_t size() const { return atoms.size(); }
};

/// A state outside slots: any share of the atoms. Checkpoints, balance, writers of trajectories and Python exchange it.
struct Snapshot : GlobalState, Particles {};

/// The state of one rank. Slots: clusters of four atoms in cells (domain/domain.h), owned cells first, then halo cells.
struct State : GlobalState {
  // By slot, owned and halo.
  std::vector<std::int64_t> id;        // −1: padding
  std::vector<Fraction> position;      // of halo slots: as last received
  std::vector<std::int32_t> molecule;  // template of the atom's molecule
  std::vector<std::int32_t> local;     // index in the template
  std::vector<Velocity> velocity;      // of halo slots: at the last search
  // By owned slot.
  std::vector<Fraction> reference;  // position at the last search
  std::vector<AtomField> fields;

  std::size_t bytes() const;
  /// The same with so many slots and no fields.
  static std::size_t planned_bytes(std::int64_t slots, std::int64_t owned_slots);
};

}  // namespace tessera::md
