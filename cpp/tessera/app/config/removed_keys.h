// Keys that run files of earlier versions had. What says no more than what runs do anyway is ignored with a note, so that
// an old settings.toml can still be run; the rest is refused.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "tessera/app/config/errors.h"
#include "tessera/app/config/run_config.h"

namespace tessera::app {

/// Tells whether an earlier version had this key ("section.key").
bool is_removed(std::string_view full_name);

/// Adds an error for each such key of which the value asks for what is not there any more.
void check_removed(const RunConfig& config, Errors& errors);

/// Returns a note for each such key that is ignored.
std::set<std::string> notes_of_removed(const RunConfig& config);

/// Says which settings of a checkpoint asked for what is not there any more; empty where none did.
std::string describe_removed(const nlohmann::json& settings);

}  // namespace tessera::app
