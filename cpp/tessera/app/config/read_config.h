// Reads a run file and `--set` overrides into a checked RunConfig, and writes one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/app/config/run_config.h"
#include "tessera/app/config/schema.h"

namespace tessera::app {

/// Reads a run file from text, then applies the overrides ("section.key=value", the value as in TOML, text without
/// quotes too; "section.0.key=value" for the first of a section that is repeated).
/// Messages call the file `name`. Its paths are relative to `folder`, paths in overrides to the working directory.
/// Throws one InputError that lists everything wrong: not TOML (line and column), unknown sections and keys (with the
/// nearest known one), wrong types, values out of range, values that contradict each other.
RunConfig parse_run_text(std::string_view text, const std::string& name, const std::string& folder,
                         const std::vector<std::string>& overrides = {});

/// Reads text into a configuration that this schema serves, each value checked by itself alone.
void read_run_text(RunConfig& config, const Schema& schema, std::string_view text, const std::string& name,
                   const std::string& folder, const std::vector<std::string>& overrides = {});

/// Returns defaults and overrides alone, for commands that take a system file and no run file.
RunConfig config_of_system(const std::string& system_path, const std::vector<std::string>& overrides = {});

/// Writes the configuration in effect, every key; reading it back from the working directory gives the same.
std::string to_toml(const RunConfig& config, const Schema& schema = run_schema());
nlohmann::json to_json(const RunConfig& config, const Schema& schema = run_schema());

}  // namespace tessera::app
