// Defines the friction and noise of Langevin baths on the velocities of atoms.
//
// Philox and Box–Muller are those of base/random.h, computed for one atom per lane (noise-inl.h). Logarithm, sine and
// cosine are shorter than those of base/math; the last bits differ from those of random_normals().
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::md::integrate {

/// Describes v ← decay·v + √(thermal/m)·R, with three normal deviates R for each atom, keyed by seed, atom id and step.
struct FrictionAndNoise {
  struct OfBath {
    double decay = 1;
    double thermal = 0;  // (1 − decay²)·kT, amu Å²/ps²
  };

  std::vector<OfBath> baths;
  std::uint64_t seed = 0, step = 0;
  const std::int64_t* id = nullptr;    // by slot
  const std::uint8_t* bath = nullptr;  // by slot; null where there is one bath
};

}  // namespace tessera::md::integrate
