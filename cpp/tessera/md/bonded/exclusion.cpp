// Ewald corrections of excluded pairs; formula and source in exclusion.h.
#include "tessera/md/bonded/exclusion.h"

#include <cmath>

#include "tessera/md/bonded/geometry.h"

namespace tessera::md::bonded {
namespace {

constexpr double two_over_sqrt_pi = 1.12837916709551257390;

// With x = αr: value = erf(x)/x, slope = [2/√π·exp(−x²) − erf(x)/x]/x².
struct ScreenedInverse {
  double value, slope;
};

ScreenedInverse screened_inverse(double x2) {
  if (x2 < 0.0625) {
    // Power series: no 0/0 at contact, and no cancellation in the slope; the last term is below 1e-16 of the first.
    double power = 1, value = 0, slope = 0;  // power = (−x²)ᵏ/k!
    for (int k = 0; k < 10; ++k) {
      value += power / (2 * k + 1);
      const double next = power / (k + 1);  // (−1)ᵏ x²ᵏ/(k+1)!, the coefficient of order k + 1 over −x²
      slope -= next * (2 * k + 2) / (2 * k + 3);
      power = -next * x2;
    }
    return {two_over_sqrt_pi * value, two_over_sqrt_pi * slope};
  }
  const double x = std::sqrt(x2), value = std::erf(x) / x;
  return {value, (two_over_sqrt_pi * std::exp(-x2) - value) / x2};
}

}  // namespace

EwaldPair ewald_exclusion(double r2, double charge_product, double alpha) {
  const ScreenedInverse f = screened_inverse(alpha * alpha * r2);
  const double scale = -charge_product * alpha;
  // U = scale·value(αr); value'(x) = x·slope(x), so F/r = −scale·α²·slope
  return {scale * f.value, -scale * alpha * alpha * f.slope};
}

void add_exclusion_energies(const Lattice& lattice, Positions position, std::span<const double> charge,
                            const TermList<2>& excluded, std::int64_t begin, std::int64_t end, double coulomb_constant,
                            double alpha, ExclusionPart part, Accumulator& accumulator) {
  if (part != ExclusionPart::all && accumulator.energies == nullptr) return;
  for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
    const auto& s = excluded.slots[t];
    const double charge_product = coulomb_constant * charge[at(s[0])] * charge[at(s[1])];
    if (charge_product == 0) continue;
    const Vec3 d = lattice.displacement(position[at(s[1])], position[at(s[0])]);
    const EwaldPair pair = ewald_exclusion(norm2(d), charge_product, alpha);
    const Vec3 on_i = pair.force_over_r * d;
    if (part == ExclusionPart::all) add_balanced<1>(accumulator, {s[0]}, {on_i}, s[1]);
    if (accumulator.energies == nullptr) continue;
    accumulator.energies->add(Term::coulomb_exclusion, pair.energy);
    if (part == ExclusionPart::energy) continue;
    TermVirial virial;
    virial.add(d, on_i);
    virial.add_to(*accumulator.energies);
  }
}

}  // namespace tessera::md::bonded
