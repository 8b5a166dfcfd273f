// Sizes that a user gives from which memory follows, whatever atoms there are: cells of the box, points of the mesh.
#pragma once

#include "tessera/md/domain/cell_grid.h"
#include "tessera/md/settings.h"

namespace tessera::md {

/// Throws InputError where the cells of a rank certainly find no room in the memory that this process may still take,
/// or are more than can be numbered.
void check_room_for_cells(const domain::CellGrid& grid, int ranks);

/// Checks the part of the mesh that a rank has in the same way.
void check_room_for_mesh(const EngineSettings& settings, int ranks);

}  // namespace tessera::md
