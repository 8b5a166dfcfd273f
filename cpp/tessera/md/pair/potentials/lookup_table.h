// Tabulates short-range functions for the fast kernel: F·r and energy as cubics of r², one for each of 64 equal parts
// of every range [2ᵏ, 2ᵏ⁺¹) Å², so that exponent and first bits of r² are the index and the other bits the argument.
//
// Errors: below 10⁻⁷ of the largest power of the distance in a potential, as for its fourth derivative h⁴/3072 with
// h = r²/64.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/md/pair/functions.h"
#include "tessera/md/pair/potentials/short_range.h"

namespace tessera::md::pair {

/// Tells which pairs of atoms the kernel looks up: none; those of cluster pairs that have a pair of types with a
/// potential; or all, where such pairs are frequent.
enum class Lookup : std::int32_t { none, some, all };

struct LookupTable {
  static constexpr int bits = 6;               // of the mantissa
  static constexpr std::size_t per_piece = 4;  // coefficients of u⁰ … u³, u being the fraction 0 … 2⁻⁶ of 2ᵏ
  static constexpr double least_r2 = 0.25;     // Å², where pieces begin
  static constexpr float refused = 1e30f;      // F·r of pairs that are left to double precision
  static constexpr std::size_t most_types = 8;  // with Lookup::all, so that tables fit into a cache

  Lookup lookup = Lookup::none;
  std::int32_t first = 0, last = 0;  // the bits of r² of the first piece; the last piece of a table
  std::vector<float> force, energy;  // (tables, pieces, per_piece)
  std::vector<std::int32_t> begin;   // (types × types) the first piece of its table

  std::int32_t n_pieces() const { return last + 1; }
  std::size_t bytes() const {
    return (force.capacity() + energy.capacity()) * sizeof(float) + begin.capacity() * sizeof(std::int32_t);
  }
};

/// Returns how the kernel of a system finds its short-range functions.
Lookup plan_lookup(const model::System& system);

/// Makes the tables: with Lookup::all one for each ordered pair of types, in order, and as many of zeros as there are
/// types, for padding; with Lookup::some a first one of zeros, which pairs without a potential use, and one for each
/// potential. Forces and energies are in `unit`
/// (kcal/mol/Å, kcal/mol).
LookupTable make_lookup_table(const ShortRange& functions, const PairSettings& settings, Lookup lookup, double unit);

}  // namespace tessera::md::pair
