#include "tessera/app/output/energy_columns.h"

namespace tessera::app {

std::vector<Column> energy_columns() {
  std::vector<Column> columns;
  for (const auto name : md::term_names) columns.push_back({std::string(name), "kcal/mol"});
  for (const auto* name : {"potential", "kinetic", "total"}) columns.push_back({name, "kcal/mol"});
  columns.push_back({"temperature", "K"});
  columns.push_back({"pressure", "bar"});
  return columns;
}

std::vector<double> energy_values(const md::Energies& energies) {
  std::vector<double> values(energies.term.begin(), energies.term.end());
  for (const double value :
       {energies.potential(), energies.kinetic, energies.total(), energies.temperature, energies.pressure})
    values.push_back(value);
  return values;
}

}  // namespace tessera::app
