// The phases of a step, in the order of step.cpp and of the report.
#pragma once

#include <array>
#include <string_view>

#include "tessera/base/phase_timer.h"

namespace tessera::md {

enum class Phase : std::size_t {
  first_half,
  virtual_sites,
  displacement,
  search,
  halo_positions,
  clear,
  bonded,
  external,
  restraints,
  pair_list,
  pair,
  pme_spread,
  pme_forward,
  pme_solve,
  pme_backward,
  pme_forces,
  device,
  sum_threads,
  halo_forces,
  second_half,
  energies,
  observers
};
inline constexpr std::size_t n_phases = 22;
inline constexpr std::array<std::string_view, n_phases> phase_names = {"kick, drift, constrain",
                                                                       "virtual sites",
                                                                       "displacement check",
                                                                       "sort and migration",
                                                                       "halo positions",
                                                                       "clear forces",
                                                                       "bonded forces",
                                                                       "external forces",
                                                                       "restraints",
                                                                       "pair list",
                                                                       "pair forces",
                                                                       "mesh: spread charges",
                                                                       "mesh: forward transform",
                                                                       "mesh: solve",
                                                                       "mesh: backward transform",
                                                                       "mesh: forces",
                                                                       "GPU",
                                                                       "sum over threads",
                                                                       "halo forces",
                                                                       "kick, constrain",
                                                                       "sum energies",
                                                                       "frames, rows, checkpoints"};
using Timers = PhaseTimers<Phase, n_phases>;

}  // namespace tessera::md
