// Pairs three bonds apart, with Lennard-Jones and Coulomb parameters of their own; no cut-off.
//
// Formula: 4ε[(σ/r)¹² − (σ/r)⁶] + f·C·qᵢqⱼ/r
// Source: Cornell et al., J. Am. Chem. Soc. 117, 5179 (1995), 10.1021/ja00124a002 (scaled 1-4 interactions)
// Units: Å, kcal/mol, elementary charge
// Cost: one square root and one division a pair
#include <cmath>
#include <type_traits>

#include "tessera/md/bonded/bonded.h"
#include "tessera/md/bonded/geometry.h"

namespace tessera::md::bonded {

void add_pairs_14(const Lattice& lattice, Positions position, std::span<const double> charge, const TermList<2>& terms,
                  std::int64_t begin, std::int64_t end, std::span<const Pair14> parameters, Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
      const auto& s = terms.slots[t];
      const Pair14& p = parameters[at(terms.parameter[t])];
      const Vec3 d = lattice.displacement(position[at(s[1])], position[at(s[0])]);
      // Two atoms in one place give infinities on purpose: fixed point saturates and the run stops as blown up.
      const double r2_inverse = 1 / norm2(d), r6_inverse = r2_inverse * r2_inverse * r2_inverse;
      const double repulsion = p.c12 * r6_inverse * r6_inverse, attraction = p.c6 * r6_inverse;
      const double coulomb = p.charge_factor * charge[at(s[0])] * charge[at(s[1])] * std::sqrt(r2_inverse);
      const Vec3 on_i = ((12 * repulsion - 6 * attraction + coulomb) * r2_inverse) * d;
      add_balanced<1>(accumulator, {s[0]}, {on_i}, s[1]);
      if constexpr (decltype(with)::value) {
        accumulator.energies->add(Term::lj_14, repulsion - attraction);
        accumulator.energies->add(Term::coulomb_14, coulomb);
        TermVirial virial;
        virial.add(d, on_i);
        virial.add_to(*accumulator.energies);
      }
    }
  });
}

}  // namespace tessera::md::bonded
