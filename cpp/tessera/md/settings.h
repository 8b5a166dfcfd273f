// Holds the settings that decide how a system is simulated; all are fixed before anything is built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/index_box.h"
#include "tessera/md/constraint/groups.h"
#include "tessera/md/force_groups.h"
#include "tessera/md/integrate/baths/settings.h"
#include "tessera/md/pair/functions.h"
#include "tessera/md/restraint/settings.h"
#include "tessera/model/atom_set.h"

namespace tessera::device {
class DeviceInUse;
}

namespace tessera::md {

struct EngineSettings {
  pair::PairSettings pair;  // alpha and coulomb_constant are already set (app: plan_settings)
  bool lj_tail = false;
  // The mesh is chosen once, from the starting box, and stays when the box changes.
  int pme_order = 4;
  Index3 pme_grid{};
  std::string fft_scheme = "auto", fft_exchange = "auto";
  std::string fft_wisdom_file;  // results of earlier trials for fft_scheme = "trial" (fft/choice/wisdom.h); empty: none
  std::string machine_file;     // the machine file that decides scheme and bricks; empty: none
  double seconds_for_traffic = 0;  // that measuring what others send may take as a run starts; 0: it is not measured
  bool is_replicated = false;      // true: each rank has all atoms (domain/domain.h)
  bool reorder = true;             // true: neighbouring bricks go to ranks of one host, then of one subnet
  double buffer = 2.8;  // Å: how far two atoms together may move between searches at least; see Plan::buffer
  std::int64_t search_every = 40;  // steps
  double list_steps = 4;           // about how many steps a pair list lasts; results do not depend on it
  pair::Precision precision = pair::Precision::mixed;
  device::DeviceInUse* device = nullptr;  // which sums pairs; nullptr: processors do
  ForceGroups force_groups;
  constraint::ConstraintMode constraints = constraint::ConstraintMode::h_bonds;
  double constraint_tolerance = 1e-10;
  std::string integrator = "velocity-verlet";
  integrate::BathSettings baths;
  std::vector<restraint::RestraintSettings> restraints;
  model::AtomSet fixed;                  // atoms that do not move
  std::int64_t direct_every = 1;         // steps; of the integrator "respa"
  std::int64_t mesh_every = 1;           // steps, a multiple of direct_every; of the integrator "respa"
  double timestep = 0.002;               // ps
  std::int64_t com_removal_every = 100;  // steps; 0: never
};

}  // namespace tessera::md
