#include "tessera/md/pair/potentials/short_range.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/units.h"

namespace tessera::md::pair {

ForceEnergy truncated(const PairSettings& settings, const model::PairPotentialFunction& potential, double r2) {
  const double rc = settings.cutoff, rs = settings.switch_distance;
  if (r2 >= rc * rc) return {};
  const double r = std::sqrt(r2);
  const auto plain = potential(r);
  const bool has_switch = rs < rc && model::has_switch(settings.lj);
  if (!has_switch || r <= rs) return {plain.force / r, plain.energy};
  double s = 1, slope = 0;  // the switch and its derivative by r
  if (settings.lj == LjModifier::potential_switch) {
    const double width = rc * rc - rs * rs, u = (r2 - rs * rs) / width;
    s = (1 - u) * (1 - u) * (1 + 2 * u);
    slope = -12 * u * (1 - u) * r / width;
  } else {
    TESSERA_CHECK(settings.lj == LjModifier::quintic_switch);
    const double x = (r - rs) / (rc - rs);
    s = 1 + x * x * x * (-10 + x * (15 - 6 * x));
    slope = x * x * (-30 + x * (60 - 30 * x)) / (rc - rs);
  }
  return {(s * plain.force - slope * plain.energy) / r, s * plain.energy};
}

TailIntegral tail_of(const PairSettings& settings, const model::PairPotentialFunction& potential) {
  TESSERA_CHECK(potential.has_tail());
  const double rc = settings.cutoff;
  TailIntegral integral;
  // Gauss's rule with three points in each of many intervals; it never asks for the values at their ends.
  const auto integrate = [&](double from, double to, auto&& add) {
    constexpr int intervals = 1000;
    constexpr double place[] = {-0.7745966692414834, 0, 0.7745966692414834};
    constexpr double weight[] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    const double half = 0.5 * (to - from) / intervals;
    for (int i = 0; i < intervals; ++i)
      for (int k = 0; k < 3; ++k) add(from + half * (2 * i + 1 + place[k]), half * weight[k]);
  };
  const auto add = [&](double r, double weight, const ForceEnergy& removed) {
    integral.energy += weight * r * r * removed.energy;
    integral.virial += weight * r * r * r * r * removed.force_over_r;
  };
  // Beyond the cut-off: r = r_c/s, in which powers of the distance are polynomials.
  integrate(0, 1, [&](double s, double weight) {
    const double r = rc / s;
    const auto plain = potential(r);
    add(r, weight * rc / (s * s), {plain.force / r, plain.energy});
  });
  if (model::has_switch(settings.lj) && settings.switch_distance < rc)
    integrate(settings.switch_distance, rc, [&](double r, double weight) {
      const auto plain = potential(r);
      const auto modified = truncated(settings, potential, r * r);
      add(r, weight, {plain.force / r - modified.force_over_r, plain.energy - modified.energy});
    });
  integral.energy *= 2 * units::pi;
  integral.virial *= 2 * units::pi / 3;
  return integral;
}

ShortRange::ShortRange(const model::ForceField& force_field, const PairSettings& settings)
    : settings_(settings), n_types_(force_field.type_lj.size()), pairs_(n_types_ * n_types_) {
  model::ForceField by_rule;
  by_rule.lj_rule = force_field.lj_rule;
  by_rule.type_lj = force_field.type_lj;
  const auto n = static_cast<std::int32_t>(n_types_);
  for (std::int32_t a = 0; a < n; ++a)
    for (std::int32_t b = 0; b < n; ++b) pairs_[place(a, b)].ab = by_rule.lj(a, b);
  for (const auto& pair : force_field.nbfix)
    for (const auto& [a, b] : {std::pair(pair.type_a, pair.type_b), std::pair(pair.type_b, pair.type_a)})
      pairs_[place(a, b)].ab = pair.ab;
  for (const auto& pair : force_field.pair_potentials) {
    for (const auto& [a, b] : {std::pair(pair.type_a, pair.type_b), std::pair(pair.type_b, pair.type_a)})
      pairs_[place(a, b)] = {{0, 0}, static_cast<int>(potentials_.size())};
    potentials_.emplace_back(pair, force_field.pair_tables);
  }
}

TailIntegral ShortRange::tail(std::int32_t a, std::int32_t b) const {
  if (const auto* function = potential(a, b)) return tail_of(settings_, *function);
  const auto& ab = lj(a, b);
  if (ab.a == 0 && ab.b == 0) return {};
  return lj_tail(settings_, ab.a, ab.b);
}

}  // namespace tessera::md::pair
