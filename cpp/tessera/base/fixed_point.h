// Sums whose result does not depend on their order: every contribution is rounded to an integer first.
//
// Forces stand in int64 units of 2⁻³² kcal/mol/Å (range ±2·10⁹), energies and virials in units of 2⁻²⁸ kcal/mol
// (range ±3·10¹⁰). A sum must not wrap round where atoms clash, and a sum that saturates would depend on its order; so
// each contribution to a force is limited to ±2²² kcal/mol/Å, of which 511 fit, and what is too large of an energy is
// summed apart (md/accumulator.h). What is summed inside one cell pair may be floating point; what is summed across
// cells, threads and ranks goes through here.
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

constexpr double from_fixed(std::int64_t value, double unit) { return static_cast<double>(value) * unit; }

/// Adds with wrap-around, which is defined and order-independent even where an intermediate sum overflows.
inline void add_fixed(std::int64_t& sum, std::int64_t value) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
}

/// No interaction pushes harder, kcal/mol/Å: it would throw any atom out of its box in a step or two.
inline constexpr double force_limit = 4194304;

/// Rounds a component of a force to units of force_unit, within the limit; NaN becomes the limit, so that it shows.
inline std::int64_t to_fixed_force(double value) {
  if (!(value < force_limit)) return to_fixed(force_limit, force_unit);
  return to_fixed(value < -force_limit ? -force_limit : value, force_unit);
}

inline void add_fixed_force(std::int64_t* force, const Vec3& f) {
  add_fixed(force[0], to_fixed_force(f.x));
  add_fixed(force[1], to_fixed_force(f.y));
  add_fixed(force[2], to_fixed_force(f.z));
}

}  // namespace tessera
