// What restraints a run has; formulas are in restraints.h.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/model/atom_set.h"

namespace tessera::md::restraint {

enum class RestraintKind { position, distance, angle, dihedral };
inline constexpr std::array<std::string_view, 4> restraint_kind_names = {"position", "distance", "angle", "dihedral"};
constexpr const auto& names_of(RestraintKind) { return restraint_kind_names; }

enum class RestraintAxes { xyz, x, y, z, xy, xz, yz };
inline constexpr std::array<std::string_view, 7> restraint_axes_names = {"xyz", "x", "y", "z", "xy", "xz", "yz"};
constexpr const auto& names_of(RestraintAxes) { return restraint_axes_names; }

/// A number that follows points in time: between two it is on the line between them, before the first and after the
/// last it is theirs.
struct Schedule {
  std::vector<std::array<double, 2>> points = {{0, 0}};  // time, ps, and number

  double at(double time) const {
    std::size_t i = 0;
    while (i < points.size() && points[i][0] <= time) ++i;
    if (i == 0) return points.front()[1];
    if (i == points.size()) return points.back()[1];
    const auto& [t0, v0] = points[i - 1];
    const auto& [t1, v1] = points[i];
    return v0 + (v1 - v0) * ((time - t0) / (t1 - t0));
  }
};

struct RestraintSettings {
  RestraintKind kind = RestraintKind::position;
  Schedule k{};     // kcal/mol/Å², kcal/mol/rad²
  double flat = 0;  // Å, rad
  // Of positions.
  model::AtomSet atoms{};
  std::string reference{};                 // name of the AtomField that holds the references, as fractions of the box
  std::array<double, 3> axes = {1, 1, 1};  // 1: held, 0: free
  // Of the other kinds.
  std::vector<model::AtomSet> groups{};
  Schedule target{};  // Å, rad
};

}  // namespace tessera::md::restraint
