#include "tessera/md/pme/pme_reference.h"

#include <complex>

#include "tessera/base/units.h"
#include "tessera/md/pme/influence.h"

namespace tessera::md::pme {

ReciprocalSum direct_reciprocal_sum(const Box& box, std::span<const Fraction> position, std::span<const double> charge,
                                    double coulomb_constant, double alpha, int limit) {
  using units::pi;
  const auto reciprocal = reciprocal_vectors(box);
  ReciprocalSum sum;
  sum.force.resize(position.size());
  std::vector<std::complex<double>> phase(position.size());
  for (int h = -limit; h <= limit; ++h)
    for (int k = -limit; k <= limit; ++k)
      for (int l = -limit; l <= limit; ++l) {
        if (h == 0 && k == 0 && l == 0) continue;
        const Vec3 m = double(h) * reciprocal[0] + double(k) * reciprocal[1] + double(l) * reciprocal[2];
        std::complex<double> structure = 0;
        for (std::size_t i = 0; i < position.size(); ++i) {
          phase[i] = std::polar(charge[i], 2 * pi * dot(m, box.cartesian(position[i])));
          structure += phase[i];
        }
        const double m2 = norm2(m);
        const double weight =
            coulomb_constant / (2 * pi * box.volume()) * std::exp(-pi * pi * m2 / (alpha * alpha)) / m2;
        const double energy = weight * std::norm(structure);
        sum.energy += energy;
        const double shape = 2 * (1 + pi * pi * m2 / (alpha * alpha)) / m2;
        const std::array<double, 6> mm = {m.x * m.x, m.y * m.y, m.z * m.z, m.x * m.y, m.x * m.z, m.y * m.z};
        for (std::size_t c = 0; c < 6; ++c) sum.virial[c] += energy * ((c < 3 ? 1.0 : 0.0) - shape * mm[c]);
        for (std::size_t i = 0; i < position.size(); ++i)
          sum.force[i] += (4 * pi * weight * std::imag(phase[i] * std::conj(structure))) * m;
      }
  return sum;
}

}  // namespace tessera::md::pme
