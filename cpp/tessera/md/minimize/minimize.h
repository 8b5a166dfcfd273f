// Minimises the potential energy of an engine's system: steepest descent as long as that takes away much of the
// greatest force, then L-BFGS.
//
// Steepest descent moves each constraint group along its projected forces, by at most a length that grows after success
// and is halved after failure. So atoms that overlap part without throwing others, whatever the size of their forces.
// L-BFGS (lbfgs.h) goes along its direction with a backtracking line search (Armijo's condition). A move that does not
// lower the energy is taken back, so the energy never rises.
//
// All sums over atoms are sums of integers, and what decides is the same on all ranks: the result is the same to the
// bit on any number of ranks and threads.
// Sources: L. Armijo, Pac. J. Math. 16, 1 (1966), doi:10.2140/pjm.1966.16.1 (line search); lbfgs.h, constraints.h.
// Units: Å, kcal/mol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/engine.h"

namespace tessera::md::minimize {

struct Settings {
  double max_force = 10;          // kcal/mol/Å, of the projected force on any atom: below it the search has converged
  std::int64_t max_steps = 5000;  // trial moves, of which each takes one calculation of the forces
};

enum class Method : std::size_t { steepest_descent, lbfgs };
inline constexpr std::array<std::string_view, 2> method_names = {"steepest descent", "L-BFGS"};
constexpr std::string_view name_of(Method method) { return method_names[static_cast<std::size_t>(method)]; }

/// Says why a minimisation ended.
enum class Ending : std::size_t { converged, out_of_steps, stopped, no_lower_energy };
inline constexpr std::array<std::string_view, 4> ending_names = {"converged", "out of steps", "stopped",
                                                                 "no lower energy found"};
constexpr std::string_view name_of(Ending ending) { return ending_names[static_cast<std::size_t>(ending)]; }

/// Describes the lowest energy found so far, the same on all ranks.
struct Progress {
  std::int64_t steps = 0;     // moves tried
  std::int64_t accepted = 0;  // moves that lowered the energy
  Method method = Method::steepest_descent;
  double energy = 0;      // kcal/mol, potential
  double max_force = 0;   // kcal/mol/Å, the greatest projected force
  std::int64_t atom = 0;  // the id of the atom on which it acts
};

struct Result : Progress {
  Ending ending = Ending::converged;
  Energies start_energies;  // of the structure with its constraints put right; those of the end are the engine's
  double start_max_force = 0;
};

/// Is called at the start and after each trial move, on all ranks; returns true on all of them to stop. Collective.
using Watch = std::function<bool(const Progress&)>;

/// Minimises, and leaves the engine at the lowest energy found, with forces and energies of there, and velocities
/// projected on the constraints. The virial lacks that of the constraints, which can't be computed where atoms still
/// clash; Engine::measure() adds it. Takes any structure whose constrained distances can be restored; throws InputError
/// where they can't. Collective.
Result minimize(Engine& engine, const Settings& settings, const comm::Communicator& comm, ThreadPool& threads,
                const Watch& watch = {});

}  // namespace tessera::md::minimize
