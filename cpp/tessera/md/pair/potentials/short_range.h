// Gives the short-range function of each pair of types: Lennard-Jones, or the potential that the system has in its
// place, under the run's truncation. In double precision; fast kernels look the potentials up (lookup_table.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/md/pair/functions.h"
#include "tessera/model/system.h"

namespace tessera::md::pair {

/// Computes a pair potential under the modifier; zero beyond the cut-off. The modifiers that are defined for powers of
/// the distance alone (force-switch, force-switch-gromacs) are not served.
ForceEnergy truncated(const PairSettings& settings, const model::PairPotentialFunction& potential, double r2);

/// Integrates what modifier and cut-off remove, as lj_tail() does.
TailIntegral tail_of(const PairSettings& settings, const model::PairPotentialFunction& potential);

class ShortRange {
 public:
  /// Keeps a reference to the tables of the force field.
  ShortRange(const model::ForceField& force_field, const PairSettings& settings);

  std::size_t n_types() const { return n_types_; }
  const model::LennardJonesAB& lj(std::int32_t a, std::int32_t b) const { return pairs_[place(a, b)].ab; }
  /// Returns the potential in place of Lennard-Jones, or null.
  const model::PairPotentialFunction* potential(std::int32_t a, std::int32_t b) const {
    const auto index = pairs_[place(a, b)].potential;
    return index < 0 ? nullptr : &potentials_[static_cast<std::size_t>(index)];
  }
  ForceEnergy operator()(std::int32_t a, std::int32_t b, double r2) const {
    const auto* function = potential(a, b);
    if (function != nullptr) return truncated(settings_, *function, r2);
    const auto& ab = lj(a, b);
    return lennard_jones(settings_, ab.a, ab.b, r2);
  }
  /// Tells whether two atoms are so close that the formula of their potential has no meaning.
  bool is_in_core(std::int32_t a, std::int32_t b, double r2) const {
    const auto* function = potential(a, b);
    return function != nullptr && r2 < function->core() * function->core();
  }
  TailIntegral tail(std::int32_t a, std::int32_t b) const;

 private:
  struct Pair {
    model::LennardJonesAB ab{};
    int potential = -1;
  };
  std::size_t place(std::int32_t a, std::int32_t b) const {
    return static_cast<std::size_t>(a) * n_types_ + static_cast<std::size_t>(b);
  }

  PairSettings settings_;
  std::size_t n_types_;
  std::vector<Pair> pairs_;  // (types × types)
  std::vector<model::PairPotentialFunction> potentials_;
};

}  // namespace tessera::md::pair
