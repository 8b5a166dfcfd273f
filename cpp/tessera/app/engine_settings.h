// From what a run file says and the system it names to what the engine needs: every number chosen here and nowhere
// else.
#pragma once

#include <string>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::app {

struct SystemSource;

/// Reads the system of a run, with the masses that the run file asks for. Throws InputError.
model::System read_run_system(const SystemSource& source, const RunConfig& config);

/// Plans α, mesh, Coulomb constant and the rest. Throws InputError where the configuration does not fit the system.
md::EngineSettings plan_settings(const RunConfig& config, const model::System& system);
/// Returns the configuration with what these settings chose in place of "auto", and absolute paths: as a run file it
/// gives the same run from anywhere.
RunConfig in_effect(RunConfig config, const md::EngineSettings& settings);

struct CoordinateBlock;

/// Throws InputError unless the ranks' rows hold each atom id once. Collective.
void check_every_atom_once(const comm::Communicator& comm, const CoordinateBlock& block, const model::System& system,
                           const std::string& path);
/// Rounds the velocity of an atom (Å/ps) to the engine's unit. Throws InputError where it is out of range.
md::Velocity rounded_velocity(const model::System& system, std::int64_t atom, const Vec3& velocity);
/// Converts the position of an atom (Å) to a fraction of the box. Throws InputError where it is so far away that its
/// place in the box is lost in rounding.
Fraction wrapped_position(const model::System& system, std::int64_t atom, const Vec3& position, const Box& box);
/// Returns the state at step 0 with the atoms of a rank's coordinate rows, velocities rounded to the engine's unit
/// (zero where the file has none). Throws InputError as rounded_velocity() does.
md::Snapshot make_start(const model::System& system, const CoordinateBlock& block);

}  // namespace tessera::app
