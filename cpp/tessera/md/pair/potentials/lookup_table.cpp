#include "tessera/md/pair/potentials/lookup_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tessera/base/math/elementary.h"
#include "tessera/base/simd/denormals.h"
#include "tessera/base/units.h"

namespace tessera::md::pair {

namespace {

using Cubic = std::array<double, LookupTable::per_piece>;

/// Interpolates a function on [lower, upper] at Chebyshev's points; returns the coefficients of (x − origin)ⁿ.
template <class Function>
Cubic fit_cubic(double origin, double lower, double upper, Function&& function) {
  constexpr int n = LookupTable::per_piece;
  std::array<double, n> x, difference;
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double place = math::sincos_of_turn(2 * i + 1, 4 * n).cos;
    const double r2 = 0.5 * (lower + upper) + 0.5 * (upper - lower) * place;
    x[at] = r2 - origin;
    difference[at] = function(r2);
  }
  // Newton's divided differences, then powers.
  for (std::size_t order = 1; order < n; ++order)
    for (std::size_t i = n - 1; i >= order; --i)
      difference[i] = (difference[i] - difference[i - 1]) / (x[i] - x[i - order]);
  Cubic c{};
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t power = n - 1; power >= 1; --power) c[power] = c[power - 1] - x[i] * c[power];
    c[0] = difference[i] - x[i] * c[0];
  }
  return c;
}

std::int32_t piece_of(float r2) { return std::bit_cast<std::int32_t>(r2) >> (23 - LookupTable::bits); }

}  // namespace

Lookup plan_lookup(const model::System& system) {
  const auto& field = system.force_field;
  if (field.pair_potentials.empty()) return Lookup::none;
  if (field.type_lj.size() > LookupTable::most_types) return Lookup::some;
  const auto counts = system.type_counts();
  const auto count = [&](int type) { return static_cast<double>(counts[static_cast<std::size_t>(type)]); };
  double pairs = 0;
  for (const auto& pair : field.pair_potentials)
    pairs += (pair.type_a == pair.type_b ? 1 : 2) * count(pair.type_a) * count(pair.type_b);
  // A cluster pair has sixteen pairs of atoms, so almost all need the table at a share far below one half.
  constexpr double frequent = 0.05;
  const auto n = static_cast<double>(system.n_atoms());
  return pairs > frequent * n * n ? Lookup::all : Lookup::some;
}

LookupTable make_lookup_table(const ShortRange& functions, const PairSettings& settings, Lookup lookup, double unit) {
  LookupTable table;
  table.lookup = lookup;
  if (lookup == Lookup::none) return table;
  const double cutoff2 = settings.cutoff * settings.cutoff;
  table.first = piece_of(static_cast<float>(LookupTable::least_r2));
  table.last = std::max(0, piece_of(static_cast<float>(cutoff2)) - table.first);

  const auto add_table = [&](std::int32_t a, std::int32_t b) {
    const auto begin = static_cast<std::int32_t>(table.force.size() / LookupTable::per_piece);
    const auto* potential = functions.potential(a, b);
    const double core = potential != nullptr ? potential->core() : 0;
    for (std::int32_t piece = 0; piece <= table.last; ++piece) {
      const auto start = [&](std::int32_t which) {
        return static_cast<double>(std::bit_cast<float>((table.first + which) << (23 - LookupTable::bits)));
      };
      const double lower = start(piece), upper = std::min(start(piece + 1), cutoff2);
      const double origin = lower, scale = std::ldexp(1, std::ilogb(lower));  // u is (r² − origin)/scale
      const auto value = [&](double r2) {
        const auto found = functions(a, b, std::min(r2, cutoff2 * (1 - 1e-12)));
        return std::array{found.force_over_r * r2 / unit, found.energy / unit};
      };
      Cubic force{}, energy{};
      if (upper > lower * (1 + 1e-9)) {
        force = fit_cubic(origin, lower, upper, [&](double r2) { return value(r2)[0]; });
        energy = fit_cubic(origin, lower, upper, [&](double r2) { return value(r2)[1]; });
      }
      const bool is_zero = value(lower) == std::array{0.0, 0.0};
      if ((piece == 0 && !is_zero) || lower < core * core || std::abs(force[0]) > LookupTable::refused) {
        force = {LookupTable::refused, 0, 0, 0};
        energy = {};
      }
      double power = 1;
      for (std::size_t c = 0; c < LookupTable::per_piece; ++c, power *= scale) {
        table.force.push_back(simd::to_parameter(force[c] * power, simd::least_coefficient));
        table.energy.push_back(simd::to_parameter(energy[c] * power, simd::least_coefficient));
      }
    }
    return begin;
  };

  const auto n = static_cast<std::int32_t>(functions.n_types());
  if (lookup == Lookup::all) {
    for (std::int32_t a = 0; a < n; ++a)
      for (std::int32_t b = 0; b < n; ++b) table.begin.push_back(add_table(a, b));
    for (auto* values : {&table.force, &table.energy})
      values->resize(values->size() + static_cast<std::size_t>(n * table.n_pieces()) * LookupTable::per_piece);
    return table;
  }
  table.force.assign(static_cast<std::size_t>(table.n_pieces()) * LookupTable::per_piece, 0);
  table.energy = table.force;
  const auto entry_of = [n](std::int32_t a, std::int32_t b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(n) + static_cast<std::size_t>(b);
  };
  table.begin.assign(entry_of(n, 0), 0);
  for (std::int32_t a = 0; a < n; ++a)
    for (std::int32_t b = 0; b <= a; ++b) {
      if (functions.potential(a, b) == nullptr) continue;
      const auto begin = add_table(a, b);
      table.begin[entry_of(a, b)] = table.begin[entry_of(b, a)] = begin;
    }
  return table;
}

}  // namespace tessera::md::pair
