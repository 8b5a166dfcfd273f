#include "tessera/app/output/energy_columns.h"

namespace tessera::app {

std::vector<Column> energy_columns(const Box& start) {
  std::vector<Column> columns;
  for (const auto name : md::term_names) columns.push_back({std::string(name), "kcal/mol"});
  for (const auto* name : {"potential", "kinetic", "total", "conserved"}) columns.push_back({name, "kcal/mol"});
  columns.push_back({"temperature", "K"});
  columns.push_back({"pressure", "bar"});
  columns.push_back({"density", "g/cm³"});
  for (const auto* name : {"box_a", "box_b", "box_c"}) columns.push_back({name, "Å"});
  if (!start.is_orthorhombic())
    for (const auto* name : {"box_alpha", "box_beta", "box_gamma"}) columns.push_back({name, "°"});
  return columns;
}

std::vector<double> energy_values(const md::Energies& energies, const Box& start) {
  std::vector<double> values(energies.term.begin(), energies.term.end());
  const auto edges = energies.box.edges();
  for (const double value : {energies.potential(), energies.kinetic, energies.total(), energies.conserved,
                             energies.temperature, energies.pressure, energies.density, edges[0], edges[1], edges[2]})
    values.push_back(value);
  if (!start.is_orthorhombic())
    for (const double angle : energies.box.angles()) values.push_back(angle);
  return values;
}

}  // namespace tessera::app
