// The heat bath and the pressure bath that a run file asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/md/integrate/baths/bath.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Throws InputError where the keys contradict each other or the system.
md::integrate::BathSettings bath_settings(const DynamicsConfig& dynamics, const model::System& system);

/// Returns the heat baths of the atoms. Throws InputError where an atom has none or several.
std::vector<md::integrate::HeatBath> heat_baths(const RunConfig& config, const model::System& system);

/// Describes a schedule: "300 K", or "100 K at 0 ps, 300 K at 20 ps".
std::string describe(const TimeSchedule& schedule, std::string_view unit);

/// Returns the entry of the bath that acts; nullptr: none.
const md::integrate::BathEntry* thermostat_of(const DynamicsConfig& dynamics);
const md::integrate::BathEntry* barostat_of(const DynamicsConfig& dynamics);

/// Tells whether a bath draws random numbers.
bool has_noise(const DynamicsConfig& dynamics);

/// Describes the baths in one line with its end, and those of some atoms in one line each.
std::string describe_baths(const RunConfig& config, const md::integrate::BathSettings& settings);

/// Returns a note for the user on baths that sample no ensemble; empty where they do.
std::string note_of_baths(const DynamicsConfig& dynamics);

}  // namespace tessera::app
