#include "tessera/model/pair_potential.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"

namespace tessera::model {

namespace {

/// Adds c/rⁿ.
void add_power(PotentialAndForce& sum, double c, double n, double r) {
  const double energy = c * math::pow(r, -n);
  sum.energy += energy;
  sum.force += n * energy / r;
}

/// Adds a e^(−r/ρ).
void add_exponential(PotentialAndForce& sum, double a, double rho, double r) {
  const double energy = a * math::exp(-r / rho);
  sum.energy += energy;
  sum.force += energy / rho;
}

PotentialAndForce morse(double depth, double r0, double k, double r) {
  const double e = math::exp(-k * (r - r0));
  return {depth * e * (e - 2), 2 * depth * k * e * (e - 1)};
}

/// Returns the screened nuclear repulsion of Ziegler, Biersack and Littmark. Source: Ziegler et al. (1985).
PotentialAndForce zbl(double strength, double a, double r) {
  constexpr double weight[] = {0.18175, 0.50986, 0.28022, 0.02817};
  constexpr double decay[] = {3.1998, 0.94229, 0.4029, 0.20162};
  double screening = 0, slope = 0;
  for (int i = 0; i < 4; ++i) {
    const double term = weight[i] * math::exp(-decay[i] * r / a);
    screening += term;
    slope -= decay[i] / a * term;
  }
  return {strength * screening / r, strength * (screening / r - slope) / r};
}

PotentialAndForce wca(double epsilon, double sigma, double shift, double r) {
  const double s = r - shift;
  if (s >= math::sixth_root_of_2 * sigma) return {};
  if (s <= 0) return {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  const double q6 = math::pow(sigma / s, 6);
  return {4 * epsilon * q6 * (q6 - 1) + epsilon, 24 * epsilon * q6 * (2 * q6 - 1) / s};
}

/// Returns the buffered 14-7 potential. Source: Halgren (1992).
PotentialAndForce buffered_14_7(double epsilon, double r0, double r) {
  const double x = r / r0, x6 = math::pow(x, 6);
  const double outer = math::pow(1.07 / (x + 0.07), 7), inner = 1.12 / (x6 * x + 0.12);
  const double slope = -7 * outer / (x + 0.07) * (inner - 2) - outer * inner * 7 * x6 / (x6 * x + 0.12);
  return {epsilon * outer * (inner - 2), -epsilon * slope / r0};
}

}  // namespace

PairPotentialFunction::PairPotentialFunction(const PairPotential& potential,
                                             const std::vector<TabulatedPotential>& tables)
    : potential_(potential) {
  const auto& p = potential.parameter;
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds)
      throw InputError(fmt::format("pair potential {} of types {} and {}: {}", potential.name(), potential.type_a + 1,
                                   potential.type_b + 1, what));
  };
  for (const double value : p) require(std::isfinite(value), "a parameter is not finite");
  switch (potential.kind) {
    case PairPotentialKind::buckingham:
      require(p[0] == 0 || p[1] > 0, "the length ρ must be above 0");
      break;
    case PairPotentialKind::n_m:
      require(p[1] > p[2] && p[2] > 0, "n must be above m, and m above 0");
      require(p[3] > 0, "the distance r₀ must be above 0");
      break;
    case PairPotentialKind::wca:
    case PairPotentialKind::buffered_14_7:
      require(p[1] > 0, "the length must be above 0");
      break;
    case PairPotentialKind::rydberg:
      require(p[2] > 0, "the length ρ must be above 0");
      break;
    case PairPotentialKind::zbl:
      require(p[1] > 0, "the screening length must be above 0");
      break;
    case PairPotentialKind::table: {
      require(p[0] >= 0 && p[0] < static_cast<double>(tables.size()) && p[0] == std::floor(p[0]),
              fmt::format("it names table {}, and there are {}", p[0], tables.size()));
      require(p[1] > 0, "the spacing of its table must be above 0");
      table_ = &tables[static_cast<std::size_t>(p[0])];
      require(table_->points.size() >= 4, "its table has fewer than four points");
      break;
    }
    default:
      break;
  }
  find_core();
}

PotentialAndForce PairPotentialFunction::formula(double r) const {
  const auto& p = potential_.parameter;
  PotentialAndForce sum;
  switch (potential_.kind) {
    case PairPotentialKind::buckingham:
      if (p[0] != 0) add_exponential(sum, p[0], p[1], r);
      add_power(sum, -p[2], 6, r);
      break;
    case PairPotentialKind::born_huggins_mayer: {
      const double energy = p[0] * math::exp(p[1] * (p[2] - r));
      sum = {energy, p[1] * energy};
      add_power(sum, -p[3], 6, r);
      add_power(sum, -p[4], 8, r);
      break;
    }
    case PairPotentialKind::morse:
      sum = morse(p[0], p[1], p[2], r);
      break;
    case PairPotentialKind::morse_12:
      sum = morse(p[0], p[1], p[2], r);
      add_power(sum, p[3], 12, r);
      break;
    case PairPotentialKind::n_m:
      add_power(sum, p[0] * p[2] / (p[1] - p[2]) * math::pow(p[3], p[1]), p[1], r);
      add_power(sum, -p[0] * p[1] / (p[1] - p[2]) * math::pow(p[3], p[2]), p[2], r);
      break;
    case PairPotentialKind::lj_12_6_4:
      add_power(sum, p[0], 12, r);
      add_power(sum, -p[1], 6, r);
      add_power(sum, -p[2], 4, r);
      break;
    case PairPotentialKind::hydrogen_bond_12_10:
      add_power(sum, p[0], 12, r);
      add_power(sum, -p[1], 10, r);
      break;
    case PairPotentialKind::wca:
      return wca(p[0], p[1], p[2], r);
    case PairPotentialKind::buffered_14_7:
      return buffered_14_7(p[0], p[1], r);
    case PairPotentialKind::rydberg: {
      const double e = math::exp(-r / p[2]);
      return {(p[0] + p[1] * r) * e, ((p[0] + p[1] * r) / p[2] - p[1]) * e};
    }
    case PairPotentialKind::zbl:
      return zbl(p[0], p[1], r);
    case PairPotentialKind::table:
      return interpolated(r);
  }
  return sum;
}

/// Interpolates with the cubic through the energies and slopes of two points, so that the force is the derivative.
PotentialAndForce PairPotentialFunction::interpolated(double r) const {
  const double h = potential_.parameter[1];
  const auto& points = table_->points;
  if (r > end() * (1 + 1e-12)) return {};
  const double place = std::clamp(r / h - 1, 0.0, static_cast<double>(points.size() - 1));
  const auto left = std::min(static_cast<std::size_t>(place), points.size() - 2);
  const double t = place - static_cast<double>(left);
  const auto &a = points[left], &b = points[left + 1];
  const double rise = b.energy - a.energy, slope_a = -a.force * h, slope_b = -b.force * h;
  const double c2 = 3 * rise - 2 * slope_a - slope_b, c3 = slope_a + slope_b - 2 * rise;
  return {a.energy + t * (slope_a + t * (c2 + t * c3)), -(slope_a + t * (2 * c2 + 3 * t * c3)) / h};
}

PotentialAndForce PairPotentialFunction::operator()(double r) const {
  if (r >= core_) return formula(r);
  const double growth = math::pow(core_ / r, 12);
  return {at_core_.energy + at_core_.force * core_ / 12 * (growth - 1), at_core_.force * growth * core_ / r};
}

double PairPotentialFunction::end() const {
  if (table_ == nullptr) return std::numeric_limits<double>::infinity();
  return potential_.parameter[1] * static_cast<double>(table_->points.size());
}

bool PairPotentialFunction::has_tail() const {
  return potential_.kind != PairPotentialKind::n_m || potential_.parameter[2] > 3;
}

/// Seeks from short distances outwards: where the innermost force is an attraction or, in a table, falls towards
/// shorter distances, the core is at the first maximum of the repulsion outside.
void PairPotentialFunction::find_core() {
  constexpr double step = 1.002, furthest = 20;
  const bool is_wca = potential_.kind == PairPotentialKind::wca;
  double r = table_ != nullptr ? potential_.parameter[1] : 0.05;
  if (is_wca) r = std::max(r, 1.05 * potential_.parameter[2]);
  const auto force = [&](double at) { return formula(at).force; };
  if (table_ == nullptr && !is_wca && force(r) >= 0) return;  // these grow inwards without end
  while (r < furthest && (force(r) <= 0 || force(r * step) > force(r))) r *= step;
  if (r >= furthest) {
    if (table_ == nullptr) return;  // an attraction alone, such as −C/r⁶ between cations
    r = potential_.parameter[1];    // below the first point there is nothing to interpolate
    if (force(r) <= 0) return;
  }
  // The maximum is between the two neighbours of r.
  double below = r / step, above = r * step;
  if (table_ != nullptr) below = std::max(below, potential_.parameter[1]);
  if (is_wca) below = std::max(below, 1.05 * potential_.parameter[2]);
  for (int i = 0; i < 100; ++i) {
    const double third = (above - below) / 3, inner = below + third, outer = above - third;
    if (force(inner) < force(outer))
      below = inner;
    else
      above = outer;
  }
  core_ = 0.5 * (below + above);
  at_core_ = formula(core_);
}

}  // namespace tessera::model
