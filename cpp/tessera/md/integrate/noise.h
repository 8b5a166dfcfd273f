// The friction and noise of a Langevin bath on the velocities of many atoms at once.
//
// Philox and Box–Muller are those of base/random.h, computed for one atom per lane. Logarithm, sine and cosine are
// Highway's, so that a processor's vector units compute them; the last bits differ from those of random_normals().
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/md/state.h"

namespace tessera::md::integrate {

/// Applies v ← decay·v + √(thermal/m)·R, with three normal deviates R for each atom, keyed by seed, atom id and step.
struct FrictionAndNoise {
  double decay;
  double thermal;  // (1 − decay²)·kT, amu Å²/ps²
  std::uint64_t seed, step;

  /// Changes the velocities of n slots. `inverse_mass` is 0 (amu⁻¹) where a slot holds no atom. No result depends on
  /// how atoms are shared between calls.
  void apply_to(const std::int64_t* id, const double* inverse_mass, Velocity* velocity, std::size_t n) const;
};

}  // namespace tessera::md::integrate
