// What restraints a run has; formulas are in restraints.h.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/time_schedule.h"
#include "tessera/model/atom_set.h"

namespace tessera::md::restraint {

enum class RestraintKind { position, distance, angle, dihedral, rmsd };
inline constexpr std::array<std::string_view, 5> restraint_kind_names = {"position", "distance", "angle", "dihedral",
                                                                         "rmsd"};
constexpr const auto& names_of(RestraintKind) { return restraint_kind_names; }

enum class RestraintAxes { xyz, x, y, z, xy, xz, yz };
inline constexpr std::array<std::string_view, 7> restraint_axes_names = {"xyz", "x", "y", "z", "xy", "xz", "yz"};
constexpr const auto& names_of(RestraintAxes) { return restraint_axes_names; }

struct RestraintSettings {
  RestraintKind kind = RestraintKind::position;
  TimeSchedule k = 0;  // kcal/mol/Å², kcal/mol/rad²
  double flat = 0;     // Å, rad
  // These belong to restraints of positions and of deviations (rmsd).
  model::AtomSet atoms{};
  std::string reference{};                 // name of the AtomField that holds the references, as fractions of the box
  std::array<double, 3> axes = {1, 1, 1};  // 1: held, 0: free
  // These belong to the other kinds.
  std::vector<model::AtomSet> groups{};
  TimeSchedule target = 0;  // Å, rad; of deviations too
};

}  // namespace tessera::md::restraint
