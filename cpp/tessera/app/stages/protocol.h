// The stages of a run file: one configuration for each.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/app/config/run_config.h"

namespace tessera::app {

/// A run whose configuration is complete: input.start is the folder of the stage above, output.folder its own.
struct Stage {
  std::string name;
  RunConfig config;
};

struct Protocol {
  RunConfig config;           // outside of stages: of a file without stages, its run
  std::vector<Stage> stages;  // in their order
};

/// Reads a run file with or without stages. A stage has the settings of the one above and its own; dynamics.velocities
/// is "auto" and dynamics.seed one more than above where a stage does not set them. Overrides hold for all stages;
/// "stage.NAME.section.key=value" holds for one and those below. Throws one InputError that lists everything wrong.
Protocol read_protocol(const std::string& path, const std::vector<std::string>& overrides = {});

/// Parses a protocol from a text; messages call the file `name`, and paths are relative to `folder`.
Protocol parse_protocol(std::string_view text, const std::string& name, const std::string& folder,
                        const std::vector<std::string>& overrides = {});

/// Returns the notes of all stages on keys that are ignored (config/removed_keys.h).
std::set<std::string> notes_of_removed(const Protocol& protocol);

/// Lists the settings in which a stage differs from another configuration, as TOML: "dynamics.steps = 500, …".
/// Folders and starts, which differ always, are left out.
std::vector<std::string> list_differences(const RunConfig& stage, const RunConfig& above);

}  // namespace tessera::app
