// From rows of coordinates to the state in which an engine starts.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/app/system/system_file.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/state.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Throws InputError unless the ranks' rows hold each atom id once. Collective.
void check_every_atom_once(const comm::Communicator& comm, const CoordinateBlock& block, const model::System& system,
                           const std::string& path);
/// Rounds the velocity of an atom (Å/ps) to the engine's unit. Throws InputError where it is out of range.
md::Velocity rounded_velocity(const model::System& system, std::int64_t atom, const Vec3& velocity);
/// Converts the position of an atom (Å) to a fraction of the box. Throws InputError where it is so far away that its
/// place in the box is lost in rounding.
Fraction wrapped_position(const model::System& system, std::int64_t atom, const Vec3& position, const Box& box);
/// Returns the state at step 0 with the atoms of a rank's coordinate rows, velocities rounded to the engine's unit (zero where
/// the file has none). Throws InputError as rounded_velocity() does.
md::Snapshot make_start(const model::System& system, const CoordinateBlock& block);

}  // namespace tessera::app
