#include "tessera/md/pair/functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/units.h"
#include "tessera/md/pair/ewald_fit.h"

namespace tessera::md::pair {
namespace {

constexpr double a = 600000, b = 600;  // similar to oxygen: minimum at 3.55 Å
constexpr LjModifier modifiers[] = {LjModifier::cut, LjModifier::potential_switch, LjModifier::force_switch,
                                    LjModifier::force_switch_gromacs, LjModifier::quintic_switch};
constexpr Electrostatics electrostatics[] = {Electrostatics::pme, Electrostatics::cut, Electrostatics::shift,
                                             Electrostatics::force_switch};

PairSettings settings(LjModifier lj = LjModifier::cut, Electrostatics e = Electrostatics::cut) {
  PairSettings s;
  s.cutoff = 12;
  s.switch_distance = 10;
  s.lj = lj;
  s.electrostatics = e;
  s.coulomb_switch = 8;
  s.alpha = 0.26;
  s.coulomb_constant = 332;
  return s;
}

/// Returns −dU/dr/r by Richardson's extrapolation of central differences.
template <class Energy>
double slope(Energy&& energy, double r) {
  const auto central = [&](double h) { return (energy(r - h) - energy(r + h)) / (2 * h); };
  return (4 * central(5e-4) - central(1e-3)) / 3 / r;
}

TEST(LennardJonesFunction, ForceIsMinusTheSlopeOfTheEnergy) {
  for (const auto lj : modifiers)
    for (const double rs : {0.5, 7.0, 10.0, 12.0}) {
      auto s = settings(lj);
      s.switch_distance = rs;
      for (const double r : {2.8, 3.55, 5.0, 6.9, 7.1, 9.0, 9.99, 10.01, 10.5, 11.3, 11.98}) {
        const auto f = lennard_jones(s, a, b, r * r).force_over_r;
        const double expected = slope([&](double x) { return lennard_jones(s, a, b, x * x).energy; }, r);
        EXPECT_NEAR(f, expected, 1e-8 * std::abs(expected) + 1e-12)
            << "modifier " << static_cast<int>(lj) << ", switch at " << rs << ", r = " << r;
      }
    }
}

TEST(CoulombFunction, ForceIsMinusTheSlopeOfTheEnergy) {
  for (const auto e : electrostatics)
    for (const double rs : {0.0, 8.0, 11.0}) {
      auto s = settings(LjModifier::cut, e);
      s.coulomb_switch = rs;
      for (const double r : {0.9, 2.0, 5.0, 7.99, 8.01, 9.0, 10.99, 11.01, 11.5, 11.98}) {
        const auto f = coulomb(s, r * r).force_over_r;
        const double expected = slope([&](double x) { return coulomb(s, x * x).energy; }, r);
        EXPECT_NEAR(f, expected, 1e-8 * std::abs(expected) + 1e-12)
            << "electrostatics " << static_cast<int>(e) << ", switch at " << rs << ", r = " << r;
      }
    }
}

// Energy and force are continuous where the switch begins, and zero at the cut-off except for the plain functions.
TEST(LennardJonesFunction, ContinuousAtTheSwitchAndAtTheCutoff) {
  for (const auto lj : modifiers) {
    const auto s = settings(lj);
    const auto below = lennard_jones(s, a, b, 100 - 1e-9), above = lennard_jones(s, a, b, 100 + 1e-9);
    EXPECT_NEAR(below.energy, above.energy, 1e-12);
    EXPECT_NEAR(below.force_over_r, above.force_over_r, 1e-12);
    const auto last = lennard_jones(s, a, b, 144 - 1e-9), beyond = lennard_jones(s, a, b, 144);
    EXPECT_EQ(beyond.energy, 0);
    EXPECT_EQ(beyond.force_over_r, 0);
    if (lj == LjModifier::cut) {
      EXPECT_LT(last.energy, -1e-4);
      continue;
    }
    EXPECT_NEAR(last.energy, 0, 1e-12);
    EXPECT_NEAR(last.force_over_r, 0, 1e-12);
  }
}

TEST(CoulombFunction, ContinuousAtTheSwitchAndAtTheCutoff) {
  for (const auto e : electrostatics) {
    const auto s = settings(LjModifier::cut, e);
    const auto below = coulomb(s, 64 - 1e-9), above = coulomb(s, 64 + 1e-9);
    EXPECT_NEAR(below.energy, above.energy, 1e-11);
    EXPECT_NEAR(below.force_over_r, above.force_over_r, 1e-11);
    const auto last = coulomb(s, 144 - 1e-9);
    EXPECT_EQ(coulomb(s, 144).energy, 0);
    if (e == Electrostatics::shift || e == Electrostatics::force_switch) {
      EXPECT_NEAR(last.energy, 0, 1e-11);
      EXPECT_NEAR(last.force_over_r, 0, 1e-11);
    } else {
      EXPECT_GT(last.energy, 1e-7);
    }
  }
}

TEST(LennardJonesFunction, MinimumOfThePlainFunction) {
  const double sigma = 3.15, epsilon = 0.152, s6 = std::pow(sigma, 6), r = std::pow(2.0, 1.0 / 6) * sigma;
  const auto at_minimum = lennard_jones(settings(), 4 * epsilon * s6 * s6, 4 * epsilon * s6, r * r);
  EXPECT_NEAR(at_minimum.energy, -epsilon, 1e-14);
  EXPECT_NEAR(at_minimum.force_over_r, 0, 1e-13);
  EXPECT_NEAR(lennard_jones(settings(), 4 * epsilon * s6 * s6, 4 * epsilon * s6, sigma * sigma).energy, 0, 1e-13);
}

struct Known {
  double r, force, energy;
};
void expect_known(const ForceEnergy& found, const Known& known) {
  EXPECT_NEAR(found.force_over_r * known.r, known.force, 2e-12 * std::abs(known.force)) << known.r;
  EXPECT_NEAR(found.energy, known.energy, 5e-12 * std::abs(known.energy) + 1e-16) << known.r;
}

// With A = 6·10⁵, B = 600, 10 and 12 Å, forces are those of the papers' equations, and energies are their integrals to
// the cut-off by Gauss–Legendre quadrature, computed in Python. The CHARMM switches are the products given in CHARMM's
// documentation.
TEST(LennardJonesFunction, KnownValues) {
  for (const auto& known : {Known{3.5, 4.922891440385e-02, -1.484918525932e-01},
                            {8, -1.703517045826e-03, -1.933065926802e-03},
                            {11, -1.006149922987e-04, -4.238518982081e-05}})
    expect_known(lennard_jones(settings(LjModifier::force_switch), a, b, known.r * known.r), known);
  for (const auto& known : {Known{3.5, 4.922891440385e-02, -1.485180888709e-01},
                            {8, -1.703517045826e-03, -1.959302204514e-03},
                            {11, -1.196937536807e-04, -4.263088447489e-05}})
    expect_known(lennard_jones(settings(LjModifier::force_switch_gromacs), a, b, known.r * known.r), known);
  for (const auto& known :
       {Known{3.5, 4.922891440385e-02, -1.488388738766e-01}, {11, -3.518959494296e-04, -1.807781826407e-04}})
    expect_known(lennard_jones(settings(LjModifier::potential_switch), a, b, known.r * known.r), known);
  for (const auto& known :
       {Known{8, -1.703517045826e-03, -2.280087210238e-03}, {11, -4.096015379251e-04, -1.692465897708e-04}})
    expect_known(lennard_jones(settings(LjModifier::quintic_switch), a, b, known.r * known.r), known);
}

TEST(CoulombFunction, KnownValues) {
  auto s = settings(LjModifier::cut, Electrostatics::force_switch);
  for (const auto& known : {Known{2, 0.25, 4.008e-01},
                            {9, 1.091015625000e-02, 1.242421875000e-02},
                            {11.5, 4.414362483755e-04, 7.471021569293e-05}})
    expect_known(coulomb(s, known.r * known.r), known);
  s.coulomb_switch = 0;
  for (const auto& known : {Known{2, 2.494320130316e-01, 3.670481824417e-01},
                            {9, 5.021460262346e-03, 5.023871527778e-03},
                            {11.5, 1.428185557911e-04, 2.387658764938e-05}})
    expect_known(coulomb(s, known.r * known.r), known);
  s.electrostatics = Electrostatics::shift;
  for (const auto& known :
       {Known{2, 2.633101851852e-01, 4.726080246914e-01}, {9, 1.451581790123e-02, 2.126736111111e-02}})
    expect_known(coulomb(s, known.r * known.r), known);
  s.electrostatics = Electrostatics::pme;
  for (const auto& known :
       {Known{2, 2.274601568382e-01, 2.310506847606e-01}, {9, 1.480580695166e-04, 1.039366821009e-04}})
    expect_known(coulomb(s, known.r * known.r), known);
}

TEST(EwaldExclusion, SeriesMeetsTheClosedForm) {
  const double alpha = 0.3;
  const auto closed = [&](double r) {
    const long double x = static_cast<long double>(alpha) * r, root_pi = std::sqrt(std::acos(-1.0L));
    const long double erf_over_r = std::erf(x) / r;
    return ForceEnergy{
        static_cast<double>(-(erf_over_r - 2 * alpha / root_pi * std::exp(-x * x)) / (static_cast<long double>(r) * r)),
        static_cast<double>(-erf_over_r)};
  };
  // The series is used for α²r² < 10⁻³; from 0.03 Å on the closed form in long double has enough digits for a
  // comparison.
  for (const double r : {0.03, 0.05, 0.08, 0.1, 0.1053, 0.1055, 0.12, 0.5, 1.0, 3.0, 12.0}) {
    const auto found = ewald_exclusion(alpha, r * r), expected = closed(r);
    EXPECT_NEAR(found.energy, expected.energy, 1e-12 * std::abs(expected.energy)) << r;
    EXPECT_NEAR(found.force_over_r, expected.force_over_r, 1e-10 * std::abs(expected.force_over_r)) << r;
  }
}

TEST(EwaldExclusion, FiniteAtNoDistance) {
  const double alpha = 0.3, front = 2 * alpha / std::sqrt(units::pi);
  EXPECT_NEAR(ewald_exclusion(alpha, 0).energy, -front, 1e-15);
  EXPECT_NEAR(ewald_exclusion(alpha, 0).force_over_r, -2 * front * alpha * alpha / 3, 1e-15);
}

TEST(EwaldExclusion, IsWhatTheRealSpaceSumLacksOfCoulomb) {
  auto s = settings(LjModifier::cut, Electrostatics::pme);
  for (const double r : {0.5, 1.0, 4.0, 11.0}) {
    const auto real = coulomb(s, r * r), smooth = ewald_exclusion(s.alpha, r * r);
    EXPECT_NEAR(real.energy - smooth.energy, 1 / r, 1e-14);
    EXPECT_NEAR(real.force_over_r - smooth.force_over_r, 1 / (r * r * r), 1e-13 / (r * r));
  }
}

/// Computes the tail integrals by midpoints in ln r to 12 Å and in x = 1/r beyond, independently of the closed forms.
TailIntegral numeric_tail(const PairSettings& s) {
  TailIntegral sum;
  const auto add = [&](double r, double dr) {
    const double plain = a * std::pow(r, -12) - b * std::pow(r, -6);
    const double plain_force = 12 * a * std::pow(r, -13) - 6 * b * std::pow(r, -7);
    const auto used = lennard_jones(s, a, b, r * r);
    sum.energy += 2 * units::pi * r * r * (plain - used.energy) * dr;
    sum.virial += 2 * units::pi / 3 * r * r * r * (plain_force - used.force_over_r * r) * dr;
  };
  const int n = 60000;
  const double lowest = s.switch_distance > 0 ? std::min(1.0, s.switch_distance) : 1, h = std::log(12 / lowest) / n;
  for (int i = 0; i < n; ++i) {
    const double r = lowest * std::exp((i + 0.5) * h);
    add(r, r * h);
  }
  for (int i = 0; i < n; ++i) {
    const double x = (i + 0.5) / n / 12;
    add(1 / x, 1 / (12.0 * n) / (x * x));
  }
  // Below the switching distance the difference is the modifier's constant.
  const double constant =
      a * std::pow(lowest, -12) - b * std::pow(lowest, -6) - lennard_jones(s, a, b, lowest * lowest).energy;
  sum.energy += 2 * units::pi * std::pow(lowest, 3) * constant / 3;
  return sum;
}

TEST(Dispersion, SeriesMeetsTheClosedForm) {
  const double alpha = 0.3;
  for (const double z : {0.09, 0.0999999, 0.1000001, 0.11}) {
    const double r2 = z / (alpha * alpha), rest = 1 - std::exp(-z) * (1 + z + 0.5 * z * z), r6 = r2 * r2 * r2;
    const auto found = dispersion_without_mesh(alpha, r2);
    EXPECT_NEAR(found.energy, rest / r6, 1e-11 * found.energy);
    EXPECT_NEAR(found.force_over_r, (6 * rest / r6 - std::pow(alpha, 6) * std::exp(-z)) / r2, 1e-9 * found.energy);
  }
}

TEST(Dispersion, ForceIsMinusTheSlopeOfTheEnergy) {
  const double alpha = 0.31, h = 1e-4;
  for (const double r : {0.1, 0.7, 1.5, 4.0, 9.0, 12.0}) {
    const auto energy = [&](double at) { return dispersion_without_mesh(alpha, at * at).energy; };
    const double slope = (energy(r + h) - energy(r - h)) / (2 * h);
    EXPECT_NEAR(dispersion_without_mesh(alpha, r * r).force_over_r * r, -slope, 1e-8 * energy(r));
  }
}

TEST(Dispersion, IsAllOfItFarAwayAndASixthOfTheSelfEnergyAtNoDistance) {
  EXPECT_NEAR(dispersion_without_mesh(0.4, 400).energy * std::pow(20, 6), 1, 1e-12);
  EXPECT_NEAR(dispersion_without_mesh(0.4, 0).energy, std::pow(0.4, 6) / 6, 1e-16);
  EXPECT_EQ(dispersion_without_mesh(0.4, 0).force_over_r > 0, true);
}

TEST(Dispersion, PolynomialsAreAsGoodAsSinglePrecision) {
  for (const double cutoff : {8.0, 9.0, 10.0, 12.0, 14.0})
    for (const double x : {3.0, 3.35, 3.7}) {
      EXPECT_LT(fit_dispersion_force(x / cutoff, cutoff, 16).error, 3e-5) << cutoff << " " << x;
      EXPECT_LT(fit_dispersion_energy(x / cutoff, cutoff, 16).error, 3e-5) << cutoff << " " << x;
    }
}

TEST(LjTail, IsTheIntegralOfWhatTheModifierTookAway) {
  for (const auto lj : modifiers)
    for (const double rs : {0.0, 1.0, 3.2, 8.0, 10.0, 12.0}) {
      auto s = settings(lj);
      s.switch_distance = rs;
      if (rs == 0 && lj != LjModifier::cut) {  // the integral is infinite
        EXPECT_THROW(lj_tail(s, a, b), std::exception);
        continue;
      }
      const auto found = lj_tail(s, a, b), expected = numeric_tail(s);
      EXPECT_NEAR(found.energy, expected.energy, 2e-6 * std::abs(expected.energy)) << static_cast<int>(lj) << " " << rs;
      EXPECT_NEAR(found.virial, expected.virial, 2e-6 * std::abs(expected.virial)) << static_cast<int>(lj) << " " << rs;
    }
}

TEST(EwaldFit, ErrorsAtTheUsualSplittings) {
  for (const double cutoff : {8.0, 9.0, 12.0})
    for (const double product : {3.12, 3.5}) {
      const double alpha = product / cutoff;
      const auto force = fit_ewald_force(alpha, cutoff, 12), energy = fit_ewald_energy(alpha, cutoff, 12);
      // Degree 12 is made for tolerances of 10⁻⁵ (3.12); a tolerance ten times smaller costs the force a digit.
      EXPECT_LE(force.error, product < 3.2 ? 1e-6 : 1e-5) << product;
      EXPECT_LE(energy.error, 1e-6) << product;
      // The reported error is the error at distances that the fit did not use.
      double worst_force = 0, worst_energy = 0;
      for (double r = 1.0003; r < cutoff; r += 0.00371) {
        const double t = 2 * r * r / (cutoff * cutoff) - 1;
        const auto value = [&](const Polynomial& p) {
          double sum = 0, power = 1;
          for (const double c : p.coefficient) sum += c * power, power *= t;
          return sum;
        };
        const double erf_over_r = std::erf(alpha * r) / r;
        const double gauss = 2 * alpha / std::sqrt(units::pi) * std::exp(-alpha * alpha * r * r);
        worst_force = std::max(worst_force, std::abs(value(force) - (erf_over_r - gauss)) * r);
        worst_energy = std::max(worst_energy, std::abs(value(energy) - erf_over_r) * r);
      }
      EXPECT_NEAR(worst_force, force.error, 0.05 * force.error);
      EXPECT_NEAR(worst_energy, energy.error, 0.05 * energy.error);
    }
}

TEST(EwaldFit, PiecesAreAsGoodAsTheLongPolynomial) {
  for (const double cutoff : {8.0, 9.0, 12.0})
    for (const double product : {2.5, 3.12, 3.5}) {
      const double alpha = product / cutoff;
      const auto pieces = fit_ewald_force_piecewise(alpha, cutoff);
      EXPECT_LE(pieces.error, product < 3.2 ? 1.2e-6 : 4e-6) << product;
      double worst = 0;  // in single precision, as the kernels evaluate it
      for (double r = 1.0003; r < cutoff; r += 0.00371) {
        const auto x = static_cast<float>(r * r * pieces.scale), n = std::nearbyint(x);
        ASSERT_TRUE(n >= 0 && n < PiecewisePolynomial::n_pieces);
        double sum = 0;
        for (int c = PiecewisePolynomial::degree; c >= 0; --c)
          sum = sum * (x - n) +
                static_cast<float>(pieces.coefficient[static_cast<std::size_t>(c)][static_cast<std::size_t>(n)]);
        worst = std::max(worst, std::abs(sum + ewald_exclusion(alpha, r * r).force_over_r * r * r) * r);
      }
      EXPECT_LE(worst, product < 3.2 ? 2e-6 : 5e-6) << product;
    }
}

TEST(EwaldFit, HigherDegreesAreBetter) {
  double last = 1;
  for (const int degree : {4, 6, 8, 10, 12, 14}) {
    const double error = fit_ewald_force(0.29, 12, degree).error;
    EXPECT_LT(error, 0.5 * last) << degree;
    last = error;
  }
}

}  // namespace
}  // namespace tessera::md::pair
