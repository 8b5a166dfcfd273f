// Holds atoms at references, E = k·(|d| − flat)² with d = r − r₀ in the nearest image, of which some components may
// count alone. References are fractions of the box and so follow it: the virial is Σ d⊗F. Each rank holds its own
// atoms, and needs none of others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/base/threads.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/restraint/settings.h"

namespace tessera::md::restraint {

/// Returns the references of that name, (3·owned slots), as fractions of the box.
const std::vector<double>& references_of(const State& state, const std::string& name);

class Positions {
 public:
  /// Keeps references, which must outlive this.
  Positions(std::span<const RestraintSettings> settings, const domain::Domain& domain, ThreadPool& threads);

  /// Finds this rank's atoms after a search.
  void rebuild();
  /// Adds forces and energies at a time, ps, one accumulator a thread.
  void add(double time, std::span<Accumulator> accumulators) const;
  std::size_t bytes() const;

 private:
  struct Atom {
    std::int32_t slot;
    std::uint32_t restraint;
    Vec3 reference;  // in units of a fraction of the box
  };

  std::span<const RestraintSettings> settings_;
  const domain::Domain& domain_;
  ThreadPool& threads_;
  std::vector<std::uint32_t> held_;       // numbers of the restraints of positions
  std::vector<std::vector<Atom>> atoms_;  // by thread
};

}  // namespace tessera::md::restraint
