// Holds the settings of the heat bath and of the pressure bath of a system.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/time_schedule.h"
#include "tessera/model/atom_set.h"

namespace tessera::md::integrate {

/// Tells which edges of the box change together.
enum class Edges { isotropic, semi_isotropic, anisotropic, constant_area };
inline constexpr std::array<std::string_view, 4> edges_names = {"isotropic", "semi-isotropic", "anisotropic",
                                                                "constant-area"};
constexpr const auto& names_of(Edges) { return edges_names; }

/// A heat bath of some atoms.
struct HeatBath {
  model::AtomSet atoms{};          // empty: all
  TimeSchedule temperature = 300;  // K
  double tau_t = 1;                // ps
};

struct BathSettings {
  std::string thermostat{}, barostat{};  // names of the registries in bath.h; empty: none
  Edges edges = Edges::isotropic;
  std::vector<HeatBath> heat_baths{1};  // each atom is in one
  std::int64_t chain = 3;               // variables of Nosé–Hoover chains, 1 to 3
  TimeSchedule temperature = 300;       // K, of the pressure bath
  TimeSchedule pressure = 1;            // bar
  double tau_p = 5;                     // ps
  double compressibility = 4.5e-5;      // 1/bar
  double surface_tension = 0;           // bar Å, of all surfaces together; with semi-isotropic edges
  std::int64_t every = 10;              // steps
  std::int64_t trials_every = 25;       // steps; of the Monte Carlo barostat
  std::uint64_t seed = 1;
};

}  // namespace tessera::md::integrate
