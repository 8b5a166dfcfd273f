#include "tessera/md/pair/functions.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/math/elementary.h"
#include "tessera/base/units.h"

namespace tessera::md::pair {

namespace {

/// Holds a smooth switch in r² and its derivative by r².
struct Switch {
  double value, derivative;
};

Switch switch_in_r2(double switch_distance, double cutoff, double r2) {
  const double width = cutoff * cutoff - switch_distance * switch_distance;
  if (width <= 0) return {1, 0};
  const double u = std::max(0.0, r2 - switch_distance * switch_distance) / width;
  return {(1 - u) * (1 - u) * (1 + 2 * u), -6 * u * (1 - u) / width};
}

/// Computes F/r and U of r⁻ᵖ under GROMACS' force switch.
ForceEnergy gromacs_force_switch(double p, double rs, double rc, double r) {
  const double width = rc - rs;
  const double a = -p * ((p + 4) * rc - (p + 1) * rs) / (math::pow(rc, p + 2) * width * width);
  const double b = p * ((p + 3) * rc - (p + 1) * rs) / (math::pow(rc, p + 2) * width * width * width);
  const double c = math::pow(rc, -p) - a / 3 * math::pow(width, 3) - b / 4 * math::pow(width, 4);
  const double t = std::max(0.0, r - rs);
  return {(p * math::pow(r, -p - 1) + a * t * t + b * t * t * t) / r,
          math::pow(r, -p) - a / 3 * t * t * t - b / 4 * t * t * t * t - c};
}

}  // namespace

ForceEnergy lennard_jones(const PairSettings& settings, double a, double b, double r2) {
  const double rc = settings.cutoff, rs = settings.switch_distance;
  if (r2 >= rc * rc) return {};
  const double inverse2 = 1 / r2, inverse6 = inverse2 * inverse2 * inverse2;
  const double repulsion = a * inverse6 * inverse6, dispersion = b * inverse6;
  const ForceEnergy plain = {(12 * repulsion - 6 * dispersion) * inverse2, repulsion - dispersion};
  // A switching distance at the cut-off leaves no room for a switch, so the plain function is used.
  const bool has_switch = rs < rc;
  switch (settings.lj) {
    case LjModifier::cut:
      return plain;
    case LjModifier::potential_switch: {
      const auto s = switch_in_r2(rs, rc, r2);
      return {s.value * plain.force_over_r - 2 * s.derivative * plain.energy, s.value * plain.energy};
    }
    case LjModifier::force_switch: {
      const double rs3 = rs * rs * rs, rc3 = rc * rc * rc, r = std::sqrt(r2), r3 = r2 * r, r6 = r3 * r3;
      if (r <= rs || !has_switch)
        return {plain.force_over_r, plain.energy - a / (rs3 * rs3 * rc3 * rc3) + b / (rs3 * rc3)};
      const double k12 = rc3 * rc3 / (rc3 * rc3 - rs3 * rs3), k6 = rc3 / (rc3 - rs3);
      const double t12 = 1 - r6 / (rc3 * rc3), t6 = 1 - r3 / rc3;
      return {(12 * repulsion * k12 * t12 - 6 * dispersion * k6 * t6) * inverse2,
              repulsion * k12 * t12 * t12 - dispersion * k6 * t6 * t6};
    }
    case LjModifier::force_switch_gromacs: {
      if (!has_switch) return {plain.force_over_r, plain.energy - a * math::pow(rc, -12) + b * math::pow(rc, -6)};
      const double r = std::sqrt(r2);
      const auto p12 = gromacs_force_switch(12, rs, rc, r), p6 = gromacs_force_switch(6, rs, rc, r);
      return {a * p12.force_over_r - b * p6.force_over_r, a * p12.energy - b * p6.energy};
    }
    case LjModifier::quintic_switch: {
      if (!has_switch) return plain;
      const double r = std::sqrt(r2), x = std::max(0.0, r - rs) / (rc - rs);
      const double s = 1 + x * x * x * (-10 + x * (15 - 6 * x));
      const double ds = x * x * (-30 + x * (60 - 30 * x)) / (rc - rs);
      return {s * plain.force_over_r - ds * plain.energy / r, s * plain.energy};
    }
    case LjModifier::pme:
      return {plain.force_over_r, plain.energy - (a * math::pow(rc, -12) - b * math::pow(rc, -6))};
  }
  return {};
}

ForceEnergy coulomb(const PairSettings& settings, double r2) {
  const double rc = settings.range();
  if (r2 >= rc * rc) return {};
  const double r = std::sqrt(r2), inverse = 1 / r, inverse2 = 1 / r2;
  switch (settings.electrostatics) {
    case Electrostatics::pme: {
      const double ar = settings.alpha * r, energy = math::erfc(ar) * inverse;
      const double gauss = 2 * settings.alpha / std::sqrt(units::pi) * math::exp(-ar * ar);
      return {(energy + gauss) * inverse2, energy};
    }
    case Electrostatics::cut:
      return {inverse * inverse2, inverse};
    case Electrostatics::shift: {
      const double t = 1 - r2 / (rc * rc);
      return {(t * t * inverse2 + 4 * t / (rc * rc)) * inverse, t * t * inverse};
    }
    case Electrostatics::force_switch: {
      const double rs = settings.coulomb_switch;
      if (rs >= rc) return {inverse * inverse2, inverse - 1 / rc};
      const double rc2 = rc * rc, rs2 = rs * rs, gamma = math::pow(rc2 - rs2, 3);
      const double force_over_r = switch_in_r2(rs, rc, r2).value * inverse * inverse2;
      if (r <= rs)
        return {force_over_r,
                inverse + 8 * (rs2 * rc2 * (rc - rs) - (math::pow(rc, 5) - math::pow(rs, 5)) / 5) / gamma};
      const double a = rc2 * rc2 * (rc2 - 3 * rs2) / gamma, b = 6 * rc2 * rs2 / gamma, c = -(rc2 + rs2) / gamma,
                   d = 2 / (5 * gamma);
      return {force_over_r,
              a * (inverse - 1 / rc) + b * (rc - r) + c * (rc2 * rc - r2 * r) + d * (math::pow(rc, 5) - r2 * r2 * r)};
    }
  }
  return {};
}

// Follows Essmann et al., J. Chem. Phys. 103, 8577 (1995), doi:10.1063/1.470117, eq. 2.5.
ForceEnergy ewald_exclusion(double alpha, double r2) {
  const double z = alpha * alpha * r2, energy = ewald_exclusion_energy(alpha, r2);
  const double front = 2 * alpha / std::sqrt(units::pi);
  if (z < 1e-3) return {front * alpha * alpha * (-2.0 / 3 + z * (2.0 / 5 - z * (1.0 / 7))), energy};
  return {(energy + front * math::exp(-z)) / r2, energy};
}

// Follows Essmann et al., J. Chem. Phys. 103, 8577 (1995), doi:10.1063/1.470117, section 5.
ForceEnergy dispersion_without_mesh(double alpha, double r2) {
  const double z = alpha * alpha * r2, alpha6 = math::pow(alpha, 6);
  if (z < 0.1) {
    // 1 − e^(−z)(1 + z + z²/2) = Σ_{n≥3} (−1)ⁿ⁺¹ zⁿ/(2 n (n−3)!), divided by z³; the closed form loses digits.
    double energy = 0, slope = 0, power = 1, factorial = 1;  // of z^(n−3)
    for (int n = 3; n < 14; ++n) {
      const double sign = n % 2 == 1 ? 1 : -1, coefficient = sign / (2 * n * factorial);
      energy += coefficient * power;
      if (n < 13) slope -= sign * power / (2 * (n + 1) * factorial);  // (n − 2)·coefficient of the next power
      power *= z;
      factorial *= n - 2;
    }
    return {-2 * alpha6 * alpha * alpha * slope, alpha6 * energy};
  }
  const double gauss = math::exp(-z), rest = 1 - gauss * (1 + z + 0.5 * z * z), inverse6 = 1 / (r2 * r2 * r2);
  return {(6 * rest * inverse6 - alpha6 * gauss) / r2, rest * inverse6};
}

TailIntegral lj_tail(const PairSettings& settings, double a, double b) {
  const double rc = settings.cutoff;
  TailIntegral integral;
  // The part beyond the cut-off has a closed form.
  integral.energy = a / (9 * math::pow(rc, 9)) - b / (3 * math::pow(rc, 3));
  integral.virial = 12 * a / (9 * math::pow(rc, 9)) - 6 * b / (3 * math::pow(rc, 3));
  if (settings.lj != LjModifier::cut) {
    // The part inside the cut-off is what the modifier removes. From the switching distance on it is integrated by
    // Simpson's rule in ln r, in which the integrand is smooth; below, it is the constant shift. What a switch removes
    // from r⁻¹² has no integral from 0 on.
    const double top = rc * (1 - 1e-12), rs = std::min(settings.switch_distance, top);
    TESSERA_CHECK(rs > 0);
    const auto plain = [&](double r) { return a * math::pow(r, -12) - b * math::pow(r, -6); };
    const auto plain_force = [&](double r) { return 12 * a * math::pow(r, -13) - 6 * b * math::pow(r, -7); };
    constexpr int intervals = 2000;
    const double h = math::log(top / rs) / intervals;
    for (int i = 0; i <= intervals; ++i) {
      const double r = rs * math::exp(i * h), weight = (i == 0 || i == intervals ? 1 : i % 2 ? 4 : 2) * h / 3;
      const auto modified = lennard_jones(settings, a, b, r * r);
      integral.energy += weight * r * r * r * (plain(r) - modified.energy);
      integral.virial += weight * r * r * r * r * (plain_force(r) - modified.force_over_r * r);
    }
    const double constant = plain(rs) - lennard_jones(settings, a, b, rs * rs).energy;
    integral.energy += constant * rs * rs * rs / 3;
  }
  integral.energy *= 2 * units::pi;
  integral.virial *= 2 * units::pi / 3;
  return integral;
}

}  // namespace tessera::md::pair
