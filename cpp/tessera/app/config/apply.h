// The parts of reading run files: what a parsed file and overrides do to a configuration.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "tessera/app/config/errors.h"
#include "tessera/app/config/run_config.h"
#include "tessera/app/config/schema.h"

namespace tessera::app {

/// Returns the text of a run file. Throws InputError where there is none, or it is too large to be one.
std::string text_of_run_file(const std::string& path);

/// Throws InputError with line and column where it is not TOML.
toml::table parse_toml(std::string_view text, const std::string& name);

/// Returns the defaults of a run file in this folder.
RunConfig default_config(const std::string& folder);

/// Sets all that a table of sections says. `stage`: the section of which the table is a row; its own keys are left out.
void apply_table(RunConfig& config, const Schema& schema, const toml::table& table, const std::string& name,
                 const std::string& folder, Errors& errors, const Section* stage = nullptr);

/// Sets what "section.key=value" says, or "section.NUMBER.key=value" where the section is repeated.
void apply_override(RunConfig& config, const Schema& schema, const std::string& text, Errors& errors);

/// Adds an error where values of several keys contradict each other, which no single key shows.
void check_together(const RunConfig& config, const std::string& name, Errors& errors);

}  // namespace tessera::app
