// All restraints of a run: of positions (position.h), of distances, angles and dihedrals of the centres of groups
// (coordinates.h, centres.h), and of the deviation from a reference (rmsd.h). To add a kind that groups have: its name
// in settings.h, a file with its coordinate, its cases in coordinates.h and .cpp, and its unit and range in
// app/config/restraints.cpp. Units: kcal/mol, Å, rad, ps.
#pragma once

#include <span>
#include <vector>

#include "tessera/md/restraint/centres.h"
#include "tessera/md/restraint/position.h"
#include "tessera/md/restraint/rmsd.h"
#include "tessera/md/settings.h"

namespace tessera::md::restraint {

class Restraints {
 public:
  /// Keeps references, which must outlive this.
  Restraints(const EngineSettings& settings, const domain::Domain& domain, const comm::Communicator& comm,
             ThreadPool& threads);

  /// Finds this rank's atoms after a search.
  void rebuild();
  /// Adds forces and energies, one accumulator a thread. Collective where restraints have groups.
  void add(std::span<Accumulator> accumulators);
  std::size_t bytes() const { return positions_.bytes(); }

 private:
  void add_groups(double time, Accumulator& accumulator);

  const EngineSettings& settings_;
  const domain::Domain& domain_;
  const comm::Communicator& comm_;
  Positions positions_;
  Centres centres_;  // of all groups of all restraints in their order
  Deviations deviations_;
};

}  // namespace tessera::md::restraint
