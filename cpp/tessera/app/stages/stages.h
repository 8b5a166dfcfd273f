// What the root does for a run in stages: how far they are, whether all of them can run, and what came of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/app/stages/protocol.h"

namespace tessera::app {

/// Finds from the checkpoints of the stages where to go on: the number of the first stage that is not done, which is
/// that of stages where all are, and 1 if it has a checkpoint, else 0. A minimisation is done if it has one. A stage
/// that did not start from the end of the one above, as that is now, has not begun. Throws InputError where a stage
/// that is done had other settings.
std::array<std::int64_t, 2> find_place(const std::vector<Stage>& stages);

/// Throws InputError where a folder of a stage holds an earlier run that may not be moved away.
void check_folders(const std::vector<Stage>& stages);

/// Throws InputError where a stage from this one on could not run on so many ranks, as far as that is known before the
/// stages above are done.
void check_stages(const std::vector<Stage>& stages, std::size_t first, bool is_restart, int ranks);

/// Returns a table with the length, speed, temperature and density of each stage, or its energy and greatest force
/// where it minimises, from its report.json.
std::string table_of_stages(const std::vector<Stage>& stages);

}  // namespace tessera::app
