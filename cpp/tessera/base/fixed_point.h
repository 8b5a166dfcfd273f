// Sums whose result does not depend on their order: every contribution is rounded to an integer first.
//
// Forces stand in int64 units of 2⁻³² kcal/mol/Å (range ±2·10⁹), energies and virials in units of 2⁻²⁸ kcal/mol
// (range ±3·10¹⁰). What is summed inside one cell pair may be floating point; what is summed across cells, threads and
// ranks goes through here.
#pragma once

#include <cmath>
#include <cstdint>

#include "tessera/base/vec3.h"

namespace tessera {

inline constexpr double force_unit = 1.0 / 4294967296.0;  // kcal/mol/Å
inline constexpr double energy_unit = 1.0 / 268435456.0;  // kcal/mol

/// Rounds to the nearest integer; what does not fit (or is NaN) becomes the largest magnitude, so that it shows.
inline std::int64_t to_fixed(double value, double unit) {
  const double scaled = value / unit;
  constexpr double limit = 9.0e18;
  if (!(scaled < limit)) return static_cast<std::int64_t>(limit);
  if (scaled < -limit) return -static_cast<std::int64_t>(limit);
  return std::llrint(scaled);
}

inline double from_fixed(std::int64_t value, double unit) { return static_cast<double>(value) * unit; }

/// Adds with wrap-around, which is defined and order-independent even where an intermediate sum overflows.
inline void add_fixed(std::int64_t& sum, std::int64_t value) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
}

inline void add_fixed_force(std::int64_t* force, const Vec3& f) {
  add_fixed(force[0], to_fixed(f.x, force_unit));
  add_fixed(force[1], to_fixed(f.y, force_unit));
  add_fixed(force[2], to_fixed(f.z, force_unit));
}

}  // namespace tessera
