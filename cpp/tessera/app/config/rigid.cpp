#include "tessera/app/config/rigid.h"

#include <fmt/format.h>

#include "tessera/app/numbers_text.h"

namespace tessera::app {

std::string describe_rigid(const model::System& system, md::constraint::ConstraintMode mode) {
  const auto constraints = md::constraint::make_constraints(system, mode);
  std::int64_t waters = 0, bonds = 0, flexible = 0, all_bonds = 0;
  for (const auto& run : system.instances()) {
    const auto kind = static_cast<std::size_t>(run.molecule);
    const auto& molecule = system.templates[kind];
    const auto& held = constraints[kind];
    constexpr std::int64_t of_a_water = 3;
    if (held.is_rigid_water) waters += run.count;
    bonds += run.count * (held.n_constraints - (held.is_rigid_water ? of_a_water : 0));
    if (molecule.is_flexible && held.n_constraints == 0) flexible += run.count;
    model::for_each_kind_of_bond(
        [&](auto bond) { all_bonds += run.count * static_cast<std::int64_t>(molecule.terms[bond].atoms.size()); });
  }
  if (all_bonds == 0) return "";
  const auto counted = [](std::int64_t count, const char* what) {
    return count == 0 ? std::string() : fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
  };
  std::string text = counted(waters, "water");
  if (bonds > 0) text += (text.empty() ? "" : ", ") + counted(bonds, "bond");
  return fmt::format("rigid: {} (constraints = \"{}\"){}\n", text.empty() ? "nothing" : text,
                     md::constraint::constraint_mode_names.at(static_cast<std::size_t>(mode)),
                     flexible == 0 ? "" : fmt::format("; {} as in the input", counted(flexible, "flexible molecule")));
}

}  // namespace tessera::app
