// The heat bath and the pressure bath that a run file asks for.
#pragma once

#include <string>
#include <string_view>

#include "tessera/app/config/run_config.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Throws InputError where the keys contradict each other or the system.
md::integrate::CouplingSettings coupling_settings(const DynamicsConfig& dynamics, const model::System& system);

/// "300 K", or "100 K at 0 ps, 300 K at 20 ps".
std::string describe(const TimeSchedule& schedule, std::string_view unit);

/// Tells whether a bath draws random numbers.
bool has_noise(const DynamicsConfig& dynamics);

/// Describes the baths in one line with its end.
std::string describe_baths(const DynamicsConfig& dynamics);

/// Returns a note for the user on baths that sample no ensemble; empty where they do.
std::string note_of_baths(const DynamicsConfig& dynamics);

}  // namespace tessera::app
