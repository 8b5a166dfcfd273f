// Holds the settings of the heat bath and of the pressure bath of a system.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/time_schedule.h"
#include "tessera/model/atom_set.h"

namespace tessera::md::integrate {

enum class Thermostat { bussi, nose_hoover, langevin, berendsen };
inline constexpr std::array<std::string_view, 4> thermostat_names = {"bussi", "nose-hoover", "langevin", "berendsen"};
constexpr const auto& names_of(Thermostat) { return thermostat_names; }

enum class Barostat { c_rescale, mtk, monte_carlo, berendsen };
inline constexpr std::array<std::string_view, 4> barostat_names = {"c-rescale", "mtk", "monte-carlo", "berendsen"};
constexpr const auto& names_of(Barostat) { return barostat_names; }

/// Tells which edges of the box change together.
enum class PressureCoupling { isotropic, semi_isotropic, anisotropic, constant_area };
inline constexpr std::array<std::string_view, 4> pressure_coupling_names = {"isotropic", "semi-isotropic",
                                                                            "anisotropic", "constant-area"};
constexpr const auto& names_of(PressureCoupling) { return pressure_coupling_names; }

/// A heat bath of some atoms.
struct HeatBath {
  model::AtomSet atoms{};          // empty: all
  TimeSchedule temperature = 300;  // K
  double tau_t = 1;                // ps
};

struct CouplingSettings {
  bool has_thermostat = false, has_barostat = false;
  Thermostat thermostat = Thermostat::bussi;
  Barostat barostat = Barostat::c_rescale;
  PressureCoupling coupling = PressureCoupling::isotropic;
  std::vector<HeatBath> heat_baths{1};  // each atom is in one
  std::int64_t chain = 3;               // variables of Nosé–Hoover chains, 1 to 3
  TimeSchedule temperature = 300;       // K, of the pressure bath
  TimeSchedule pressure = 1;            // bar
  double tau_p = 5;                     // ps
  double compressibility = 4.5e-5;      // 1/bar
  double surface_tension = 0;           // bar Å, of all surfaces together; with semi-isotropic coupling
  std::int64_t every = 10;              // steps
  std::int64_t trials_every = 25;       // steps; of the Monte Carlo barostat
  std::uint64_t seed = 1;
};

}  // namespace tessera::md::integrate
