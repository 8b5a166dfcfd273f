// Bonds, Urey-Bradley terms and angles.
//
// Formula: k(r − r₀)²; k(θ − θ₀)² with θ = atan2(|u×v|, u·v), u = rᵢ − rⱼ, v = r_k − rⱼ,
//   ∂θ/∂rᵢ = u×p/(u²|p|), ∂θ/∂r_k = p×v/(v²|p|), p = u×v
// Source: Swope, Ferguson, J. Comput. Chem. 13, 585 (1992), 10.1002/jcc.540130508 (angles without 1/sin θ);
//   θ from the arctangent keeps its digits near 0 and 180°, where the arccosine loses half of them
// Units: Å, kcal/mol, rad
// Cost: one square root a bond; three and an arctangent an angle
#include <cmath>
#include <type_traits>

#include "tessera/md/bonded/bonded.h"
#include "tessera/md/bonded/geometry.h"

namespace tessera::md::bonded {
namespace {

template <bool WithEnergy>
void add_springs(const Lattice& lattice, Positions position, const TermList<2>& terms, std::int64_t begin,
                 std::int64_t end, std::span<const model::BondParameter> parameters, Accumulator& accumulator,
                 Term reported_as) {
  for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
    const auto& s = terms.slots[t];
    const model::BondParameter& p = parameters[at(terms.parameter[t])];
    const Vec3 d = lattice.displacement(position[at(s[1])], position[at(s[0])]);
    const double r = norm(d), stretch = r - p.r0;
    // Two atoms in one place: the direction is undefined and no force is.
    const Vec3 on_i = (r > 0 ? -2 * p.k * stretch / r : 0.0) * d;
    add_balanced<1>(accumulator, {s[0]}, {on_i}, s[1]);
    if constexpr (WithEnergy) {
      accumulator.energies->add(reported_as, p.k * stretch * stretch);
      TermVirial virial;
      virial.add(d, on_i);
      virial.add_to(*accumulator.energies);
    }
  }
}

template <bool WithEnergy>
void add_angles_range(const Lattice& lattice, Positions position, const TermList<3>& terms, std::int64_t begin,
                      std::int64_t end, std::span<const model::AngleParameter> parameters, Accumulator& accumulator) {
  for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
    const auto& s = terms.slots[t];
    const model::AngleParameter& p = parameters[at(terms.parameter[t])];
    const Fraction& centre = position[at(s[1])];
    const Vec3 u = lattice.displacement(centre, position[at(s[0])]);
    const Vec3 v = lattice.displacement(centre, position[at(s[2])]);
    const Vec3 normal = cross(u, v);
    const double u2 = norm2(u), v2 = norm2(v), length = norm(normal);
    const double deviation = std::atan2(length, dot(u, v)) - p.theta0;
    Vec3 on_i, on_k;
    // In line, the direction of the force is undefined (and for θ₀ = 180° the force is zero).
    if (length > 1e-10 * std::sqrt(u2 * v2)) {
      const double scale = -2 * p.k * deviation / length;
      on_i = (scale / u2) * cross(u, normal);
      on_k = (scale / v2) * cross(normal, v);
    }
    add_balanced<2>(accumulator, {s[0], s[2]}, {on_i, on_k}, s[1]);
    if constexpr (WithEnergy) {
      accumulator.energies->add(Term::angle, p.k * deviation * deviation);
      TermVirial virial;
      virial.add(u, on_i);
      virial.add(v, on_k);
      virial.add_to(*accumulator.energies);
    }
  }
}

}  // namespace

void add_bonds(const Lattice& lattice, Positions position, const TermList<2>& terms, std::int64_t begin,
               std::int64_t end, std::span<const model::BondParameter> parameters, Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    add_springs<decltype(with)::value>(lattice, position, terms, begin, end, parameters, accumulator, Term::bond);
  });
}

void add_urey_bradleys(const Lattice& lattice, Positions position, const TermList<2>& terms, std::int64_t begin,
                       std::int64_t end, std::span<const model::BondParameter> parameters, Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    add_springs<decltype(with)::value>(lattice, position, terms, begin, end, parameters, accumulator,
                                       Term::urey_bradley);
  });
}

void add_angles(const Lattice& lattice, Positions position, const TermList<3>& terms, std::int64_t begin,
                std::int64_t end, std::span<const model::AngleParameter> parameters, Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    add_angles_range<decltype(with)::value>(lattice, position, terms, begin, end, parameters, accumulator);
  });
}

}  // namespace tessera::md::bonded
