// What is recorded of energies: the columns of energy.csv and of the history that Python holds.
#pragma once

#include <vector>

#include "tessera/app/output/energy_table.h"
#include "tessera/md/energies.h"

namespace tessera::app {

/// Returns the columns of a table. `start`: the box that a run starts with; where it is triclinic, its angles are
/// columns too.
std::vector<Column> energy_columns(const Box& start);
/// Returns the values of a row, one a column.
std::vector<double> energy_values(const md::Energies& energies, const Box& start);

}  // namespace tessera::app
