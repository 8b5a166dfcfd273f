// What is recorded of energies: the columns of energy.csv and of the history that Python holds.
#pragma once

#include <vector>

#include "tessera/app/output/energy_table.h"
#include "tessera/md/energies.h"

namespace tessera::app {

std::vector<Column> energy_columns();
/// One value a column.
std::vector<double> energy_values(const md::Energies& energies);

}  // namespace tessera::app
