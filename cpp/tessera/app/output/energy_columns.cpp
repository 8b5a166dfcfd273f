#include "tessera/app/output/energy_columns.h"

namespace tessera::app {

std::vector<Column> energy_columns() {
  std::vector<Column> columns;
  for (const auto name : md::term_names) columns.push_back({std::string(name), "kcal/mol"});
  for (const auto* name : {"potential", "kinetic", "total", "conserved"}) columns.push_back({name, "kcal/mol"});
  columns.push_back({"temperature", "K"});
  columns.push_back({"pressure", "bar"});
  columns.push_back({"density", "g/cm³"});
  for (const auto* name : {"box_a", "box_b", "box_c"}) columns.push_back({name, "Å"});
  return columns;
}

std::vector<double> energy_values(const md::Energies& energies) {
  std::vector<double> values(energies.term.begin(), energies.term.end());
  const auto edges = energies.box.edges();
  for (const double value : {energies.potential(), energies.kinetic, energies.total(), energies.conserved,
                             energies.temperature, energies.pressure, energies.density, edges[0], edges[1], edges[2]})
    values.push_back(value);
  return values;
}

}  // namespace tessera::app
